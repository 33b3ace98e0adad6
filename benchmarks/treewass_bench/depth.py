"""``python -m treewass_bench depth``: the errors of the paper's learner and of sliced trees by depth."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from treewass_bench.accuracy_tables import SPLITS
from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, load_split, load_vectors
from treewass_bench.layout import fold_long, mean_figure, sets_of, table
from treewass_bench.methods import METHODS
from treewass_bench.rows import Row, Value

__all__ = [
    "FULL_DEPTHS",
    "depth_cells",
    "depth_markdown",
    "draw_depth",
]

FULL_DEPTHS = {"stw": 5} | {f"tsw-{n}{words}": 6 for words in ("", "-clusters") for n in (1, 5, 10)}  # as published
_PROTOCOL = (
    "one fit on the training documents of a split, fall-back vote, k = 19; STW as the method stw of the "
    "accuracy rows (margins 10, 5 and 20 by validation error, patience 5), but for the depth of its perfect 5-ary tree "
    "of internal nodes; TSW as the methods tsw-1, tsw-5, tsw-10 and those with clusters, but for "
    "the deepest level. The accuracy rows of the same splits and seeds are those of depth 5 (STW) and 6 (TSW)"
)
_SEEDS = 3
_STW_SECONDS = {"twitter": 7, "amazon": 70, "classic": 30, "bbcsport": 12, "ohsumed": 60, "reuters": 36}
_TSW_SECONDS = {"twitter": 0.3, "bbcsport": 0.6}
_LEAST_RANGE = 4.0  # per cent that a panel spans
Errors = dict[tuple[str, str, int], list[float]]


def depth_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] = PAPER_SETS) -> list[Cell]:
    """List the cells of the trees that are less deep than those of the accuracy rows.

    All splits; sliced trees with three seeds where there is one split.

    Examples
    --------
    >>> [cell.case["depth"] for cell in depth_cells(sets=["reuters"]) if cell.case["method"] == "stw"]
    [3, 4]
    """
    return [
        Cell(
            "depth",
            _case(name, split, method, depth, seed),
            partial(_error, name, method, depth, data, split, seed),
            _PROTOCOL,
            _seconds(name, method, depth),
        )
        for name in sets
        for method, full in FULL_DEPTHS.items()
        for depth in (full - 2, full - 1)
        for split in range(SPLITS.get(name, 1))
        for seed in range(1 if method == "stw" or name in SPLITS else _SEEDS)
    ]


def _case(name: str, split: int, method: str, depth: int, seed: int) -> dict[str, Value]:
    case: dict[str, Value] = {"set": name, "split": split, "method": method, "depth": depth}
    return {**case, "random_state": seed} if seed else case


def _seconds(name: str, method: str, depth: int) -> float:
    """Guess how long a cell takes; internal nodes grow fivefold with each level, other work does not."""
    if method == "stw":
        return _STW_SECONDS.get(name, 60) * (1.0 if depth == 4 else 0.5)
    return _TSW_SECONDS.get(name, 2.0) * (1 + 0.3 * int(method.split("-")[1]))


def _error(
    name: str, method: str, depth: int, data: str | os.PathLike[str] | None, number: int = 0, seed: int = 0
) -> dict[str, Value]:
    """Fit a method of the registry with a tree of another depth, and classify the test documents."""
    split, chosen = load_split(name, number, data), METHODS[method]
    model = chosen.make(load_vectors(split.words, data) if "vectors" in chosen.needs else None)
    model.set_params(metric__depth=depth, metric__random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        wrong = model.fit(split.X_train, split.y_train).predict(split.X_test) != split.y_test
    return {
        "error_percent": round(100 * float(np.mean(wrong)), 3),
        "nodes": sum(tree.n_nodes for tree in model.metric_.trees),
    }


def depth_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors of STW and TSW by depth.

    Examples
    --------
    >>> case = {"set": "reuters", "split": 0, "method": "stw", "depth": 3}
    >>> print(depth_markdown([Row("depth", case, {"error_percent": 5.0}, "", environment={})]).splitlines()[-1])
    | STW, internal nodes of depth 3 | 5.0 |
    """
    errors, sets = _errors(rows)
    lines = []
    for method, depth in sorted({key[1:] for key in errors}, key=lambda key: (list(FULL_DEPTHS).index(key[0]), key[1])):
        title = (
            f"STW, internal nodes of depth {depth}" if method == "stw" else f"{METHODS[method].title}, depth {depth}"
        )
        lines.append((title, [mean_figure(errors.get((name, method, depth), [])) for name in sets]))
    laid = table("test error in %", [name.upper() for name in sets], lines)
    return (
        "Fall-back vote, k = 19, over all splits, a figure without ± is of one; STW with the margin selected for "
        "each depth; TSW with three seeds "
        "where there is one split (OHSUMED, REUTERS). The paper shows "
        "these errors in a figure without numbers. It counts the words' level too, so that its depth of STW is one "
        "more than that of the internal nodes. TSW uses GloVe vectors of 100 dimensions, the paper's word2vec has "
        f"300.\n\n{fold_long('test error in % by depth', laid)}"
    )


def draw_depth(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw the error against the depth of the tree, a panel for each set."""
    from treewass_bench.drawing import LINES, save_figure, set_panels

    errors, sets = _errors(rows)
    canvas, axes = set_panels(sets)
    styles = [*LINES, *((color, marker, "-") for (color, _, _), marker in zip(LINES[1:], "x+*", strict=True))]
    for ax, name in zip(axes, sets, strict=True):
        for (method, full), (color, marker, dashes) in zip(FULL_DEPTHS.items(), styles, strict=True):
            found = {key[2] + 6 - full: np.mean(values) for key, values in errors.items() if key[:2] == (name, method)}
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
    """Gather errors by set, method and depth, and list the sets that have rows of the benchmark ``depth``.

    Of the accuracy rows those count whose split and seed were measured with other depths, too.
    """
    rows = list(rows)
    own = [row for row in rows if row.benchmark == "depth"]
    measured = {_run(row) for row in own}
    errors: Errors = {}
    for row in rows:
        name, method, error = str(row.case["set"]), str(row.case["method"]), row.measures["error_percent"]
        if _run(row) in measured and method in FULL_DEPTHS and isinstance(error, int | float):
            depth = row.case["depth"] if row.benchmark == "depth" else FULL_DEPTHS[method]
            errors.setdefault((name, method, int(depth or 0)), []).append(error)
    return errors, sets_of(own)


def _run(row: Row) -> tuple[Value, ...]:
    """Return what rows of different depths have in common."""
    return row.case["set"], row.case["method"], row.case["split"], row.case.get("random_state", 0)
