import json
import shutil
from pathlib import Path

import pytest

from treewass_bench.page import write_page
from treewass_bench.rows import RowFiles

from .stored_rows import ABLATION, DEPTH, DUPLICATES, SYNTHETIC
from .test_accuracy_tables import ROWS


@pytest.fixture
def folder(tmp_path):
    found = RowFiles(tmp_path / "rows")
    for row in ROWS:
        found.add(row)
    return tmp_path / "rows"


def test_the_page_holds_what_has_rows(folder, tmp_path):
    page = write_page(folder, tmp_path / "docs" / "results.md")
    written = page.read_text()
    assert "## Table 3: errors" in written
    assert "| 5.0‡ (3.5) |" in written
    assert "‡ 300 test documents per split" in written
    assert "† fewer splits" in written
    assert "## Depth" not in written
    assert "\n\n\n" not in written
    again = write_page(folder, tmp_path / "docs" / "results.md").read_text()
    assert again == written


def test_the_smaller_tables_have_their_places_and_figures(tmp_path):
    files = RowFiles(tmp_path / "rows")
    for row in [*SYNTHETIC, *DUPLICATES, *ABLATION, *(row for row in DEPTH if row.benchmark == "depth")]:
        files.add(row)
    written = write_page(tmp_path / "rows", tmp_path / "results.md").read_text()
    for title in ("Table 2", "Without repeated", "Depth of the tree", "Soft and smooth", "Loss curves"):
        assert title in written
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert drawn == {"synthetic-trees.svg", "depth.svg", "loss.svg"}
    assert all(f"(figures/{name})" in written for name in drawn)


def test_the_page_names_the_vectors_of_the_rows(folder, tmp_path):
    (folder / "data.json").write_text(json.dumps({"files": {}, "vectors": {"words": 9, "dimensions": 300}}))
    written = write_page(folder, tmp_path / "results.md").read_text()
    assert "those of the data folder, 300 dimensions" in written
    assert "GloVe 6B with 100 dimensions" not in written


def test_stored_rows_give_the_page_of_the_repository(tmp_path):
    root = Path(__file__).resolve().parents[3]
    rows = tmp_path / "benchmarks" / "rows"
    shutil.copytree(root / "benchmarks" / "rows", rows)
    page = write_page(rows, tmp_path / "docs" / "results.md")
    assert page.read_text() == (root / "docs" / "results.md").read_text()


def test_marks_that_no_table_uses_are_not_explained(tmp_path):
    files = RowFiles(tmp_path / "rows")
    files.add(next(row for row in ROWS if row.case["set"] == "reuters" and row.case["method"] == "stw"))
    written = write_page(tmp_path / "rows", tmp_path / "results.md").read_text()
    assert "Table 3" in written
    assert "†" not in written
    assert "‡" not in written


def test_an_empty_folder_gives_a_page_without_tables(tmp_path):
    written = write_page(tmp_path / "none", tmp_path / "results.md").read_text()
    assert "Table 3" not in written
    assert "## What is not comparable" in written
