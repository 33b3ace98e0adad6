"""Lower bounds of the word mover's distance: between centroids, relaxed, and by constrained transfers (ACT)."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.arguments import check_choice, check_integer
from treewass.compute.compiling import compiled, inner
from treewass.distances.document_pairs import (
    DocumentPairs,
    Documents,
    Floats,
    Integers,
    Query,
    check_cost,
    csr_arrays,
    fill_costs,
    pair_documents,
    pairwise_rows,
)

__all__ = ["act", "centroid_bounds", "centroid_distance", "constrained_bounds", "relaxed_bounds", "rwmd"]

Bounds = tuple[Floats, Floats]  # from one document to others, and from these to it

_DIRECTIONS = ("max", "forward", "backward")


def centroid_distance(X: Any, Y: Any = None, *, word_vectors: Any, cost: str = "euclidean") -> NDArray[np.float64]:
    """Compute the distance between the mean word vectors of documents, a lower bound of `wmd` [1]_.

    Parameters
    ----------
    X, Y, word_vectors, cost
        As in `wmd`.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Symmetric where `Y` is `X`. Zero for documents whose histograms have the same bits; up to rounding for other
        equal documents.

    References
    ----------
    .. [1] Kusner, Sun, Kolkin and Weinberger, From word embeddings to document distances, ICML 2015.

    Examples
    --------
    >>> centroid_distance([[1, 1, 0]], [[0, 1, 1]], word_vectors=[[0.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    array([[1.]])
    """
    squared = check_cost(cost)
    return centroid_bounds(pair_documents(X, Y, word_vectors, caller="centroid_distance"), slice(None), squared)


def rwmd(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    cost: str = "euclidean",
    direction: str = "max",
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    r"""Compute the relaxed word mover's distance, a lower bound of `wmd` [1]_.

    Each word moves to the nearest word of the other document, however much mass that word already holds:

    .. math:: \sum_i a_i \min_j c(x_i, y_j)

    It takes one table of costs for each document of `X`, and one pass over the documents of `Y`.

    Parameters
    ----------
    X, Y, word_vectors, cost, verbose, checkpoint
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
    options = {"n_jobs": n_jobs, "verbose": verbose, "checkpoint": checkpoint}
    return _directed("rwmd", relaxed_bounds, (X, Y, word_vectors), cost, direction, options)


def act(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    iterations: int = 1,
    cost: str = "euclidean",
    direction: str = "max",
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Compute the ACT distance, a lower bound of `wmd` that grows with the number of iterations [1]_.

    Each word sends its mass to the words of the other document, the nearest first. In each iteration it sends one of
    them at most the mass that this word holds. What is left after the last iteration goes to the next nearest word.
    Without iterations this is `rwmd`.

    Parameters
    ----------
    X, Y, word_vectors, cost, verbose, checkpoint
        As in `wmd`.
    iterations : int, default=1
        Transfers with a limit, for each word.
    direction : {"max", "forward", "backward"}, default="max"
        From `X` to `Y`, from `Y` to `X`, or the larger of the two, which alone is symmetric.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Zero for documents whose histograms have the same bits, and up to rounding for others that are equal.

    References
    ----------
    .. [1] Atasu and Mittelholzer, Linear-complexity data-parallel earth mover's distance approximations, ICML 2019.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> [float(act([[1, 1, 0]], [[0, 1, 3]], word_vectors=vectors, iterations=k)[0, 0]) for k in range(3)]
    [3.0, 3.25, 3.25]
    """
    iterations = check_integer("iterations", iterations, 0)
    options = {"n_jobs": n_jobs, "verbose": verbose, "checkpoint": checkpoint}
    documents = (X, Y, word_vectors)
    return _directed("act", constrained_bounds, documents, cost, direction, options, iterations=iterations)


def centroid_bounds(pairs: DocumentPairs, rows: slice, squared: bool) -> NDArray[np.float64]:
    """Compute the distances from the centroids of some documents on the left to those of all on the right."""
    left = pairs.left_centroids[rows]
    distances = np.empty((pairs.shape[1], len(left)))
    fill_costs(pairs.right_centroids, np.ascontiguousarray(left.T), squared, distances)
    return distances.T.copy()


def relaxed_bounds(pairs: DocumentPairs, query: Query) -> Bounds:
    """Compute the relaxed distances from one document to all on the right, and from these to it."""
    forward, backward = np.empty(pairs.shape[1]), np.empty(pairs.shape[1])
    _relaxed_costs(query.costs, query.masses, csr_arrays(pairs.right), forward, backward)
    return forward, backward


def constrained_bounds(
    pairs: DocumentPairs, query: Query, columns: NDArray[np.intp] | None = None, *, iterations: int
) -> Bounds:
    """Compute the ACT distances from one document to some on the right (None for all), and from these to it."""
    right = pairs.right if columns is None else pairs.right[columns]
    forward, backward = np.empty(right.shape[0]), np.empty(right.shape[0])
    most = min(iterations, len(pairs.points) - 1)
    _constrained_costs(query.costs, query.masses, csr_arrays(right), most, forward, backward)
    return forward, backward


def _directed(
    name: str,
    bounds: Callable[..., Bounds],
    documents: tuple[Any, Any, Any],
    cost: str,
    direction: str,
    options: dict[str, Any],
    **settings: Any,
) -> Floats:
    """Compute all distances by a function that returns those in both directions, and take the direction asked for."""
    chosen = {"squared": check_cost(cost), "direction": check_choice("direction", direction, _DIRECTIONS)}
    pairs = pair_documents(*documents, caller=name)
    return pairwise_rows(pairs, partial(_directed_rows, bounds), {**chosen, **settings}, name=name, **options)


def _directed_rows(
    bounds: Callable[..., Bounds],
    pairs: DocumentPairs,
    start: int,
    stop: int,
    *,
    squared: bool,
    direction: str,
    **settings: Any,
) -> dict[str, Floats]:
    """Do the same for some rows."""
    distances = np.empty((stop - start, pairs.shape[1]))
    for row in range(start, stop):
        forward, backward = bounds(pairs, pairs.query(row, squared), **settings)
        largest = np.maximum(forward, backward)
        distances[row - start] = {"max": largest, "forward": forward, "backward": backward}[direction]
    return {"distances": distances}


@compiled
def _relaxed_costs(
    table: Floats, query_masses: Floats, documents: Documents, forward: Floats, backward: Floats
) -> None:
    """Move each word to the nearest word of the other document, in both directions.

    The table, of shape (n_points, n_query_points), holds the costs from the query's points. Written are the costs from
    the query to each document, and from each document to the query.
    """
    bounds, points, masses = documents
    nearest_query = np.empty(table.shape[0])
    for point in range(table.shape[0]):
        nearest_query[point] = table[point].min()
    nearest = np.empty(query_masses.size)
    for document in range(bounds.size - 1):
        nearest[:] = np.inf
        total = 0.0
        for place in range(bounds[document], bounds[document + 1]):
            total += masses[place] * nearest_query[points[place]]
            row = table[points[place]]
            for query_place in range(nearest.size):
                cost = row[query_place]
                nearest[query_place] = cost if cost < nearest[query_place] else nearest[query_place]
        backward[document] = total
        total = 0.0
        for query_place in range(nearest.size):
            total += query_masses[query_place] * nearest[query_place]
        forward[document] = total


@compiled
def _constrained_costs(
    table: Floats, query_masses: Floats, documents: Documents, iterations: int, forward: Floats, backward: Floats
) -> None:
    """Move each word to its nearest words, in both directions, as `_relaxed_costs` does to the nearest alone.

    To as many of them as there are iterations it moves no more than these hold, the rest to the next.
    """
    bounds, points, masses = documents
    n_query = query_masses.size
    kept = min(iterations, n_query - 1) + 1
    query_order = np.empty((table.shape[0], kept), np.int64)
    query_costs = np.empty((table.shape[0], kept))
    for point in range(table.shape[0]):
        _select(table[point], query_costs[point], query_order[point])
    costs, order = np.empty(iterations + 1), np.empty(iterations + 1, np.int64)
    longest = 0
    for document in range(bounds.size - 1):
        longest = max(longest, bounds[document + 1] - bounds[document])
    own = np.empty((n_query, longest))  # the costs of one document, so that they lie together
    for document in range(bounds.size - 1):
        start, stop = bounds[document], bounds[document + 1]
        total = 0.0
        for place in range(start, stop):
            total += _moved(query_costs[points[place]], query_order[points[place]], query_masses, masses[place])
            for query_place in range(n_query):
                own[query_place, place - start] = table[points[place], query_place]
        backward[document] = total
        most = min(iterations, stop - start - 1) + 1
        nearest, places, room = costs[:most], order[:most], masses[start:stop]
        total = 0.0
        for query_place in range(n_query):
            _select(own[query_place, : stop - start], nearest, places)
            total += _moved(nearest, places, room, query_masses[query_place])
        forward[document] = total


@inner
def _select(values: Floats, smallest: Floats, order: Integers) -> None:
    """Write the smallest values and their places, ascending; of equal ones the first comes first."""
    last = smallest.size - 1
    for item in range(values.size):
        value = values[item]
        if item > last and value >= smallest[last]:
            continue
        place = min(item, last)
        while place > 0 and smallest[place - 1] > value:
            smallest[place] = smallest[place - 1]
            order[place] = order[place - 1]
            place -= 1
        smallest[place] = value
        order[place] = item


@inner
def _moved(costs: Floats, order: Integers, room: Floats, mass: float) -> float:
    """Move a mass to the items in order, each as far as it has room, the rest to the last; return the cost."""
    total: float = 0.0
    for place in range(costs.size - 1):
        part = min(mass, room[order[place]])
        total += part * costs[place]
        mass -= part
        if mass <= 0.0:
            return float(total)
    return float(total + mass * costs[costs.size - 1])
