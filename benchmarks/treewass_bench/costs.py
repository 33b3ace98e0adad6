"""``python -m treewass_bench costs``: how close the distances of trees are to true transport costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treewass import QuadtreeWasserstein, TreeSlicedWasserstein
from treewass.distances import FittedLengths, UltrametricWasserstein
from treewass.distances.fitted_lengths import paired_costs
from treewass.documents import to_histograms
from treewass.trees import embed
from treewass_bench.cells import Cell
from treewass_bench.datasets import load_split, load_vectors
from treewass_bench.layout import figure, sets_of, table
from treewass_bench.rows import Row, Value
from treewass_bench.timing import one_thread

__all__ = ["COST_METHODS", "cost_cells", "costs_markdown"]

COST_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "quadtree": ("Quadtree", QuadtreeWasserstein),
    "tsw-5": ("TSW-5", partial(TreeSlicedWasserstein, n_trees=5)),
    "quadtree-fitted": ("Quadtree, lengths fitted", FittedLengths),
    "single": ("single linkage, heights fitted", partial(UltrametricWasserstein, linkage="single")),
    "ultrametric": ("average linkage, heights fitted (`UltrametricWasserstein`)", UltrametricWasserstein),
}
_PAIRS = 500
_PROTOCOL = (
    "first split: fitted on its training documents, with word vectors; 500 pairs of test documents, true costs by POT; "
    "one factor on all distances, by least squares; error_percent: mean absolute difference over the mean cost"
)


def cost_cells(
    data: str | None = None,
    sets: Sequence[str] = ("twitter", "bbcsport"),
    methods: Sequence[str] = tuple(COST_METHODS),
) -> list[Cell]:
    """List what is measured: each tree on the first split of each set.

    Examples
    --------
    >>> [cell.case["method"] for cell in cost_cells(sets=["twitter"], methods=["tsw-5", "ultrametric"])]
    ['tsw-5', 'ultrametric']
    """
    unknown = [name for name in methods if name not in COST_METHODS]
    if unknown:
        raise ValueError(f"Expected methods among {', '.join(COST_METHODS)}, got {', '.join(unknown)}.")
    return [
        Cell("costs", {"set": name, "method": method}, partial(_measured, name, method, data), _PROTOCOL, 10.0)
        for name in sets
        for method in methods
    ]


def _measured(name: str, method: str, data: str | None) -> dict[str, Value]:
    split = load_split(name, 0, data)
    vectors = load_vectors(split.words, data)
    known = np.flatnonzero(split.X_test @ vectors.covered.astype(np.float64) > 0)
    tests = split.X_test[known]
    with one_thread():
        start = time.process_time()
        metric = COST_METHODS[method][1](word_vectors=vectors).fit(split.X_train).metric_
        seconds = time.process_time() - start
        histograms = to_histograms(tests[:, np.flatnonzero(vectors.covered)])
        points = np.asarray(vectors.vectors[vectors.covered], dtype=np.float64)
        first, second, costs = paired_costs(histograms, points, _PAIRS, np.random.RandomState(1), caller="costs")
        embedded = embed(metric, tests)
    distances = abs(embedded[first] - embedded[second]).sum(axis=1)
    apart = distances * (distances @ costs) / (distances @ distances) - costs
    return {
        "error_percent": round(100 * float(abs(apart).mean() / costs.mean()), 3),
        "correlation": round(float(np.corrcoef(distances, costs)[0, 1]), 4),
        "depth": metric.trees[0].depth,
        "fit_seconds": round(seconds, 2),
    }


def costs_markdown(rows: Iterable[Row]) -> str:
    """Lay out errors and, in brackets, correlations.

    Examples
    --------
    >>> measures = {"error_percent": 3.21, "correlation": 0.9876}
    >>> print(costs_markdown([Row("costs", {"set": "twitter", "method": "tsw-5"}, measures, "", environment={})]))
    | error in % of the mean cost (correlation) | TWITTER |
    |---|---|
    | TSW-5 | 3.2 (0.99) |
    <BLANKLINE>
    """
    rows = list(rows)
    sets, found = sets_of(rows), {(row.case["set"], row.case["method"]): row.measures for row in rows}
    lines = []
    for method, (title, _) in COST_METHODS.items():
        own = [found.get((name, method)) for name in sets]
        if any(own):
            lines.append((title, [_shown(measures) for measures in own]))
    return table("error in % of the mean cost (correlation)", [name.upper() for name in sets], lines)


def _shown(measures: Mapping[str, Value] | None) -> str:
    if measures is None:
        return "–"
    return f"{figure(measures['error_percent'])} ({figure(measures['correlation'], '.2f')})"
