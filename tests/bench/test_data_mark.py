import numpy as np
import pytest

from treewass.bench.data_mark import mark_data, read_mark


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "stop_words.txt").write_text("the and")
    np.savez(folder / "word_vectors.npz", words=np.array(["a", "b"]), vectors=np.zeros((2, 3), dtype=np.float16))
    return folder


def test_rows_keep_to_their_data(data, tmp_path):
    rows = tmp_path / "rows"
    assert read_mark(rows) is None
    mark_data(rows, data)
    assert read_mark(rows)["vectors"] == {"words": 2, "dimensions": 3}
    mark_data(rows, data)
    (data / "stop_words.txt").write_text("other words")
    with pytest.raises(ValueError, match=r"stop_words\.txt .* differ.*--output"):
        mark_data(rows, data)


def test_a_file_that_is_new_counts_as_other_data(data, tmp_path):
    mark_data(tmp_path / "rows", data)
    (data / "twitter.jsonl.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"twitter\.jsonl\.gz"):
        mark_data(tmp_path / "rows", data)
