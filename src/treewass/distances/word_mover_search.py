"""Nearest neighbours under the word mover's distance, with bounds that spare most exact distances."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.centroid import centroid_bounds
from treewass.distances.constrained import constrained_bounds
from treewass.distances.entropic_kernels import dual_bounds
from treewass.distances.matrices import compute_rows, query_costs
from treewass.distances.pairs import DocumentPairs, check_cost, pair_documents
from treewass.distances.relaxed import relaxed_bounds
from treewass.distances.word_mover import wmd_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["neighbors_by_wmd", "wmd_neighbors"]

_TRANSFERS = 2  # of the second bound: more spare few distances and cost more
_PENALTY, _ITERATIONS = 0.02, 50  # of the third
_ROUNDING = 64 * 2.0**-52


def wmd_neighbors(
    X: Any,
    Y: Any = None,
    *,
    n_neighbors: int,
    word_vectors: Any,
    cost: str = "euclidean",
    prune: bool = True,
    n_jobs: int | None = None,
    verbose: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the rows of `Y` that are nearest to each row of `X` under the word mover's distance.

    Prefetch and prune [1]_: documents are visited in the order of lower bounds, and the search ends when the next
    bound is above the distances found. The bounds are the distance of centroids and the relaxed distance, for those
    that are left ACT, and then feasible potentials of the dual problem. A margin for rounding is left, so that the
    answer is that of computing all distances.

    Parameters
    ----------
    X, Y : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Counts or weights, each row with at least one word that has a vector. Without `Y` neighbours are sought
        among the other rows of `X`.
    n_neighbors : int
        Neighbours of each row; all where there are fewer.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each word.
    cost : {"euclidean", "squared"}, default="euclidean"
        The distance between two vectors, or its square.
    prune : bool, default=True
        Whether to use the bounds; False computes every distance.
    n_jobs : int, optional
        Processes; -1 for all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    store : path-like, optional
        A folder that keeps finished parts, as in `wmd`.

    Returns
    -------
    distances : ndarray of shape (n_documents_X, k)
        Ascending.
    rows : ndarray of int64, shape (n_documents_X, k)
        Row numbers; of documents equally far the one with the lower number comes first.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> wmd_neighbors([[1, 1, 0]], [[0, 0, 2], [1, 1, 0], [0, 1, 0]], n_neighbors=2, word_vectors=vectors)
    (array([[0. , 1.5]]), array([[1, 2]]))
    """
    if not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise ValueError(f"wmd_neighbors expects n_neighbors as an integer of at least 1, got {n_neighbors!r}.")
    squared = check_cost(cost, caller="wmd_neighbors")
    pairs = pair_documents(X, Y, word_vectors, caller="wmd_neighbors")
    options = {"n_jobs": n_jobs, "verbose": verbose, "store": store}
    return neighbors_by_wmd(pairs, squared, int(n_neighbors), caller="wmd_neighbors", prune=prune, **options)


