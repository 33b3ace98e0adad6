"""The relaxed word mover's distance: every word goes to the nearest word of the other document."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.matrices import check_direction, pairwise_rows, query_costs
from treewass.distances.pairs import DocumentPairs, check_cost, pair_documents
from treewass.distances.relaxed_kernels import relaxed_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["choose_direction", "relaxed_bounds", "rwmd"]


def rwmd(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    cost: str = "euclidean",
    direction: str = "max",
    n_jobs: int | None = None,
    verbose: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    r"""Compute the relaxed word mover's distance, a lower bound of `wmd` [1]_.

    Each word moves to the nearest word of the other document, however much that one already holds:

    .. math:: \sum_i a_i \min_j c(x_i, y_j)

    It takes one table of costs for each document of `X`, and one pass over the documents of `Y`.

    Parameters
    ----------
    X, Y, word_vectors, cost, verbose, store
        As in `wmd`.
    direction : {"max", "forward", "backward"}, default="max"
        From `X` to `Y`, from `Y` to `X`, or the larger of the two, which alone is symmetric.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Exactly zero for equal documents.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> rwmd([[1, 1, 0]], [[0, 1, 1]], word_vectors=vectors)
    array([[2.]])
    >>> rwmd([[1, 1, 0]], [[0, 1, 1]], word_vectors=vectors, direction="forward")
    array([[1.5]])
    """
    settings = {"squared": check_cost(cost, caller="rwmd"), "direction": direction}
    check_direction(direction, caller="rwmd")
    pairs = pair_documents(X, Y, word_vectors, caller="rwmd")
    return pairwise_rows(
        pairs, _rows, settings, name="rwmd", processes=False, n_jobs=n_jobs, verbose=verbose, store=store
    )


def relaxed_bounds(
    pairs: DocumentPairs, table: NDArray[np.float64], row: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the relaxed distances of one document to all on the right, given its table of costs.

    Parameters
    ----------
    pairs : DocumentPairs
        Documents and points.
    table : ndarray of shape (n_points, n_query_points)
        From `query_costs`.
    row : int
        The document on the left.

    Returns
    -------
    forward, backward : ndarray of shape (n_documents,)
    """
    forward, backward = np.empty(pairs.shape[1]), np.empty(pairs.shape[1])
    right = pairs.right
    relaxed_costs(table, pairs.of_left(row)[1], right.indptr, right.indices, right.data, forward, backward)
    return forward, backward


def choose_direction(
    forward: NDArray[np.float64], backward: NDArray[np.float64], direction: str
) -> NDArray[np.float64]:
    """Return one of two distances, or the larger one of each pair."""
    if direction == "max":
        return np.maximum(forward, backward)
    return forward if direction == "forward" else backward


def _rows(
    pairs: DocumentPairs, start: int, stop: int, *, squared: bool, direction: str
) -> dict[str, NDArray[np.float64]]:
    distances = np.empty((stop - start, pairs.shape[1]))
    for row in range(start, stop):
        bounds = relaxed_bounds(pairs, query_costs(pairs, row, squared), row)
        distances[row - start] = choose_direction(*bounds, direction)
    return {"distances": distances}
