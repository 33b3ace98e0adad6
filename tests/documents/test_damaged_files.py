"""Files that were damaged on the way: whatever the bytes are, the error names the file, or the file is read."""

import gzip
import io
import json

import numpy as np
import pytest

from treewass.documents import read_corpus, read_word_vectors

WORDS = [f"word{number}" for number in range(30)]
VECTORS = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)


def zipped(save):
    content = io.BytesIO()
    save(content, words=np.array(WORDS), vectors=VECTORS)
    return content.getvalue()


def gzipped(text):
    return gzip.compress(text.encode(), compresslevel=1, mtime=0)


LINES = "\n".join(f"{word} {' '.join(map(str, vector))}" for word, vector in zip(WORDS, VECTORS, strict=True))
ROWS = "\n".join(
    json.dumps({"text": f"ünïcode {'ä' * 99}", "label": "ab"[number % 2]}, ensure_ascii=False) for number in range(80)
)
FILES = {
    "plain.npz": (zipped(np.savez), read_word_vectors),
    "small.npz": (zipped(np.savez_compressed), read_word_vectors),
    "vectors.txt.gz": (gzipped(LINES), read_word_vectors),
    "documents.jsonl.gz": (gzipped(ROWS), read_corpus),
}


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_refused_by_name(name, tmp_path):
    content, read = FILES[name]
    path, random, refused = tmp_path / name, np.random.default_rng(0), 0
    for number in range(400):
        damaged = bytearray(content)
        start = random.integers(0, len(content))
        if number % 4 == 0:
            del damaged[start:]
        elif number % 4 == 1:
            damaged[start : start + 20] = random.bytes(20)
        else:
            damaged[start] ^= 1 << random.integers(0, 8)
        path.write_bytes(damaged)
        try:
            read(path)
        except ValueError as error:
            refused += str(error).startswith(str(path))
        else:
            refused += damaged.startswith(content[:2])  # bytes that nothing depends on
    assert refused == 400


def test_a_broken_end_behind_bytes_that_are_no_text_is_refused(tmp_path):
    whole = gzip.compress(b"\xff" * 200_000 + np.random.default_rng(0).bytes(99_999))
    (tmp_path / "documents.jsonl.gz").write_bytes(whole[:-9000])
    with pytest.raises(ValueError, match=r"documents\.jsonl\.gz: .*(is not valid (utf-8|cp1252)|gzip file is broken)"):
        read_corpus(tmp_path / "documents.jsonl.gz")