def neighbors_by_wmd(
    pairs: DocumentPairs, squared: bool, n_neighbors: int, *, caller: str, prune: bool = True, **options: Any
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Search among documents that are ready for comparison; parameters as in `wmd_neighbors`."""
    n_rows, n_columns = pairs.shape
    k = max(min(n_neighbors, n_columns - pairs.same), 0)
    if n_rows == 0 or k == 0:
        return np.zeros((n_rows, k)), np.zeros((n_rows, k), dtype=np.int64)
    _ = pairs.right_centroids  # once, not in every process
    settings = {"squared": squared, "k": k, "prune": prune, "caller": caller}
    found = compute_rows(pairs, _rows, settings, name="neighbors", processes=True, **options)
    return found["distances"], found["rows"]


def _rows(
    pairs: DocumentPairs, start: int, stop: int, *, squared: bool, k: int, prune: bool, caller: str
) -> dict[str, NDArray[Any]]:
    """Search for some documents on the left."""
    distances, rows = np.empty((stop - start, k)), np.empty((stop - start, k), dtype=np.int64)
    search = _pruned if prune else _exhaustive
    for row in range(start, stop):
        table = query_costs(pairs, row, squared)
        distances[row - start], rows[row - start] = search(pairs, table, row, k, squared, caller)
    return {"distances": distances, "rows": rows}


def _exhaustive(
    pairs: DocumentPairs, table: NDArray[np.float64], row: int, k: int, squared: bool, caller: str
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    columns = _candidates(pairs, row)
    return _nearest(wmd_to(pairs, table, row, columns, squared=squared, caller=caller), columns, k)


def _pruned(
    pairs: DocumentPairs, table: NDArray[np.float64], row: int, k: int, squared: bool, caller: str
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Compute exact distances in the order of the bounds, until no other document can be among the nearest."""
    columns = _candidates(pairs, row)
    bounds = _first_bounds(pairs, table, row, squared)[columns]
    margin = _margin(pairs, table, row, squared)
    order = np.argsort(bounds, kind="stable")
    bounds, columns = bounds[order], columns[order]
    near, rows = _nearest(wmd_to(pairs, table, row, columns[:k], squared=squared, caller=caller), columns[:k], k)
    n_left = np.searchsorted(bounds, near[-1] + margin, side="right")
    columns = columns[k:n_left]
    bounds = np.maximum(*constrained_bounds(pairs, table, row, columns, _TRANSFERS))
    columns = columns[bounds <= near[-1] + margin]
    bounds = _dual_bounds(pairs, table, row, columns)
    for place in np.argsort(bounds, kind="stable"):
        if bounds[place] > near[-1] + margin:
            break
        column = columns[place : place + 1]
        distance = wmd_to(pairs, table, row, column, squared=squared, caller=caller)
        near, rows = _nearest(np.append(near, distance), np.append(rows, column), k)
    return near, rows


def _candidates(pairs: DocumentPairs, row: int) -> NDArray[np.intp]:
    """Return the documents on the right, without the document itself."""
    columns = np.arange(pairs.shape[1])
    return np.delete(columns, row) if pairs.same else columns


def _first_bounds(pairs: DocumentPairs, table: NDArray[np.float64], row: int, squared: bool) -> NDArray[np.float64]:
    """Take the largest of the relaxed distances and the distance of centroids."""
    forward, backward = relaxed_bounds(pairs, table, row)
    centroids = centroid_bounds(pairs, slice(row, row + 1), squared)[0]
    return np.asarray(np.maximum(np.maximum(forward, backward), centroids))


def _dual_bounds(
    pairs: DocumentPairs, table: NDArray[np.float64], row: int, columns: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Take feasible potentials of the dual problem; whatever they are, they give a lower bound."""
    right, lower = pairs.right[columns], np.empty(columns.size)
    masses = pairs.of_left(row)[1]
    dual_bounds(table, masses, right.indptr, right.indices, right.data, _PENALTY, _ITERATIONS, lower)
    lower[~np.isfinite(lower)] = 0.0  # numbers out of range: nothing is known
    return lower


def _margin(pairs: DocumentPairs, table: NDArray[np.float64], row: int, squared: bool) -> float:
    """Bound the rounding of bounds and distances: sums of so many terms, of costs and of coordinates."""
    n_terms = pairs.of_left(row)[0].size + int(np.diff(pairs.right.indptr).max()) + pairs.points.shape[1]
    cost = float(table.max(initial=0.0))
    shift = float(abs(pairs.points).max()) * pairs.points.shape[1] ** 0.5  # how far a centroid can be moved
    if squared:
        shift *= 2 * cost**0.5 + shift * _ROUNDING * n_terms
    return float(_ROUNDING * n_terms * (cost + shift))


def _nearest(
    distances: NDArray[np.float64], columns: NDArray[np.intp], k: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Sort by distance, then by number, and keep the first ones."""
    order = np.lexsort((columns, distances))[:k]
    return distances[order], columns[order]
