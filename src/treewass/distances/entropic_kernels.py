"""Compiled loops of regularised transport between documents: bounds of exact transport, distances, gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.search.kernels.compiling import compiled, inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_gradients", "dual_bounds", "solve_pairs"]

_MOST_SCALE = 1e60


@compiled
def dual_bounds(
    table: NDArray[np.float64],
    query_masses: NDArray[np.float64],
    bounds: NDArray[np.int32],
    points: NDArray[np.int32],
    masses: NDArray[np.float64],
    share: float,
    max_iterations: int,
    lower: NDArray[np.float64],
) -> None:
    """Compute lower bounds of exact transport: potentials of regularised transport, made feasible.

    Parameters
    ----------
    table : ndarray of shape (n_points, n_query_points)
        Costs from the query's points.
    query_masses : ndarray of shape (n_query_points,)
        The query.
    bounds, points, masses : ndarray
        The documents, as the arrays of a CSR matrix.
    share : float
        Penalty, as a share of the mean cost.
    max_iterations : int
        Most iterations.
    lower : ndarray of shape (n_documents,)
        Written.
    """
    for document in range(bounds.size - 1):
        start, stop = bounds[document], bounds[document + 1]
        costs = np.empty((stop - start, query_masses.size))
        for place in range(stop - start):
            costs[place] = table[points[start + place]]
        potentials, query_potentials = np.empty(stop - start), np.empty(query_masses.size)
        regularisation = max(share * costs.mean(), 1e-300)
        _solve(
            costs,
            masses[start:stop],
            query_masses,
            regularisation,
            share,
            max_iterations,
            potentials,
            query_potentials,
        )
        total = 0.0
        for place in range(stop - start):
            total += masses[start + place] * potentials[place]
        for query_place in range(query_masses.size):
            total += query_masses[query_place] * (costs[:, query_place] - potentials).min()
        lower[document] = total


@compiled
def solve_pairs(
    points: NDArray[np.float64],
    bounds: NDArray[np.int32],
    words: NDArray[np.int32],
    masses: NDArray[np.float64],
    query: int,
    others: NDArray[np.int64],
    regularisation: float,
    tolerance: float,
    max_iterations: int,
    distances: NDArray[np.float64],
    query_potentials: NDArray[np.float64],
    other_potentials: NDArray[np.float64],
) -> None:
    """Solve the regularised transport between one document and others: distances and dual potentials.

    Parameters
    ----------
    points : ndarray of shape (n_words, n_components)
        Where the words stand.
    bounds, words, masses : ndarray
        All documents, as the arrays of a CSR matrix whose rows sum to one.
    query, others : int, ndarray of int64
        The documents to compare.
    regularisation, tolerance, max_iterations : float, float, int
        Penalty, mass that may be in the wrong place at the end, and most iterations.
    distances : ndarray of shape (n_others,)
        Written.
    query_potentials, other_potentials : ndarray of shape (n_others, at least the words of a document)
        Written.
    """
    start, stop = bounds[query], bounds[query + 1]
    for place in range(others.size):
        first, last = bounds[others[place]], bounds[others[place] + 1]
        costs = _squared_distances(points, words[start:stop], words[first:last])
        distances[place] = _solve(
            costs,
            masses[start:stop],
            masses[first:last],
            regularisation,
            tolerance,
            max_iterations,
            query_potentials[place, : stop - start],
            other_potentials[place, : last - first],
        )


@compiled
def add_gradients(
    points: NDArray[np.float64],
    bounds: NDArray[np.int32],
    words: NDArray[np.int32],
    masses: NDArray[np.float64],
    query: int,
    others: NDArray[np.int64],
    regularisation: float,
    factors: NDArray[np.float64],
    query_potentials: NDArray[np.float64],
    other_potentials: NDArray[np.float64],
    point_gradient: NDArray[np.float64],
    weight_gradient: NDArray[np.float64],
) -> None:
    """Add up the gradients of distances, each times a factor.

    Parameters
    ----------
    points, bounds, words, masses, query, others, regularisation, query_potentials, other_potentials
        As in `solve_pairs`.
    factors : ndarray of shape (n_others,)
        Derivative of the loss by each distance; distances with a factor of zero are passed over.
    point_gradient : ndarray of shape (n_words, n_components)
        Added to: the derivative by the points.
    weight_gradient : ndarray of shape (n_words,)
        Added to: the derivative by the logarithms of the words' weights.
    """
    start, stop = bounds[query], bounds[query + 1]
    for place in range(others.size):
        if factors[place] == 0.0:
            continue
        first, last = bounds[others[place]], bounds[others[place] + 1]
        plan = _squared_distances(points, words[start:stop], words[first:last])
        for source in range(stop - start):
            for target in range(last - first):
                exponent = query_potentials[place, source] + other_potentials[place, target] - plan[source, target]
                plan[source, target] = (
                    masses[start + source] * masses[first + target] * np.exp(exponent / regularisation)
                )
        _add_points(points, words[start:stop], words[first:last], plan, factors[place], point_gradient)
        _add_weights(words[start:stop], masses[start:stop], query_potentials[place], factors[place], weight_gradient)
        _add_weights(words[first:last], masses[first:last], other_potentials[place], factors[place], weight_gradient)


@inner
def _squared_distances(
    points: NDArray[np.float64], rows: NDArray[np.int32], columns: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Compute the squared distances between the points of two documents."""
    across = np.empty((points.shape[1], columns.size))
    for column in range(columns.size):
        for component in range(points.shape[1]):
            across[component, column] = points[columns[column], component]
    costs = np.zeros((rows.size, columns.size))
    for row in range(rows.size):
        for component in range(points.shape[1]):
            here = points[rows[row], component]
            for column in range(columns.size):
                costs[row, column] += (here - across[component, column]) ** 2
    return costs


