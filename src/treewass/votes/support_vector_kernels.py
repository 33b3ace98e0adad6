"""The compiled loop of the linear channel: one pass of dual coordinate ascent over the documents, for all classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import compiled, inlined

__all__ = ["ascend"]

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]
Rows = tuple[Integers, Integers, Floats]  # bounds, places and values of sparse rows
_ZERO, _ONE = np.float32(0), np.float32(1)


@inlined
def _add_scores(rows: Rows, document: int, weights: Floats, scores: Floats) -> Any:
    """Add the score of each class over the terms of a document, and return the sum of squares of its values."""
    bounds, places, values = rows
    squares = _ZERO
    for entry in range(bounds[document], bounds[document + 1]):
        value, line = values[entry], weights[places[entry]]
        squares += value * value
        for label in range(scores.size):
            scores[label] += value * line[label]
    return squares


@inlined
def _add_document(rows: Rows, document: int, changes: Floats, weights: Floats) -> None:
    """Add a document to the weights of each class, as often as `changes` says."""
    bounds, places, values = rows
    for entry in range(bounds[document], bounds[document + 1]):
        value, line = values[entry], weights[places[entry]]
        for label in range(changes.size):
            line[label] += value * changes[label]


@partial(compiled, error_model="numpy")
def ascend(
    rows: Rows, own: Integers, slack: Floats, order: Integers, duals: Floats, weights: Floats, intercepts: Floats
) -> Any:
    """Improve the dual variables of each document in turn, and the weights with them.

    `own` is the column of a document's class, −1 if it has none, and `slack` one over twice its cost. All numbers are
    float32. Returned is the widest range of slopes that a class was found with: zero at the best weights.
    """
    n_classes = intercepts.size
    scores, changes = np.empty(n_classes, np.float32), np.empty(n_classes, np.float32)
    highest, lowest = np.full(n_classes, -np.inf, np.float32), np.full(n_classes, np.inf, np.float32)
    for document in order:
        for label in range(n_classes):
            scores[label] = intercepts[label]
        # The intercept is a term, too.
        curvature = _ONE + slack[document] + _add_scores(rows, document, weights, scores)
        changed = False
        for label in range(n_classes):
            sign = _ONE if own[document] == label else -_ONE
            dual = duals[document, label]
            slope = sign * scores[label] - _ONE + slack[document] * dual
            possible = slope if dual > _ZERO else min(slope, _ZERO)
            highest[label], lowest[label] = max(highest[label], possible), min(lowest[label], possible)
            duals[document, label] = max(dual - slope / curvature, _ZERO)
            changes[label] = sign * (duals[document, label] - dual)
            intercepts[label] += changes[label]
            changed |= changes[label] != _ZERO
        if changed:
            _add_document(rows, document, changes, weights)
    return np.max(highest - lowest)
