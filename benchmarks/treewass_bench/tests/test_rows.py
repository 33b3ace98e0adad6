import io

import numpy as np
import pytest
from rich.console import Console

from treewass_bench.rows import Row, RowFiles, environment, mark_data, read_mark, rows_table


def test_rows_round_trip_through_json_lines(tmp_path):
    rows = [Row("speed", {"set": "reuters", "k": k}, {"seconds": 0.5 * k, "ratio": None}, "medians") for k in (1, 19)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(row.to_json() for row in rows) + "\n\n", encoding="utf-8")
    assert RowFiles(path).rows("speed") == rows


def test_environment_names_what_is_needed_to_repeat():
    assert {"python", "numpy", "scipy", "numba", "processor", "cores", "commit", "treewass"} <= set(environment())


def test_table_shows_every_case_and_measure():
    rows = [Row("speed", {"set": "x"}, {"seconds": 0.123456}, "p"), Row("speed", {"set": "y"}, {"ratio": 3}, "p")]
    output = io.StringIO()
    Console(file=output, width=80).print(rows_table(rows))
    for shown in ("set", "seconds", "ratio", "0.1235", "3", "–"):
        assert shown in output.getvalue()


def test_no_rows_make_an_empty_table():
    assert rows_table([]).row_count == 0


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
