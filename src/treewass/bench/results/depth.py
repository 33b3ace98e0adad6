"""The error by the depth of the tree, as a table and as a figure, from rows."""

from __future__ import annotations

import os
from collections.abc import Iterable

from treewass.bench.depth import FULL_DEPTHS
from treewass.bench.results.layout import figure, sets_of, table
from treewass.bench.rows import Row
from treewass.methods import METHODS

__all__ = ["depth_markdown", "draw_depth"]

_LEAST_RANGE = 4.0  # per cent that a panel spans
Errors = dict[tuple[str, str, int], float]


def depth_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors of STW and TSW by depth.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmarks ``depth`` and ``accuracy``; the latter have the deepest trees. Other splits are passed over.

    Returns
    -------
    str
        A Markdown table and what to know about it.

    Examples
    --------
    >>> case = {"set": "reuters", "split": 0, "method": "stw", "depth": 3}
    >>> print(depth_markdown([Row("depth", case, {"error_percent": 5.0}, "", environment={})]).splitlines()[2])
    | STW, internal nodes of depth 3 | 5.0 |
    """
    errors, sets = _errors(rows)
    lines = []
    for method, depth in sorted({key[1:] for key in errors}, key=lambda key: (list(FULL_DEPTHS).index(key[0]), key[1])):
        title = (
            f"STW, internal nodes of depth {depth}" if method == "stw" else f"{METHODS[method].title}, depth {depth}"
        )
        lines.append((title, [figure(errors.get((name, method, depth))) for name in sets]))
    return table("test error in %", [name.upper() for name in sets], lines) + (
        "\nFirst split only; fall-back vote, k = 19; STW with the margin selected for each depth. The paper shows "
        "these errors in a figure without numbers. It counts the words' level too, so that its depth of STW is one "
        "more than that of the internal nodes. TSW uses GloVe vectors of 100 dimensions, the paper's word2vec has "
        "300.\n"
    )


def draw_depth(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw the error against the depth of the tree, a panel for each set.

    Parameters
    ----------
    rows : iterable of Row
        As in `depth_markdown`.
    path : path-like
        The SVG to write.
    """
    from treewass.bench.results.drawing import LINES, save_figure, set_panels

    errors, sets = _errors(rows)
    canvas, axes = set_panels(sets)
    for ax, name in zip(axes, sets, strict=True):
        for (method, full), (color, marker, dashes) in zip(FULL_DEPTHS.items(), LINES, strict=True):
            found = {key[2] + 6 - full: error for key, error in errors.items() if key[:2] == (name, method)}
            depths = sorted(found)
            title = "STW" if method == "stw" else METHODS[method].title
            ax.plot(depths, [found[depth] for depth in depths], color=color, marker=marker, ls=dashes, label=title)
        ax.set_xticks([4, 5, 6])
        low, high = ax.get_ylim()
        beyond = max(0.0, _LEAST_RANGE - (high - low)) / 2  # so that noise does not look like a trend
        ax.set_ylim(low - beyond, high + beyond)
    canvas.supxlabel("depth of the tree, words included", fontsize=9)
    canvas.supylabel("test error in %", fontsize=9)
    canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    save_figure(canvas, path)


def _errors(rows: Iterable[Row]) -> tuple[Errors, list[str]]:
    """Gather errors by set, method and depth, and list the sets that have rows of the benchmark ``depth``."""
    rows = list(rows)
    sets = sets_of(row for row in rows if row.benchmark == "depth")
    errors: Errors = {}
    for row in rows:
        name, method, error = str(row.case["set"]), str(row.case["method"]), row.measures["error_percent"]
        if name in sets and method in FULL_DEPTHS and row.case["split"] == 0 and isinstance(error, int | float):
            depth = row.case["depth"] if row.benchmark == "depth" else FULL_DEPTHS[method]
            errors[name, method, int(depth or 0)] = error
    return errors, sets
