import pytest

from treewass_bench import depth
from treewass_bench.accuracy import measure
from treewass_bench.cells import run_cells
from treewass_bench.datasets import load_split
from treewass_bench.depth import FULL_DEPTHS, depth_cells, depth_markdown, draw_depth

from .stored_rows import DEPTH


def test_trees_are_as_deep_as_asked(folder):
    rows = list(run_cells(depth_cells(folder, ["pets"])))
    nodes = {(row.case["method"], row.case["depth"]): row.measures["nodes"] for row in rows}
    assert sorted(nodes) == sorted((method, full - less) for method, full in FULL_DEPTHS.items() for less in (1, 2))
    assert nodes["stw", 3] == 1 + 5 + 25 + 125
    assert nodes["stw", 4] == 1 + 5 + 25 + 125 + 625
    assert nodes["tsw-10", 4] > nodes["tsw-1", 4]
    assert all(row.measures["error_percent"] < 30 for row in rows)


@pytest.mark.parametrize("method", FULL_DEPTHS)
def test_the_deepest_trees_are_those_of_the_accuracy_rows(folder, method):
    found = depth._error("pets", method, FULL_DEPTHS[method], folder)
    assert found["error_percent"] == measure(method, load_split("pets", 0, folder), folder)["error_percent"]


def test_the_deepest_trees_come_from_the_accuracy_rows_of_the_first_split():
    assert depth_markdown(DEPTH).splitlines()[2:] == [
        "| test error in % | REUTERS |",
        "|---|---|",
        "| STW, internal nodes of depth 3 | 6.0 |",
        "| STW, internal nodes of depth 4 | 5.0 |",
        "| STW, internal nodes of depth 5 | 4.0 |",
        "| TSW-1, depth 4 | 9.0 |",
    ]


def test_rows_that_are_missing_are_dashes():
    more = [row for row in DEPTH if row.benchmark == "depth"]
    other = type(more[0])("depth", {**more[0].case, "set": "pets"}, {"error_percent": 1.0}, "", {})
    lines = depth_markdown([*more, other]).splitlines()[2:]
    assert lines[0] == "| test error in % | REUTERS | PETS |"
    assert lines[3] == "| STW, internal nodes of depth 4 | 5.0 | – |"


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_rows_give_the_same_figure(tmp_path, ending):
    for name in "ab":
        draw_depth(DEPTH, tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
