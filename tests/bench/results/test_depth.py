import pytest

from treewass.bench.results.depth import depth_markdown, draw_depth

from .rows import DEPTH


def test_the_deepest_trees_come_from_the_accuracy_rows_of_the_first_split():
    assert depth_markdown(DEPTH).splitlines()[:6] == [
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
    lines = depth_markdown([*more, other]).splitlines()
    assert lines[0] == "| test error in % | REUTERS | PETS |"
    assert lines[3] == "| STW, internal nodes of depth 4 | 5.0 | – |"


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_rows_give_the_same_figure(tmp_path, ending):
    for name in "ab":
        draw_depth(DEPTH, tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
