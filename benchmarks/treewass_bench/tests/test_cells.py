import json
import os

import pytest

from treewass_bench.cells import Cell, run_cells
from treewass_bench.rows import RowFiles


def length(word):
    return {"letters": len(word)}


class Length:
    def __init__(self, word):
        self.word = word

    def __call__(self):
        return length(self.word)


def cells(words, **options):
    return [Cell("words", {"word": word}, Length(word), "counted", **options) for word in words]


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_cell_is_measured_once_and_stored(tmp_path, jobs):
    first = list(run_cells(cells(["oak", "birch"]), RowFiles(tmp_path), jobs))
    assert sorted(row.measures["letters"] for row in first) == [3, 5]
    said = []
    again = list(run_cells(cells(["oak", "birch", "yew"]), RowFiles(tmp_path), jobs, said.append))
    assert sorted(row.case["word"] for row in again) == ["birch", "oak", "yew"]
    assert said == ["1 of 1, less than a minute left: words, yew"]
    assert len((tmp_path / "words.jsonl").read_text().splitlines()) == 3


def test_deleting_a_row_measures_just_that_one(tmp_path):
    list(run_cells(cells(["oak", "birch", "yew"]), RowFiles(tmp_path)))
    path = tmp_path / "words.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    said = []
    list(run_cells(cells(["oak", "birch", "yew"]), RowFiles(tmp_path), report=said.append))
    assert len(said) == 1
    assert "birch" in said[0]
    assert [json.loads(line)["case"]["word"] for line in path.read_text().splitlines()] == ["oak", "yew", "birch"]


def test_a_line_cut_short_is_measured_again(tmp_path):
    list(run_cells(cells(["oak", "birch"]), RowFiles(tmp_path)))
    path = tmp_path / "words.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    rows = list(run_cells(cells(["oak", "birch"]), RowFiles(tmp_path)))
    assert [row.measures["letters"] for row in rows] == [3, 5]
    assert len(RowFiles(tmp_path).rows("words")) == 2


def test_a_last_row_without_a_line_end_is_kept(tmp_path):
    list(run_cells(cells(["oak", "birch"]), RowFiles(tmp_path)))
    path = tmp_path / "words.jsonl"
    before = path.read_bytes()[:-1]
    path.write_bytes(before)
    assert len(RowFiles(tmp_path).rows("words")) == 2
    assert path.read_bytes() == before
    list(run_cells(cells(["oak", "birch", "yew"]), RowFiles(tmp_path)))
    assert [json.loads(line)["case"]["word"] for line in path.read_text().splitlines()] == ["oak", "birch", "yew"]


class Missing:
    def __call__(self):
        raise ImportError("pip install something")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_whose_package_is_missing_is_left_out(tmp_path, jobs):
    said = []
    mixed = [Cell("words", {"word": "elm"}, Missing(), "counted"), *cells(["oak"])]
    rows = list(run_cells(mixed, RowFiles(tmp_path), jobs, said.append))
    assert [row.case["word"] for row in rows] == ["oak"]
    assert any("left out: words, elm: pip install something" in sentence for sentence in said)


def test_rows_of_another_protocol_are_named(tmp_path):
    list(run_cells(cells(["oak"]), RowFiles(tmp_path)))
    said = []
    other = [Cell("words", {"word": "oak"}, Length("oak"), "measured")]
    assert len(list(run_cells(other, RowFiles(tmp_path), report=said.append))) == 1
    assert said == ["1 stored rows were measured by another protocol; delete them to measure them again"]


def test_a_broken_line_is_named(tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text('{"benchmark": 1}\n')
    with pytest.raises(ValueError, match=r"line 1 of .*words\.jsonl"):
        RowFiles(tmp_path).rows("words")
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match=r"UTF-8, but .*words\.jsonl"):
        RowFiles(tmp_path).rows("words")


def test_times_come_last_and_in_this_process(tmp_path):
    mixed = [*cells(["oak"], alone=True), *cells(["birch"])]
    assert [row.case["word"] for row in run_cells(mixed, RowFiles(tmp_path / "all.jsonl"))] == ["birch", "oak"]
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 2


def process():
    return {"process": os.getpid()}


def test_cells_that_share_something_are_measured_in_one_process(tmp_path):
    mixed = [Cell("words", {"n": n}, process, "counted", shares="oak" if n % 2 else None) for n in range(12)]
    rows = list(run_cells(mixed, RowFiles(tmp_path), jobs=2))
    assert sorted(row.case["n"] for row in rows) == list(range(12))
    assert len({row.measures["process"] for row in rows if row.case["n"] % 2}) == 1
