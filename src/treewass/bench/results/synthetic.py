"""The synthetic set: the paper's table 2 and figure 1, from rows."""

from __future__ import annotations

import os
from collections.abc import Iterable

from treewass.bench.results.layout import figure, mean_figure, table
from treewass.bench.rows import Row
from treewass.bench.synthetic import SYNTHETIC_METHODS

__all__ = ["PUBLISHED_SYNTHETIC", "draw_instruments", "synthetic_markdown"]

PUBLISHED_SYNTHETIC = {"quadtree": 0.3, "flowtree": 1.6, "tsw-1": 7.5, "tsw-5": 4.2, "tsw-10": 3.9, "stw": 0.0}
_TITLES = {
    "quadtree": "Quadtree",
    "flowtree": "Flowtree",
    "tsw-1": "TSW-1",
    "tsw-5": "TSW-5",
    "tsw-10": "TSW-10",
    "stw": "STW",
    "profile": "**treewass**",
}
_DRAWN = {"quadtree": "Quadtree", "tsw-1": "TSW", "stw": "STW"}
_MEASURES = {
    "ours, fall-back vote from k = 19": "error_percent",
    "ours, nearest neighbour alone": "nearest_error_percent",
}


def synthetic_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors on the synthetic set, the published ones beside.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``synthetic``.

    Returns
    -------
    str
        A Markdown table and what to know about it.

    Examples
    --------
    >>> case, measures = {"measure": "error", "method": "stw", "seed": 0}, {"error_percent": 0.0}
    >>> print(synthetic_markdown([Row("synthetic", case, measures, "", environment={})]).splitlines()[2])
    | published | 0.0 |
    """
    errors = [row for row in rows if row.case["measure"] == "error"]
    methods = [name for name in SYNTHETIC_METHODS if any(row.case["method"] == name for row in errors)]
    lines = [("published", [figure(PUBLISHED_SYNTHETIC.get(method)) for method in methods])]
    for title, measure in _MEASURES.items():
        lines.append((title, [mean_figure(_values(errors, method, measure)) for method in methods]))
    seeds = len({row.case["seed"] for row in errors})
    return table("test error in %", [_TITLES[method] for method in methods], lines) + (
        f"\nMeans and standard deviations over {seeds} corpora of 1000 documents to learn from and 1000 to test; every "
        "non-empty set of the ten words is equally likely. The paper says neither how documents are drawn nor k. "
        f"{_missing(errors)}STW and treewass use no vectors.\n"
    )


def _values(rows: Iterable[Row], method: str, measure: str) -> list[float]:
    found = [row.measures.get(measure) for row in rows if row.case["method"] == method]
    return [value for value in found if isinstance(value, int | float)]


def _missing(rows: Iterable[Row]) -> str:
    """Say which words have no vector."""
    words = sorted({word for row in rows for word in str(row.measures.get("words_without_vector") or "").split()})
    if not words:
        return ""
    return (
        f"Our file of GloVe vectors (100 dimensions; the paper: word2vec, 300) lacks {' and '.join(words)}: these "
        "carry no mass for Quadtree, Flowtree and TSW, and documents of them alone count as errors. "
    )


def draw_instruments(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw the trees of Quadtree, TSW and STW side by side: the paper's figure 1.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``synthetic``, the rows of the three trees among them; a tree without one is left out.
    path : path-like
        The SVG to write.
    """
    from treewass.bench.results.drawing import panels, save_figure
    from treewass.bench.results.small_trees import draw_tree
    from treewass.trees.exports import from_json
    from treewass.trees.metric import TreeMetric

    found = {row.case["method"]: row.measures for row in rows if row.case["measure"] == "tree"}
    canvas, axes = panels(1, 3, (9.6, 3.2))
    for ax, (method, title) in zip(axes, _DRAWN.items(), strict=True):
        ax.set_title(title)
        ax.set_axis_off()
        metric = from_json(str(found[method]["tree"])) if method in found else None
        if isinstance(metric, TreeMetric):
            draw_tree(ax, metric, str(found[method]["words"]).split(), telling=("piano", "violin"))
    save_figure(canvas, path)
