"""Compiled loops for the relaxed distances: one pass over the documents, given a query's table of costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.search.kernels.compiling import compiled, inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["constrained_costs", "relaxed_costs"]


@compiled
def relaxed_costs(
    table: NDArray[np.float64],
    query_masses: NDArray[np.float64],
    bounds: NDArray[np.int32],
    points: NDArray[np.int32],
    masses: NDArray[np.float64],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
) -> None:
    """Move each word to the nearest word of the other document, in both directions.

    Parameters
    ----------
    table : ndarray of shape (n_points, n_query_points)
        Costs from the query's points.
    query_masses : ndarray of shape (n_query_points,)
        The query.
    bounds, points, masses : ndarray
        The documents, as the arrays of a CSR matrix.
    forward, backward : ndarray of shape (n_documents,)
        Written: the cost from the query to each document, and from the document to the query.
    """
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
def constrained_costs(
    table: NDArray[np.float64],
    query_masses: NDArray[np.float64],
    bounds: NDArray[np.int32],
    points: NDArray[np.int32],
    masses: NDArray[np.float64],
    iterations: int,
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
) -> None:
    """Move each word to its nearest words, to all but the last no more than these hold, in both directions.

    Parameters
    ----------
    table, query_masses, bounds, points, masses, forward, backward
        As in `relaxed_costs`.
    iterations : int
        To how many of the nearest words a limit applies.
    """
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
def _select(values: NDArray[np.float64], smallest: NDArray[np.float64], order: NDArray[np.int64]) -> None:
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
def _moved(costs: NDArray[np.float64], order: NDArray[np.int64], room: NDArray[np.float64], mass: float) -> float:
    """Move a mass to the items in order, each as far as it has room, the rest to the last; return the cost."""
    total: float = 0.0
    for place in range(costs.size - 1):
        part = min(mass, room[order[place]])
        total += part * costs[place]
        mass -= part
        if mass <= 0.0:
            return float(total)
    return float(total + mass * costs[costs.size - 1])
