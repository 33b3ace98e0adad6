"""Compiled loops of the refinement; imported on first use, since importing numba takes a moment.

A batch of documents is embedded as dense rows, one per internal node, and as postings, one list of documents per
word. Distances come from |x − y| on the rows and |x| + |y| − 2 min(x, y) on the postings, so that a word costs the
square of the number of documents it is in, and no more.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["dense_distances", "dense_gradient", "node_masses", "posting_distances", "posting_gradient", "soft_loss"]

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]


@njit(cache=True, nogil=True)
def node_masses(
    bounds: Integers, words: Integers, masses: Floats, word_nodes: Integers, parents: Integers
) -> NDArray[np.floating]:
    """Add up each document's mass below each internal node, shape (n_nodes, n_documents)."""
    sums = np.zeros((parents.size, bounds.size - 1), masses.dtype)
    for document in range(bounds.size - 1):
        for entry in range(bounds[document], bounds[document + 1]):
            sums[word_nodes[words[entry]], document] += masses[entry]
    for node in range(parents.size - 1, 0, -1):
        sums[parents[node]] += sums[node]
    return sums


@njit(cache=True, nogil=True, fastmath=True)
def dense_distances(rows: Floats, distances: Floats) -> None:
    """Add the L1 distance between the columns of `rows` to the upper triangle of `distances`."""
    n_documents = rows.shape[1]
    for first in range(n_documents):
        line = distances[first, first + 1 :]  # stays in the fastest memory while the rows go by
        for row in range(rows.shape[0]):
            value, others = rows[row, first], rows[row, first + 1 :]
            for second in range(line.size):  # from zero: no index can be negative, so that this is one vector loop
                line[second] += abs(value - others[second])


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
    total_weight = weights.sum()
    total, slope = 0.0, 0.0
    for document in range(n_documents):
        one, other = _soft_row(distances[document], document, labels, groups, weights, scale)
        share = weights[document] / total_weight
        distances[document] *= share
        total += share * one
        slope += share * other
    for first in range(n_documents):
        for second in range(first + 1, n_documents):
            distances[first, second] += distances[second, first]
            distances[second, first] = distances[first, second]
    return total, slope


@njit(cache=True, nogil=True)
def _soft_row(
    line: Floats, document: int, labels: Integers, groups: Integers, weights: Floats, scale: float
) -> tuple[float, float]:
    """Compute one document's loss and slope, and turn its distances into the gradient."""
    others = groups != groups[document]
    own = others & (labels == labels[document])
    if not own.any():
        line[:] = 0
        return 0.0, 0.0
    nearest, nearest_own = line[others].min(), line[own].min()  # taken off, so that no exponential is too small
    shares = np.where(others, weights * np.exp(scale * (nearest - line)), 0.0)
    shares_own = np.zeros_like(shares)
    for other in range(line.size):
        if own[other]:
            shares_own[other] = weights[other] * np.exp(scale * (nearest_own - line[other]))
    sum_all, sum_own = shares.sum(), shares_own.sum()
    loss = np.log(sum_all) - np.log(sum_own) + scale * (nearest_own - nearest)
    change = shares_own / sum_own - shares / sum_all
    slope = scale * (change * line).sum()
    line[:] = scale * change
    return loss, slope


@njit(cache=True, nogil=True, fastmath=True)
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


@njit(cache=True, nogil=True)
def posting_gradient(bounds: Integers, documents: Integers, values: Floats, pairs: Floats) -> NDArray[np.floating]:
    """Compute the loss's gradient by every posting, from that by every distance."""
    gradient = np.empty_like(values)
    sums = pairs.sum(axis=1)
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
