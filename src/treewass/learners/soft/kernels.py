"""Compiled loops of the paper's learner: from scores to node masses, distances and their gradients.

A word's row of scores is read once to add its probable parents to the documents that hold the word, and once to learn
(`row_kernels`). The order of every sum is fixed: words and documents are split into a fixed number of parts, whatever
the number of threads.
"""

from __future__ import annotations

import numpy as np

from treewass.learners.soft.arithmetic import (
    FLAT,
    HALF,
    ONE,
    ZERO,
    Floats,
    Integers,
    Number,
    Postings,
    exponentials,
    fast,
    fast_loop,
    largest,
    loop,
    tangent,
)  # fmt: skip
from treewass.search.kernels.compiling import inner

__all__ = [
    "cross_leaf_distances",
    "leaf_distances",
    "node_masses",
    "pair_distances",
    "pair_losses",
    "push_down",
    "word_sums",
]

Rows = tuple[Integers, Integers, Floats]  # bounds, places and values of sparse rows


@fast_loop
def word_sums(
    scores: Floats, postings: Postings, start: int, stop: int, tops: Floats, factors: Floats, sums: Floats
) -> None:
    """Add the probable parents of the words from `start` to `stop`, times their masses, to the documents' nodes.

    Notes the largest score of each word, and one over its sum of exponentials.
    """
    words, bounds, documents, masses = postings
    n_nodes = scores.shape[1]
    shares = np.empty(n_nodes, np.float32)
    for place in range(start, stop):
        row = scores[words[place]]
        top = largest(row)
        factor = ONE / exponentials(row, top, shares)
        tops[place], factors[place] = top, factor
        for entry in range(bounds[place], bounds[place + 1]):
            weight = masses[entry] * factor
            line = sums[documents[entry]]
            for node in range(n_nodes):
                line[node] += weight * shares[node]


@loop
def node_masses(parts: Floats, parents: Integers) -> Floats:
    """Add up parts of shape (n_parts, n_documents, n_nodes), and then the subtrees, from the leaves to the root."""
    sums: Floats = parts[0].copy()
    for part in range(1, parts.shape[0]):
        sums += parts[part]
    for document in range(sums.shape[0]):
        line = sums[document]
        for node in range(parents.size - 1, 0, -1):
            line[parents[node]] += line[node]
    return sums


@loop
def push_down(parts: Floats, parents: Integers) -> Floats:
    """Add up parts of a gradient by subtree masses, and then the ancestors': the gradient by the words' masses."""
    slopes: Floats = parts[0].copy()
    for part in range(1, parts.shape[0]):
        slopes += parts[part]
    for document in range(slopes.shape[0]):
        line = slopes[document]
        for node in range(1, parents.size):
            line[node] += line[parents[node]]
    return slopes


@inner
def _absolute(value: Number, smoothness: Number, huber: bool) -> Number:
    """Compute a smooth absolute value in float64."""
    if huber:
        return np.sqrt(value * value + 1 / (smoothness * smoothness)) - 1 / smoothness
    return value * np.tanh(0.5 * smoothness * value)


@loop
def leaf_distances(
    bounds: Integers, documents: Integers, masses: Floats, lengths: Floats, n_documents: int, smoothness: Number,
    huber: bool,
) -> Floats:  # fmt: skip
    """Compute the words' part of all distances: a word costs the square of the number of documents it is in."""
    distances = np.zeros((n_documents, n_documents))
    alone = np.zeros(n_documents)
    for word in range(bounds.size - 1):
        length = lengths[word]
        for one in range(bounds[word], bounds[word + 1]):
            first, mass = documents[one], masses[one]
            value = length * _absolute(mass, smoothness, huber)
            alone[first] += value
            for other in range(one + 1, bounds[word + 1]):
                second, its = documents[other], masses[other]
                both = _absolute(mass - its, smoothness, huber) - _absolute(its, smoothness, huber)
                distances[first, second] += length * both - value
    for first in range(n_documents):
        for second in range(first + 1, n_documents):
            distances[first, second] += alone[first] + alone[second]
            distances[second, first] = distances[first, second]
    return distances


