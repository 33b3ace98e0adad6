"""``treewass bench depth``: the error of the paper's learner and of sliced trees, by the depth of the tree."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

from treewass.bench.cells import Cell
from treewass.bench.datasets import PAPER_SETS, load_split, load_vectors
from treewass.bench.rows import Value
from treewass.methods import METHODS

__all__ = ["FULL_DEPTHS", "depth_cells"]

FULL_DEPTHS = {"stw": 5, "tsw-1": 6, "tsw-5": 6, "tsw-10": 6}  # of the paper's trees, and of the accuracy rows
_PROTOCOL = (
    "one fit on the training documents of the first split, fall-back vote, k = 19; STW as the method stw of the "
    "accuracy rows (margins 10, 5 and 20 by validation error, patience 5), but for the depth of its perfect 5-ary tree "
    "of internal nodes; TSW as the methods tsw-1, tsw-5 and tsw-10, but for the deepest level. The accuracy rows of "
    "the first split are those of depth 5 (STW) and 6 (TSW)"
)
_STW_SECONDS = {"twitter": 7, "amazon": 70, "classic": 30, "bbcsport": 12, "ohsumed": 60, "reuters": 36}
_TSW_SECONDS = {"twitter": 0.3, "bbcsport": 0.6}


def depth_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] = PAPER_SETS) -> list[Cell]:
    """List the cells of the trees that are less deep than those of the accuracy rows, on the first split of each set.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets and of ``word_vectors.npz``; that of the variable TREEWASS_DATA by default.
    sets : sequence of str
        Names of text sets.

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> [cell.case["depth"] for cell in depth_cells(sets=["twitter"]) if cell.case["method"] == "stw"]
    [3, 4]
    """
    return [
        Cell(
            "depth",
            {"set": name, "split": 0, "method": method, "depth": depth},
            partial(_error, name, method, depth, data),
            _PROTOCOL,
            _seconds(name, method, depth),
        )
        for name in sets
        for method, full in FULL_DEPTHS.items()
        for depth in (full - 2, full - 1)
    ]


def _seconds(name: str, method: str, depth: int) -> float:
    """Guess how long a cell takes; internal nodes grow fivefold with each level, other work does not."""
    if method == "stw":
        return _STW_SECONDS.get(name, 60) * (1.0 if depth == 4 else 0.5)
    return _TSW_SECONDS.get(name, 2.0) * (1 + 0.3 * int(method.removeprefix("tsw-")))


def _error(name: str, method: str, depth: int, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Fit a method of the registry with a tree of another depth, and classify the test documents."""
    split, chosen = load_split(name, 0, data), METHODS[method]
    model = chosen.make(load_vectors(split.words, data) if "vectors" in chosen.needs else None)
    model.set_params(**{"metric__depth" if method == "stw" else "metric__max_depth": depth})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        wrong = model.fit(split.X_train, split.y_train).predict(split.X_test) != split.y_test
    return {
        "error_percent": round(100 * float(np.mean(wrong)), 3),
        "nodes": sum(tree.n_nodes for tree in model.metric_.trees),
    }
