import pytest

from treewass.bench import depth
from treewass.bench.accuracy_measures import measure
from treewass.bench.cells import run_cells
from treewass.bench.datasets import load_split
from treewass.bench.depth import FULL_DEPTHS, depth_cells


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