@inner
def _solve(
    costs: NDArray[np.float64],
    sources: NDArray[np.float64],
    targets: NDArray[np.float64],
    regularisation: float,
    tolerance: float,
    max_iterations: int,
    potentials: NDArray[np.float64],
    other_potentials: NDArray[np.float64],
) -> float:
    """Write the dual potentials of one problem and return its value."""
    _start_potentials(costs, potentials, other_potentials)
    kernel = np.empty(costs.shape)
    turned = np.empty((costs.shape[1], costs.shape[0]))
    scales, other_scales = np.ones(sources.size), np.ones(targets.size)
    fill = True
    for _ in range(max_iterations):
        if fill:
            _absorb(costs, sources, targets, regularisation, potentials, other_potentials, scales, other_scales, kernel)
            turned[:] = kernel.T
        sums = _weighted_rows(turned, other_scales * targets)
        scales = 1.0 / sums
        sums = _weighted_rows(kernel, scales * sources)
        astray = 0.0
        for target in range(targets.size):
            astray += abs(other_scales[target] * sums[target] - 1.0) * targets[target]
        other_scales = 1.0 / sums
        if astray <= tolerance:
            break
        fill = max(scales.max(), other_scales.max()) > _MOST_SCALE
    value = 0.0
    for source in range(sources.size):
        potentials[source] += regularisation * np.log(scales[source])
        value += sources[source] * potentials[source]
    for target in range(targets.size):
        other_potentials[target] += regularisation * np.log(other_scales[target])
        value += targets[target] * other_potentials[target]
    return value


@inner
def _start_potentials(
    costs: NDArray[np.float64], potentials: NDArray[np.float64], other_potentials: NDArray[np.float64]
) -> None:
    """Begin with potentials that leave a zero among the reduced costs of each source and each target."""
    for target in range(costs.shape[1]):
        other_potentials[target] = costs[:, target].min()
    for source in range(costs.shape[0]):
        potentials[source] = (costs[source] - other_potentials[: costs.shape[1]]).min()


@inner
def _absorb(
    costs: NDArray[np.float64],
    sources: NDArray[np.float64],
    targets: NDArray[np.float64],
    regularisation: float,
    potentials: NDArray[np.float64],
    other_potentials: NDArray[np.float64],
    scales: NDArray[np.float64],
    other_scales: NDArray[np.float64],
    kernel: NDArray[np.float64],
) -> None:
    """Move scales into the potentials, so that no number grows out of range, and compute the kernel anew."""
    for source in range(sources.size):
        potentials[source] += regularisation * np.log(scales[source])
        scales[source] = 1.0
    for target in range(targets.size):
        other_potentials[target] += regularisation * np.log(other_scales[target])
        other_scales[target] = 1.0
    for source in range(sources.size):
        for target in range(targets.size):
            reduced = costs[source, target] - potentials[source] - other_potentials[target]
            kernel[source, target] = np.exp(-reduced / regularisation)


@inner
def _weighted_rows(matrix: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up the rows of a matrix, each times a weight."""
    total = np.zeros(matrix.shape[1])
    for row in range(matrix.shape[0]):
        weight = weights[row]
        values = matrix[row]
        for column in range(total.size):
            total[column] += weight * values[column]
    return total


@inner
def _add_points(
    points: NDArray[np.float64],
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    plan: NDArray[np.float64],
    factor: float,
    gradient: NDArray[np.float64],
) -> None:
    """Add the derivative of the plan's cost by the points, times a factor."""
    for row in range(rows.size):
        for column in range(columns.size):
            pull = 2.0 * factor * plan[row, column]
            if pull != 0.0:
                for component in range(points.shape[1]):
                    change = pull * (points[rows[row], component] - points[columns[column], component])
                    gradient[rows[row], component] += change
                    gradient[columns[column], component] -= change


@inner
def _add_weights(
    words: NDArray[np.int32],
    masses: NDArray[np.float64],
    potentials: NDArray[np.float64],
    factor: float,
    gradient: NDArray[np.float64],
) -> None:
    """Add the derivative by the logarithms of the weights, whose product with the counts is brought to mass one."""
    mean = 0.0
    for place in range(words.size):
        mean += masses[place] * potentials[place]
    for place in range(words.size):
        gradient[words[place]] += factor * masses[place] * (potentials[place] - mean)
