import pytest

from treewass.bench.results.page import write_page, write_short_table
from treewass.bench.row_files import RowFiles

from .rows import ABLATION, DEPTH, DUPLICATES, SYNTHETIC
from .test_accuracy import ROWS


@pytest.fixture
def files(tmp_path):
    found = RowFiles(tmp_path / "rows")
    for row in ROWS:
        found.add(row)
    return found


def test_the_page_holds_what_has_rows(files, tmp_path):
    page = write_page(files, tmp_path / "docs" / "results.md", tmp_path / "rows" / "figures")
    written = page.read_text()
    assert "## Table 3: errors" in written
    assert "| 5.0‡ (3.5) |" in written
    assert "## Depth" not in written
    assert "\n\n\n" not in written
    again = write_page(files, tmp_path / "docs" / "results.md", tmp_path / "rows" / "figures").read_text()
    assert again == written


def test_the_smaller_tables_have_their_places_and_figures(tmp_path):
    files = RowFiles(tmp_path / "rows")
    for row in [*SYNTHETIC, *DUPLICATES, *ABLATION, *(row for row in DEPTH if row.benchmark == "depth")]:
        files.add(row)
    written = write_page(files, tmp_path / "results.md", tmp_path / "figures").read_text()
    for title in ("Table 2", "Without repeated", "Depth of the tree", "Soft and smooth", "Loss curves"):
        assert title in written
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert drawn == {"synthetic-trees.svg", "depth.svg", "loss.svg"}
    assert all(f"figures/{name}" in written for name in drawn)


def test_an_empty_folder_gives_a_page_without_tables(tmp_path):
    written = write_page(RowFiles(tmp_path / "none"), tmp_path / "results.md", tmp_path / "figures").read_text()
    assert "Table 3" not in written
    assert "## What is not comparable" in written


def test_the_short_table_is_put_between_its_marks(files, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- table of treewass bench all -->\nold\n<!-- end of the table -->\nafter\n")
    write_short_table(files, readme)
    written = readme.read_text()
    assert written.startswith("before\n<!-- table")
    assert written.endswith("<!-- end of the table -->\nafter\n")
    assert "old" not in written
    assert "| STW, margin selected | 30.0 ± 1.4 | 10.0† |" in written
    readme.write_text("no marks")
    with pytest.raises(ValueError, match="once each"):
        write_short_table(files, readme)
