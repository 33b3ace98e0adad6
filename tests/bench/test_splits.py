import gzip
import json

import numpy as np
import pytest

from treewass.bench.datasets import load_set
from treewass.bench.splits import SetNotes, random_splits, read_notes, write_notes


def test_notes_come_back_and_keep_those_of_other_sets(tmp_path):
    assert read_notes(tmp_path) == {}
    write_notes(tmp_path, "a", SetNotes(random_splits(9, 4), cleaned=True))
    write_notes(tmp_path, "b", SetNotes())
    write_notes(tmp_path, "b", SetNotes((np.array([3, 1]),)))
    found = read_notes(tmp_path)
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["a"].train_rows, random_splits(9, 4))
    assert found["a"].cleaned
    assert not found["b"].cleaned
    assert [rows.tolist() for rows in found["b"].train_rows] == [[3, 1]]


def test_random_splits_are_those_of_the_seed():
    splits = random_splits(50, 30)
    assert len(splits) == 5
    for rows, again, other in zip(splits, random_splits(50, 30), random_splits(50, 30, seed=1), strict=True):
        assert len(set(rows.tolist())) == 30
        assert 0 <= rows.min() <= rows.max() < 50
        np.testing.assert_array_equal(rows, again)
        assert rows.tolist() != other.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "the gzip file is broken"),
        (gzip.compress(b'{"pets": {"train": [[0, 1]]}}', mtime=0)[:-9], "the gzip file is broken"),
        (gzip.compress(b'{"pets": ', mtime=0), "expected .*found something else"),
        (gzip.compress(b"[1, 2]", mtime=0), "expected .*found something else"),
        (gzip.compress(b'{"pets": {"train": [["a"]]}}', mtime=0), "not a list of row numbers"),
        (gzip.compress(b'{"pets": {"train": [[-1, 2]]}}', mtime=0), "not a list of row numbers"),
        (gzip.compress(b'{"pets": {"train": [[0, 4]]}}', mtime=0), "some of the 4 documents.* 2 rows up to 4"),
        (gzip.compress(b'{"cats": {"train": [[0, 1]]}}', mtime=0), "has no splits for it"),
    ],
)
def test_broken_splits_give_one_sentence(tmp_path, content, message):
    rows = [{"text": "a cat", "label": label} for label in "abab"]
    (tmp_path / "pets.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    (tmp_path / "splits.json.gz").write_bytes(content)
    (tmp_path / "stop_words.txt").write_text("")
    with pytest.raises(ValueError, match=message) as caught:
        load_set("pets", tmp_path)
    assert "\n" not in str(caught.value)
