"""Compiled loops that fill tables of ground costs, and cut the transport problem of two documents out of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.search.kernels.compiling import compiled, inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fill_costs", "transport_problem"]

_SAME_MASS = 16 * 2.0**-52  # masses that differ by less, relatively, differ by rounding alone


@compiled
def fill_costs(
    points: NDArray[np.float64], others: NDArray[np.float64], squared: bool, costs: NDArray[np.float64]
) -> None:
    """Write the cost between each point and each of some others.

    Squared differences are added up in the order of the dimensions, so that a cost does not depend on what else is
    in the table, is the same both ways, and is zero for two equal points.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
        Coordinates.
    others : ndarray of shape (n_dimensions, n_others)
        Coordinates, transposed.
    squared : bool
        Squared Euclidean distance instead of the distance.
    costs : ndarray of shape (n_points, n_others)
        Written.
    """
    n_dimensions = points.shape[1]
    for point in range(points.shape[0]):
        row = costs[point]
        row[:] = 0.0
        for start in range(0, n_dimensions - 3, 4):  # four at a time, so that the row is loaded less often
            first, second = points[point, start], points[point, start + 1]
            third, fourth = points[point, start + 2], points[point, start + 3]
            for other in range(row.size):
                total = row[other] + (first - others[start, other]) ** 2
                total += (second - others[start + 1, other]) ** 2
                total += (third - others[start + 2, other]) ** 2
                row[other] = total + (fourth - others[start + 3, other]) ** 2
        for dimension in range(n_dimensions - n_dimensions % 4, n_dimensions):
            for other in range(row.size):
                row[other] += (points[point, dimension] - others[dimension, other]) ** 2
        if not squared:
            for other in range(row.size):
                row[other] = np.sqrt(row[other])


@compiled
def transport_problem(
    table: NDArray[np.float64],
    query_points: NDArray[np.int32],
    query_masses: NDArray[np.float64],
    points: NDArray[np.int32],
    masses: NDArray[np.float64],
    shared_stays: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Set up the transport between two documents, the same whichever of them is the query.

    Parameters
    ----------
    table : ndarray of shape (n_points, n_query_points)
        Costs from the query's points.
    query_points, points : ndarray of int32
        The points of the query and of the document, ascending.
    query_masses, masses : ndarray of float64
        Their masses.
    shared_stays : bool
        Whether mass at a shared point stays there, which is optimal where the cost obeys the triangle inequality.

    Returns
    -------
    sources, targets : ndarray of float64
        Masses that have to move; both are empty for equal documents.
    costs : ndarray of shape (n_sources, n_targets)
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
    query_points: NDArray[np.int32],
    query_masses: NDArray[np.float64],
    points: NDArray[np.int32],
    masses: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Take away the mass that both documents have at a point; tell whether anything is left."""
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
def _comes_first(
    points: NDArray[np.int32],
    masses: NDArray[np.float64],
    other_points: NDArray[np.int32],
    other_masses: NDArray[np.float64],
) -> bool:
    """Tell which of two documents is the source, whatever the order in which they are given."""
    if points.size != other_points.size:
        return points.size < other_points.size
    for place in range(points.size):
        if points[place] != other_points[place]:
            return bool(points[place] < other_points[place])
    for place in range(points.size):
        if masses[place] != other_masses[place]:
            return bool(masses[place] < other_masses[place])
    return False
