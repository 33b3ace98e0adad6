"""Errors of nearest neighbours under word mover's distances, for ``treewass bench wmd``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.rows import Row, Value
from treewass.bench.word_mover import WordMoverSet, load_word_mover_set
from treewass.classify.votes import fallback_vote
from treewass.distances import SupervisedWordMover, act, centroid_distance, rwmd, wmd_neighbors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["word_mover_errors"]

_SETS, _NEIGHBORS = ("bbcsport", "twitter"), 19
_LEAVE_ONE_OUT = ("bbcsport",)


def word_mover_errors(data: str | os.PathLike[str] | None = None) -> Iterator[Row]:
    """Measure test errors on the first splits, and leave-one-out errors of training documents.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.

    Yields
    ------
    Row
    """
    for name in _SETS:
        documents = load_word_mover_set(name, 0, data)
        for method, search in _searches(documents).items():
            start = time.perf_counter()
            neighbors = search()
            seconds = time.perf_counter() - start
            error = _test_error(documents, neighbors)
            yield _row(name, method, {"test_error_percent": round(100 * error, 2), "seconds": round(seconds, 1)})
        yield from _supervised(name, documents)


def _searches(documents: WordMoverSet) -> dict[str, Callable[[], NDArray[np.int64]]]:
    """Name the ways to find the nearest training documents of the test documents."""
    X, Y = documents.X_test, documents.X_train
    options: dict[str, Any] = {"word_vectors": documents.vectors}
    return {
        "centroids": lambda: _nearest(centroid_distance(X, Y, **options)),
        "RWMD": lambda: _nearest(rwmd(X, Y, n_jobs=-1, **options)),
        "ACT-1": lambda: _nearest(act(X, Y, iterations=1, n_jobs=-1, **options)),
        "ACT-3": lambda: _nearest(act(X, Y, iterations=3, n_jobs=-1, **options)),
        "WMD": lambda: wmd_neighbors(X, Y, n_neighbors=_NEIGHBORS, n_jobs=-1, **options)[1],
    }


def _supervised(name: str, documents: WordMoverSet) -> Iterator[Row]:
    """Train S-WMD, and compare it with WMD."""
    start = time.perf_counter()
    mover = SupervisedWordMover(documents.vectors, n_jobs=-1).fit(documents.X_train, documents.y_train)
    trained = time.perf_counter()
    neighbors = mover.kneighbors(documents.X_test, return_distance=False)
    measures: dict[str, Value] = {
        "test_error_percent": round(100 * _test_error(documents, _rows_of(neighbors)), 2),
        "seconds": round(time.perf_counter() - trained, 1),
        "training_seconds": round(trained - start, 1),
    }
    yield _row(name, "S-WMD", measures)
    if name not in _LEAVE_ONE_OUT:
        return
    others = wmd_neighbors(documents.X_train, n_neighbors=_NEIGHBORS, word_vectors=documents.vectors, n_jobs=-1)[1]
    for method, rows in (("WMD", others), ("S-WMD", _rows_of(mover.kneighbors(return_distance=False)))):
        error = _errors(documents.y_train, rows, documents.y_train).mean()
        yield _row(name, method, {"leave_one_out_error_percent": round(100 * float(error), 2)})


def _nearest(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBORS]


def _rows_of(neighbors: Any) -> NDArray[np.int64]:
    return np.asarray(neighbors)


def _errors(known: NDArray[np.str_], neighbors: NDArray[np.int64], truth: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Tell which documents get a wrong label from their neighbours."""
    classes, codes = np.unique(known, return_inverse=True)
    return np.asarray(classes[fallback_vote(codes[neighbors], len(classes)).argmax(axis=1)] != truth)


def _test_error(documents: WordMoverSet, neighbors: NDArray[np.int64]) -> float:
    """Return the share of wrong labels; a document without a word with a vector counts as wrong."""
    wrong = int(_errors(documents.y_train, neighbors, documents.y_test).sum()) + documents.left_out
    return wrong / (len(documents.y_test) + documents.left_out)


def _row(name: str, method: str, measures: dict[str, Value]) -> Row:
    case: dict[str, Value] = {"case": "nearest-neighbour error", "set": name, "split": 0, "method": method}
    protocol = f"fall-back vote from k = {_NEIGHBORS}, GloVe vectors of 100 dimensions as they are, all cores"
    return Row("wmd", case, measures, protocol)
