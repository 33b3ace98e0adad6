"""Compiled loops of regularised transport between documents: bounds of exact transport, distances, gradients."""

from __future__ import annotations

import numpy as np

from treewass.compute.compiling import compiled, inner
from treewass.distances.document_pairs import Documents, Floats, Integers

__all__ = ["PlacedDocuments", "add_gradients", "dual_bounds", "solve_pairs"]

PlacedDocuments = tuple[Floats, Integers, Integers, Floats]  # the points of all words, and the documents
Pair = tuple[Floats, Floats]  # of the sources and of the targets
Settings = tuple[float, float, int]  # penalty, mass that may be in the wrong place at the end, most iterations

_MOST_SCALE = 1e60


@compiled
def dual_bounds(
    table: Floats, query_masses: Floats, documents: Documents, share: float, max_iter: int, lower: Floats
) -> None:
    """Write lower bounds of exact transport between a query and documents: dual potentials, made feasible.

    The table, of shape (n_points, n_query_points), holds the costs from the query's points. The penalty of the
    regularised transport that gives the potentials is a share of the mean cost.
    """
    bounds, points, masses = documents
    for document in range(bounds.size - 1):
        start, stop = bounds[document], bounds[document + 1]
        costs = np.empty((stop - start, query_masses.size))
        for place in range(stop - start):
            costs[place] = table[points[start + place]]
        potentials, query_potentials = np.empty(stop - start), np.empty(query_masses.size)
        settings = max(share * costs.mean(), 1e-300), share, max_iter
        _solve(costs, (masses[start:stop], query_masses), settings, (potentials, query_potentials))
        total = 0.0
        for place in range(stop - start):
            total += masses[start + place] * potentials[place]
        for query_place in range(query_masses.size):
            total += query_masses[query_place] * (costs[:, query_place] - potentials).min()
        lower[document] = total


@compiled
def solve_pairs(
    documents: PlacedDocuments, query: int, others: Integers, settings: Settings, distances: Floats, potentials: Floats
) -> None:
    """Solve the regularised transport between one document and others: write distances and dual potentials.

    Points have the shape (n_words, n_components), and documents have mass one. Potentials have the shape (2, n_others,
    at least the words of a document): those of the query and those of the other document.
    """
    points, bounds, words, masses = documents
    start, stop = bounds[query], bounds[query + 1]
    for place in range(others.size):
        first, last = bounds[others[place]], bounds[others[place] + 1]
        costs = _squared_distances(points, words[start:stop], words[first:last])
        found = potentials[0, place, : stop - start], potentials[1, place, : last - first]
        distances[place] = _solve(costs, (masses[start:stop], masses[first:last]), settings, found)


@compiled
def add_gradients(
    documents: PlacedDocuments,
    query: int,
    others: Integers,
    regularization: float,
    factors: Floats,
    potentials: Floats,
    gradients: tuple[Floats, Floats],
) -> None:
    """Add up the gradients of distances, each times a factor: the derivative of the loss by that distance.

    The other arguments are those of `solve_pairs`. The gradients are by the points, of shape (n_words, n_components),
    and by the logarithms of the words' weights, of shape (n_words,).
    """
    point_gradient, weight_gradient = gradients
    points, bounds, words, masses = documents
    start, stop = bounds[query], bounds[query + 1]
    for place in range(others.size):
        if factors[place] == 0.0:
            continue
        first, last = bounds[others[place]], bounds[others[place] + 1]
        own, its = potentials[0, place], potentials[1, place]
        plan = _squared_distances(points, words[start:stop], words[first:last])
        for source in range(stop - start):
            for target in range(last - first):
                exponent = own[source] + its[target] - plan[source, target]
                plan[source, target] = (
                    masses[start + source] * masses[first + target] * np.exp(exponent / regularization)
                )
        _add_points(points, words[start:stop], words[first:last], plan, factors[place], point_gradient)
        _add_weights(words[start:stop], masses[start:stop], own, factors[place], weight_gradient)
        _add_weights(words[first:last], masses[first:last], its, factors[place], weight_gradient)


@inner
def _squared_distances(points: Floats, rows: Integers, columns: Integers) -> Floats:
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
def _solve(costs: Floats, masses: Pair, settings: Settings, potentials: Pair) -> float:
    """Write the dual potentials of one problem and return its value."""
    sources, targets = masses
    regularization, tolerance, max_iter = settings
    _start_potentials(costs, potentials)
    kernel = np.empty(costs.shape)
    turned = np.empty((costs.shape[1], costs.shape[0]))
    scales, other_scales = np.ones(sources.size), np.ones(targets.size)
    fill = True
    for _ in range(max_iter):
        if fill:
            _absorb(regularization, potentials, (scales, other_scales))
            scales[:] = 1.0
            other_scales[:] = 1.0
            _fill_kernel(costs, regularization, potentials, kernel)
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
    _absorb(regularization, potentials, (scales, other_scales))
    value = 0.0
    for source in range(sources.size):
        value += sources[source] * potentials[0][source]
    for target in range(targets.size):
        value += targets[target] * potentials[1][target]
    return value


@inner
def _start_potentials(costs: Floats, potentials: Pair) -> None:
    """Begin with potentials that leave a zero among the reduced costs of each source and each target."""
    own, other = potentials
    for target in range(costs.shape[1]):
        other[target] = costs[:, target].min()
    for source in range(costs.shape[0]):
        own[source] = (costs[source] - other[: costs.shape[1]]).min()


@inner
def _absorb(regularization: float, potentials: Pair, scales: Pair) -> None:
    """Add the logarithms of scales to the potentials, so that no number grows out of range."""
    for source in range(scales[0].size):
        potentials[0][source] += regularization * np.log(scales[0][source])
    for target in range(scales[1].size):
        potentials[1][target] += regularization * np.log(scales[1][target])


@inner
def _fill_kernel(costs: Floats, regularization: float, potentials: Pair, kernel: Floats) -> None:
    """Write the plan that potentials give, without its masses."""
    for source in range(costs.shape[0]):
        for target in range(costs.shape[1]):
            reduced = costs[source, target] - potentials[0][source] - potentials[1][target]
            kernel[source, target] = np.exp(-reduced / regularization)


@inner
def _weighted_rows(matrix: Floats, weights: Floats) -> Floats:
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
    points: Floats, rows: Integers, columns: Integers, plan: Floats, factor: float, gradient: Floats
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
def _add_weights(words: Integers, masses: Floats, potentials: Floats, factor: float, gradient: Floats) -> None:
    """Add the derivative by the logarithms of the weights, whose product with the counts is brought to mass one."""
    mean = 0.0
    for place in range(words.size):
        mean += masses[place] * potentials[place]
    for place in range(words.size):
        gradient[words[place]] += factor * masses[place] * (potentials[place] - mean)