@loop
def cross_leaf_distances(
    queries: Rows,
    postings: Rows,
    lengths: Floats,
    smoothness: Number,
    huber: bool,
    start: int,
    stop: int,
    out: Floats,
) -> None:
    """Add the words' part of the smooth distances of the queries from `start` to `stop` to `out`."""
    query_bounds, query_words, query_masses = queries
    bounds, documents, masses = postings
    alone = np.zeros(out.shape[1])
    for word in range(bounds.size - 1):
        for entry in range(bounds[word], bounds[word + 1]):
            alone[documents[entry]] += lengths[word] * _absolute(masses[entry], smoothness, huber)
    for query in range(start, stop):
        total, line = 0.0, out[query]
        for place in range(query_bounds[query], query_bounds[query + 1]):
            word, mass = query_words[place], query_masses[place]
            value = _absolute(mass, smoothness, huber)
            total += lengths[word] * value
            for entry in range(bounds[word], bounds[word + 1]):
                both = _absolute(mass - masses[entry], smoothness, huber)
                both -= value + _absolute(masses[entry], smoothness, huber)
                line[documents[entry]] += lengths[word] * both
        for document in range(line.size):
            line[document] = max(0.0, line[document] + (total + alone[document]))  # symmetric to the last bit


@fast
def _tangent_distance(one: Floats, other: Floats, lengths: Floats, smoothness: Number, slopes: Floats) -> Number:
    """Sum lengths × x tanh(αx/2) and write the derivatives."""
    half = HALF * smoothness
    total = ZERO
    for node in range(one.size):
        difference = one[node] - other[node]
        scaled = min(max(half * difference, -FLAT), FLAT)  # beyond, the derivative is the sign
        rise = min(max(tangent(scaled), -ONE), ONE)
        total += lengths[node] * difference * rise
        slopes[node] = lengths[node] * (rise + scaled * (ONE - rise * rise))
    return total


@fast
def _huber_distance(one: Floats, other: Floats, lengths: Floats, smoothness: Number, slopes: Floats) -> Number:
    """Sum lengths × (√(x² + 1/α²) − 1/α), written without a difference, and write the derivatives."""
    least = ONE / smoothness
    total = ZERO
    for node in range(one.size):
        difference = one[node] - other[node]
        square = difference * difference
        root = np.sqrt(square + least * least)
        total += lengths[node] * square / (root + least)
        slopes[node] = lengths[node] * difference / root
    return total


@inner
def _distance(one: Floats, other: Floats, lengths: Floats, absolute: tuple[Number, bool], slopes: Floats) -> Number:
    smoothness, huber = absolute
    if huber:
        return _huber_distance(one, other, lengths, smoothness, slopes)
    return _tangent_distance(one, other, lengths, smoothness, slopes)


@fast
def _add_times(target: Floats, values: Floats, weight: Number) -> None:
    for node in range(values.size):
        target[node] += weight * values[node]


@loop
def pair_losses(
    masses: Floats,
    leaves: Floats,
    labels: Integers,
    lengths: Floats,
    absolute: tuple[Number, bool],
    margin: Number,
    weights: tuple[Number, Number],
    part: int,
    n_parts: int,
    gradient: Floats,
) -> Number:
    """Sum the contrastive loss over every n-th document's pairs with later ones, and its gradient by node mass.

    Documents of one label add the first weight times their distance to the loss, others take off the second times the
    distance or the margin, whichever is smaller. Without room for a gradient (no rows), there is only the loss.
    """
    near_weight, far_weight = weights
    n_documents, n_nodes = masses.shape
    slopes = np.zeros(n_nodes, np.float32)
    total = 0.0
    for first in range(part, n_documents, n_parts):
        for second in range(first + 1, n_documents):
            same = labels[first] == labels[second]
            if not same and leaves[first, second] >= margin:
                total -= far_weight * margin
                continue
            distance = leaves[first, second] + _distance(masses[first], masses[second], lengths, absolute, slopes)
            total += near_weight * distance if same else -far_weight * min(distance, margin)
            if gradient.shape[0] and (same or distance < margin or distance != distance):
                weight = np.float32(near_weight if same else -far_weight)
                _add_times(gradient[first], slopes, weight)
                _add_times(gradient[second], slopes, -weight)
    return total


@loop
def pair_distances(
    queries: Floats, masses: Floats, lengths: Floats, absolute: tuple[Number, bool], start: int, stop: int, out: Floats
) -> None:
    """Add the internal nodes' part of the smooth distances of the queries from `start` to `stop` to `out`."""
    slopes = np.empty(masses.shape[1], np.float32)
    for first in range(start, stop):
        for second in range(masses.shape[0]):
            out[first, second] += _distance(queries[first], masses[second], lengths, absolute, slopes)
