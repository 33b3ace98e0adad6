"""Compiled loops of the refinement; imported on first use, since importing numba takes a moment.

A batch of documents is embedded as dense rows, one per internal node, and as postings, one list of documents per
word. Distances come from |x − y| on the rows and |x| + |y| − 2 min(x, y) on the postings, so that a word costs the
square of the number of documents it is in, and no more.

Sums are written out as loops. Expressions over whole arrays would be shorter, but numba compiles its own NumPy
functions for them, which takes five times as long.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import compiled

__all__ = ["dense_distances", "dense_gradient", "posting_distances", "posting_gradient", "soft_loss"]

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]


@partial(compiled, fastmath=True)
def dense_distances(rows: Floats, distances: Floats) -> None:
    """Add the L1 distance between the columns of `rows` to the upper triangle of `distances`."""
    n_documents = rows.shape[1]
    for first in range(n_documents):
        line = distances[first, first + 1 :]  # stays in the fastest memory while the rows go by
        for row in range(rows.shape[0]):
            value, others = rows[row, first], rows[row, first + 1 :]
            for second in range(line.size):  # from zero: no index can be negative, so that this is one vector loop
                line[second] += abs(value - others[second])


@compiled
def posting_distances(bounds: Integers, documents: Integers, values: Floats, distances: Floats) -> None:
    """Add the L1 distance over the postings to the upper triangle of `distances`; documents ascend in each list."""
    n_documents = distances.shape[0]
    norms = np.zeros(n_documents, distances.dtype)
    for entry in range(documents.size):
        norms[documents[entry]] += values[entry]
    for first in range(n_documents):
        for second in range(first + 1, n_documents):
            distances[first, second] += norms[first] + norms[second]
    for word in range(bounds.size - 1):
        for one in range(bounds[word], bounds[word + 1]):
            line = distances[documents[one]]
            for other in range(one + 1, bounds[word + 1]):
                line[documents[other]] -= 2 * min(values[one], values[other])


@partial(compiled, error_model="numpy")
def soft_loss(
    distances: Floats, labels: Integers, groups: Integers, weights: Floats, scale: float
) -> tuple[float, float]:
    """Compute the leave-one-out loss, and turn the upper triangle of `distances` into the gradient by distance.

    Documents of one group, equal in content, are not neighbours of each other. A document without a neighbour of
    its class adds nothing to the loss.

    Returns the loss and its derivative by the logarithm of the scale.
    """
    n_documents = distances.shape[0]
    for first in range(n_documents):
        for second in range(first + 1, n_documents):
            distances[second, first] = distances[first, second]
    total_weight = weights.dtype.type(0)
    for document in range(n_documents):
        total_weight += weights[document]
    shares, own_shares = np.empty(n_documents), np.empty(n_documents)
    total, slope = 0.0, 0.0
    for document in range(n_documents):
        share = weights[document] / total_weight
        one, other = _soft_row(distances, document, labels, groups, weights, scale, share, shares, own_shares)
        total += share * one
        slope += share * other
    for first in range(n_documents):
        for second in range(first + 1, n_documents):
            distances[first, second] += distances[second, first]
            distances[second, first] = distances[first, second]
    return total, slope


@partial(compiled, error_model="numpy")
def _soft_row(
    distances: Floats,
    document: int,
    labels: Integers,
    groups: Integers,
    weights: Floats,
    scale: float,
    share: float,
    shares: Floats,
    own_shares: Floats,
) -> tuple[float, float]:
    """Compute one document's loss and slope, and turn its row of distances into the gradient times its share."""
    n_documents, group, label = distances.shape[0], groups[document], labels[document]
    nearest = nearest_own = distances.dtype.type(np.inf)  # taken off, so that no exponential is too small
    for other in range(n_documents):
        if groups[other] != group:
            nearest = min(nearest, distances[document, other])
            if labels[other] == label:
                nearest_own = min(nearest_own, distances[document, other])
    if nearest_own == np.inf:
        for other in range(n_documents):
            distances[document, other] = 0
        return 0.0, 0.0
    sum_all, sum_own = 0.0, 0.0
    for other in range(n_documents):
        shares[other] = own_shares[other] = 0.0
        if groups[other] != group:
            distance = distances[document, other]
            shares[other] = weights[other] * np.exp(scale * (nearest - distance))
            if labels[other] == label:
                own_shares[other] = weights[other] * np.exp(scale * (nearest_own - distance))
        sum_all += shares[other]
        sum_own += own_shares[other]
    slope = 0.0
    for other in range(n_documents):
        change = own_shares[other] / sum_own - shares[other] / sum_all
        slope += change * distances[document, other]
        distances[document, other] = scale * change
        distances[document, other] *= share
    return np.log(sum_all) - np.log(sum_own) + scale * (nearest_own - nearest), scale * slope


@partial(compiled, fastmath=True)
def dense_gradient(rows: Floats, pairs: Floats) -> NDArray[np.floating]:
    """Compute the loss's gradient by every entry of `rows`, from that by every distance."""
    n_documents = rows.shape[1]
    gradient = np.empty_like(rows)
    zero, one = rows.dtype.type(0), rows.dtype.type(1)
    for row in range(rows.shape[0]):
        values = rows[row]
        for first in range(n_documents):
            value = values[first]
            line = pairs[first]
            total = zero
            for second in range(n_documents):
                difference = value - values[second]
                sign = (one if difference > 0 else zero) - (one if difference < 0 else zero)
                total += line[second] * sign
            gradient[row, first] = total
    return gradient


@compiled
def posting_gradient(bounds: Integers, documents: Integers, values: Floats, pairs: Floats) -> NDArray[np.floating]:
    """Compute the loss's gradient by every posting, from that by every distance."""
    n_documents = pairs.shape[0]
    sums, gradient = np.zeros(n_documents, values.dtype), np.empty_like(values)
    for first in range(n_documents):
        for second in range(n_documents):
            sums[first] += pairs[first, second]
    for word in range(bounds.size - 1):
        for one in range(bounds[word], bounds[word + 1]):
            gradient[one] = sums[documents[one]]
        for one in range(bounds[word], bounds[word + 1]):
            line = pairs[documents[one]]
            for other in range(one + 1, bounds[word + 1]):
                change = line[documents[other]]
                if values[one] > values[other]:
                    gradient[other] -= 2 * change
                elif values[one] < values[other]:
                    gradient[one] -= 2 * change
                else:
                    gradient[one] -= change
                    gradient[other] -= change
    return gradient
