"""The word mover's distance, exactly, and nearest neighbours under it.

The search has bounds that spare most exact distances.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.arguments import check_integer
from treewass.compute.compiling import compiled, inner
from treewass.compute.extras import require
from treewass.distances.document_pairs import (
    DocumentPairs,
    Floats,
    Integers,
    Query,
    check_cost,
    compute_rows,
    csr_arrays,
    pair_documents,
    pairwise_rows,
)
from treewass.distances.entropic_kernels import dual_bounds
from treewass.distances.lower_bounds import centroid_bounds, constrained_bounds, relaxed_bounds

__all__ = ["neighbors_by_wmd", "pairwise_wmd", "transport_cost", "transport_problem", "wmd", "wmd_neighbors"]

_MOST_PIVOTS = 100_000_000
_SAME_MASS = 16 * 2.0**-52  # masses that differ by less, relatively, differ by rounding alone
_TRANSFERS = 2  # of the second bound: more spare few distances and cost more
_PENALTY, _ITERATIONS = 0.02, 50  # of the third
_FIRST, _TOGETHER = 32, 16  # documents that are compared before others are bounded
_ROUNDING = 64 * 2.0**-52


def wmd(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    cost: str = "euclidean",
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    r"""Compute the word mover's distance between each row of `X` and each row of `Y`.

    The distance of two documents is the least cost of moving the mass of one to the words of the other [1]_:

    .. math::
        \min_{T \ge 0} \sum_{ij} T_{ij}\, c(x_i, y_j), \qquad T \mathbf{1} = a, \quad T^\top \mathbf{1} = b

    Parameters
    ----------
    X, Y : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Counts or weights. Words without a vector are left out, and rows are normalised inside. Each row must hold
        at least one word with a vector. `Y` defaults to `X`.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each word, such as ``read_word_vectors(path).align(vocabulary)``. Vectors are used as they
        are, not brought to length one.
    cost : {"euclidean", "squared"}, default="euclidean"
        The distance between two vectors, or its square.
    n_jobs : int, optional
        Processes; -1 for all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    checkpoint : path-like, optional
        A folder that keeps finished parts. The same call with the same folder resumes where an earlier one ended.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Symmetric where `Y` is `X`; exactly zero for equal documents.

    Raises
    ------
    ValueError
        For a document without any word that has a vector, or vectors that are not finite.
    ImportError
        Without POT, which the extra ``ot`` brings.

    See Also
    --------
    wmd_neighbors : The nearest documents without computing all distances.
    rwmd, act : Lower bounds, many times faster.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> wmd([[1, 1, 0]], [[0, 0, 2], [1, 1, 0]], word_vectors=[[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    array([[4.5, 0. ]])
    """
    squared = check_cost(cost)
    pairs = pair_documents(X, Y, word_vectors, caller="wmd")
    return pairwise_wmd(pairs, squared, caller="wmd", n_jobs=n_jobs, verbose=verbose, checkpoint=checkpoint)


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
    checkpoint: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the rows of `Y` that are nearest to each row of `X` under the word mover's distance.

    Documents are visited in the order of lower bounds, and the search ends when the next bound is above the distances
    found (prefetch and prune [1]_). The first bounds are the distance of centroids and the relaxed distance. Documents
    that are left get the bound of ACT, then that of feasible potentials of the dual problem. The bounds leave a margin
    for rounding, so that the answer is the same as from computing all distances.

    Parameters
    ----------
    X, Y : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Counts or weights, each row with at least one word that has a vector. Without `Y` neighbours are sought
        among the other rows of `X`.
    n_neighbors : int
        Neighbours of each row; all rows if there are fewer.
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
    checkpoint : path-like, optional
        A folder that keeps finished parts, as in `wmd`.

    Returns
    -------
    distances : ndarray of shape (n_documents_X, k)
        Ascending.
    rows : ndarray of int64, shape (n_documents_X, k)
        Row numbers. Of documents that are equally far, the lower number comes first.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> wmd_neighbors([[1, 1, 0]], [[0, 0, 2], [1, 1, 0], [0, 1, 0]], n_neighbors=2, word_vectors=vectors)
    (array([[0. , 1.5]]), array([[1, 2]]))
    """
    n_neighbors, squared = check_integer("n_neighbors", n_neighbors), check_cost(cost)
    pairs = pair_documents(X, Y, word_vectors, caller="wmd_neighbors")
    options = {"n_jobs": n_jobs, "verbose": verbose, "checkpoint": checkpoint}
    return neighbors_by_wmd(pairs, squared, n_neighbors, caller="wmd_neighbors", prune=prune, **options)


def pairwise_wmd(pairs: DocumentPairs, squared: bool, *, caller: str, **options: Any) -> Floats:
    """Compute all distances between documents that are ready for comparison; options as in `wmd`."""
    settings = {"squared": squared, "caller": caller}
    distances = pairwise_rows(pairs, _distance_rows, settings, name=caller, processes=True, **options)
    return distances + distances.T if pairs.same else distances


def neighbors_by_wmd(
    pairs: DocumentPairs, squared: bool, n_neighbors: int, *, caller: str, prune: bool = True, **options: Any
) -> tuple[Floats, NDArray[np.int64]]:
    """Search among documents that are ready for comparison; parameters as in `wmd_neighbors`."""
    n_rows, n_columns = pairs.shape
    k = max(min(n_neighbors, n_columns - pairs.same), 0)
    if n_rows == 0 or k == 0:
        return np.zeros((n_rows, k)), np.zeros((n_rows, k), dtype=np.int64)
    _ = pairs.right_centroids  # once, not in every process
    settings = {"squared": squared, "k": k, "prune": prune, "caller": caller}
    found = compute_rows(pairs, _neighbor_rows, settings, name="neighbors", processes=True, **options)
    return found["distances"], found["rows"]


def _distance_rows(pairs: DocumentPairs, start: int, stop: int, *, squared: bool, caller: str) -> dict[str, Floats]:
    """Compute some rows; of two equal sets only what lies right of the diagonal."""
    n_columns = pairs.shape[1]
    distances = np.zeros((stop - start, n_columns))
    for row in range(start, stop):
        columns = np.arange(row + 1 if pairs.same else 0, n_columns)
        distances[row - start, columns] = wmd_to(pairs, pairs.query(row, squared), columns, caller=caller)
    return {"distances": distances}


def _neighbor_rows(
    pairs: DocumentPairs, start: int, stop: int, *, squared: bool, k: int, prune: bool, caller: str
) -> dict[str, NDArray[Any]]:
    """Search for some documents on the left."""
    distances, rows = np.empty((stop - start, k)), np.empty((stop - start, k), dtype=np.int64)
    for row in range(start, stop):
        query, columns = pairs.query(row, squared), np.arange(pairs.shape[1])
        others = np.delete(columns, row) if pairs.same else columns
        if prune:
            found = _pruned(pairs, query, others, k, caller)
        else:
            found = _nearest(wmd_to(pairs, query, others, caller=caller), others, k)
        distances[row - start], rows[row - start] = found
    return {"distances": distances, "rows": rows}


def _pruned(
    pairs: DocumentPairs, query: Query, columns: NDArray[np.intp], k: int, caller: str
) -> tuple[Floats, NDArray[np.intp]]:
    """Compute exact distances in the order of the bounds, until no other document can be among the nearest.

    Three bounds, each closer and slower than the one before, are asked of fewer and fewer documents, since each exact
    distance may lower the bar for the rest.
    """
    centroids = centroid_bounds(pairs, slice(query.row, query.row + 1), query.squared)[0]
    bounds = np.maximum(np.maximum(*relaxed_bounds(pairs, query)), centroids)[columns]
    margin = _margin(pairs, query)
    order = np.argsort(bounds, kind="stable")
    bounds, columns = bounds[order], columns[order]
    near, rows = _nearest(wmd_to(pairs, query, columns[:k], caller=caller), columns[:k], k)

    def compare(some: NDArray[np.intp]) -> None:
        """Compare what the third bound leaves of some documents."""
        nonlocal near, rows
        lower = _dual_bounds(pairs, query, some)
        for place in np.argsort(lower, kind="stable"):
            if lower[place] > near[-1] + margin:
                break
            column = some[place : place + 1]
            distance = wmd_to(pairs, query, column, caller=caller)
            near, rows = _nearest(np.append(near, distance), np.append(rows, column), k)

    first = k + _FIRST
    compare(columns[k:first])
    left = columns[first : np.searchsorted(bounds, near[-1] + margin, side="right")]
    bounds = np.maximum(*constrained_bounds(pairs, query, left, iterations=_TRANSFERS))
    order = np.argsort(bounds, kind="stable")
    bounds, left = bounds[order], left[order]
    for start in range(0, left.size, _TOGETHER):
        if bounds[start] > near[-1] + margin:
            break
        compare(left[start : start + _TOGETHER])
    return near, rows


def _dual_bounds(pairs: DocumentPairs, query: Query, columns: NDArray[np.intp]) -> Floats:
    """Take feasible potentials of the dual problem; whatever they are, they give a lower bound."""
    right, lower = pairs.right[columns], np.empty(columns.size)
    dual_bounds(query.costs, query.masses, csr_arrays(right), _PENALTY, _ITERATIONS, lower)
    lower[~np.isfinite(lower)] = 0.0  # numbers out of range: nothing is known
    return lower


def _margin(pairs: DocumentPairs, query: Query) -> float:
    """Bound the rounding of bounds and distances: sums of so many terms, of costs and of coordinates."""
    n_terms = query.points.size + int(np.diff(pairs.right.indptr).max()) + pairs.points.shape[1]
    cost = float(query.costs.max(initial=0.0))
    shift = float(abs(pairs.points).max()) * pairs.points.shape[1] ** 0.5  # how far a centroid can be moved
    if query.squared:
        shift *= 2 * cost**0.5 + shift * _ROUNDING * n_terms
    return float(_ROUNDING * n_terms * (cost + shift))


def _nearest(distances: Floats, columns: NDArray[np.intp], k: int) -> tuple[Floats, NDArray[np.intp]]:
    """Sort by distance, then by number, and keep the first ones."""
    order = np.lexsort((columns, distances))[:k]
    return distances[order], columns[order]


def wmd_to(pairs: DocumentPairs, query: Query, columns: NDArray[np.intp], *, caller: str) -> Floats:
    """Compute the distances of one document to some on the right."""
    bounds, right = pairs.right.indptr, pairs.right
    own = (query.costs, query.points, query.masses)
    distances = np.empty(columns.size)
    for place, column in enumerate(columns):
        span = slice(bounds[column], bounds[column + 1])
        problem = transport_problem(*own, right.indices[span], right.data[span], not query.squared)
        distances[place] = transport_cost(*problem, caller=caller)
    return distances


def transport_cost(sources: Floats, targets: Floats, costs: Floats, *, caller: str) -> float:
    """Compute the least cost of moving masses from sources to targets; zero if there are none.

    Masses are positive and have the same total. Costs have the shape (n_sources, n_targets).

    Examples
    --------
    >>> transport_cost(np.array([0.5, 0.5]), np.array([0.75, 0.25]), np.array([[0.0, 1.0], [1.0, 0.0]]), caller="wmd")
    0.25
    """
    if not sources.size or not costs.any():
        return 0.0
    if sources.size == 1:
        return float(costs[0] @ targets)
    if targets.size == 1:
        return float(sources @ costs[:, 0])
    solver = require("ot", purpose=caller, extra="ot")
    exponent = int(np.frexp(costs.max())[1])
    scaled = np.ldexp(costs, -exponent)  # the solver's stopping test is absolute
    cost, log = solver.emd2(
        sources, targets, scaled, numItermax=_MOST_PIVOTS, log=True, center_dual=False, check_marginals=False
    )
    if log["warning"] is not None:
        raise ValueError(
            f"{caller} expects a transport problem that POT can solve, but for {sources.size} × {targets.size} words "
            f"it says: {log['warning']}"
        )
    return max(float(np.ldexp(cost, exponent)), 0.0)


@compiled
def transport_problem(
    table: Floats, query_points: Integers, query_masses: Floats, points: Integers, masses: Floats, shared_stays: bool
) -> tuple[Floats, Floats, Floats]:
    """Set up the transport between two documents, the same whichever of them is the query.

    The table, of shape (n_points, n_query_points), holds the costs from the query's points; points ascend.
    `shared_stays` says whether mass at a shared point stays there, which is optimal where the cost obeys the triangle
    inequality. Returned are the masses of sources and targets that have to move, none for equal documents, and the
    costs between them.
    """
    query_rest, rest, differ = _differences(query_points, query_masses, points, masses)
    if not differ:
        return np.empty(0), np.empty(0), np.empty((0, 0))
    if not shared_stays:
        query_rest, rest = query_masses, masses
    query_places, places = np.flatnonzero(query_rest > 0), np.flatnonzero(rest > 0)
    costs = np.empty((query_places.size, places.size))
    for target in range(places.size):
        row = table[points[places[target]]]
        for source in range(query_places.size):
            costs[source, target] = row[query_places[source]]
    if _comes_first(points[places], rest[places], query_points[query_places], query_rest[query_places]):
        return rest[places], query_rest[query_places], costs.T.copy()
    return query_rest[query_places], rest[places], costs


@inner
def _differences(
    query_points: Integers, query_masses: Floats, points: Integers, masses: Floats
) -> tuple[Floats, Floats, bool]:
    """Take away the mass that both documents have at a point; return whether anything is left."""
    query_rest, rest = query_masses.copy(), masses.copy()
    place, n_equal = 0, 0
    for query_place in range(query_points.size):
        while place < points.size and points[place] < query_points[query_place]:
            place += 1
        if place < points.size and points[place] == query_points[query_place]:
            excess = query_masses[query_place] - masses[place]
            if abs(excess) <= _SAME_MASS * masses[place]:
                excess = 0.0
                n_equal += 1
            query_rest[query_place] = max(excess, 0.0)
            rest[place] = max(-excess, 0.0)
    return query_rest, rest, not n_equal == query_points.size == points.size


@inner
def _comes_first(points: Integers, masses: Floats, other_points: Integers, other_masses: Floats) -> bool:
    """Decide which of two documents is the source, in whichever order they are given."""
    if points.size != other_points.size:
        return points.size < other_points.size
    for place in range(points.size):
        if points[place] != other_points[place]:
            return bool(points[place] < other_points[place])
    for place in range(points.size):
        if masses[place] != other_masses[place]:
            return bool(masses[place] < other_masses[place])
    return False
