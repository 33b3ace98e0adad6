"""Compiled loops of the paper's learner: from scores to masses, distances, gradients and one step of Adam.

A word's row of scores is read twice in a step: to add its probable parents to the documents that hold the word, and to
learn. Its probabilities are computed again rather than kept, and its gradient is used at once, so that no gradient by
the scores is ever stored. The order of every sum is fixed: words and documents are split into a fixed number of parts,
whatever the number of threads.

Exponential and tangent are polynomials in float32, which the compiler can evaluate for eight numbers at a time. Inner
functions are forced into the loops that call them. Otherwise a process that compiles the loops would call another copy
of them than one that finds the compiled loops on disk, and the two would add up in different orders.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import compiled, inner

__all__ = [
    "add_subtrees",
    "gradient_norms",
    "leaf_distances",
    "pair_distances",
    "pair_losses",
    "push_down",
    "sparse_distances",
    "update_rows",
    "word_sums",
]

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]
Number = Any  # a float32
Postings = tuple[Integers, Integers, Integers, Floats]  # words, bounds of their entries, documents, masses
Rows = tuple[Integers, Integers, Floats]  # bounds, places and values of sparse rows
Softmax = tuple[Floats, Floats]  # of each word of a batch: the largest score, one over the sum of exponentials
Step = tuple[Number, Number, Number, Number]  # of gradient, rate, of spread, least divisor

_FAST = {"reassoc", "contract", "nsz", "arcp"}  # not-a-number and infinity stay what they are
_loop = partial(compiled, error_model="numpy")
_fast_loop = partial(compiled, error_model="numpy", fastmath=_FAST)
_fast = partial(inner, fastmath=_FAST, forceinline=True)
_careful = partial(inner, fastmath={"contract"}, forceinline=True)  # sums in the order written

_ZERO, _ONE, _HALF = np.float32(0), np.float32(1), np.float32(0.5)
_LOWEST, _PER_LOGARITHM, _ROUNDER = np.float32(-87), np.float32(1.4426950408889634), np.float32(12582912)
_LOGARITHM, _LOGARITHM_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
_E2, _E3, _E4, _E5, _E6, _E7 = (np.float32(1 / value) for value in (2, 6, 24, 120, 720, 5040))
_FLAT = np.float32(9)  # beyond it, the hyperbolic tangent is one in float32
_P1, _P2, _P3, _P4 = (np.float32(value) for value in (1.338102633e-1, 3.495588467e-3, 2.060906867e-5, 1.335460609e-8))
_Q1, _Q2, _Q3, _Q4 = (np.float32(value) for value in (4.671434195e-1, 2.587698473e-2, 3.285634546e-4, 7.776543366e-7))
_FIRST_DECAY, _SECOND_DECAY = np.float32(0.9), np.float32(0.999)
_FIRST_REST, _SECOND_REST = np.float32(0.1), np.float32(0.001)


@_careful
def exponential(value: Number) -> Number:
    """Compute the exponential of a number of zero or less, to about one unit of float32."""
    value = max(value, _LOWEST)
    shifted = value * _PER_LOGARITHM + _ROUNDER  # a whole number stands in the last bits
    whole = shifted - _ROUNDER
    rest = (value - whole * _LOGARITHM) - whole * _LOGARITHM_REST
    series = _E5 + rest * (_E6 + rest * _E7)
    series = _ONE + rest * (_ONE + rest * (_E2 + rest * (_E3 + rest * (_E4 + rest * series))))
    bits = np.float32(shifted).view(np.int32)
    return series * np.int32((bits + 127) << 23).view(np.float32)  # two to that number: written into the exponent


@_careful
def tangent(value: Number) -> Number:
    """Compute the hyperbolic tangent to a relative error of 4e-7."""
    value = min(max(value, -_FLAT), _FLAT)
    square = value * value
    above = _ONE + square * (_P1 + square * (_P2 + square * (_P3 + square * _P4)))
    below = _ONE + square * (_Q1 + square * (_Q2 + square * (_Q3 + square * _Q4)))
    return value * above / below


@_fast
def exponentials(scores: Floats, top: Number, out: Floats) -> Number:
    """Write exp(scores − top) and return the sum."""
    total = _ZERO
    for node in range(scores.size):
        value = exponential(scores[node] - top)
        out[node] = value
        total += value
    return total


@_fast_loop
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
        top = row[0]
        for node in range(n_nodes):
            top = max(top, row[node])
        factor = _ONE / exponentials(row, top, shares)
        tops[place], factors[place] = top, factor
        for entry in range(bounds[place], bounds[place + 1]):
            weight = masses[entry] * factor
            line = sums[documents[entry]]
            for node in range(n_nodes):
                line[node] += weight * shares[node]


@_loop
def add_subtrees(masses: Floats, parents: Integers) -> None:
    """Add the mass of each node to its parent, from the leaves to the root, shape (n_documents, n_nodes)."""
    for document in range(masses.shape[0]):
        line = masses[document]
        for node in range(parents.size - 1, 0, -1):
            line[parents[node]] += line[node]


@_loop
def push_down(slopes: Floats, parents: Integers) -> None:
    """Add the gradient of each node to its children, from the root to the leaves: the gradient by the words' masses."""
    for document in range(slopes.shape[0]):
        line = slopes[document]
        for node in range(1, parents.size):
            line[node] += line[parents[node]]


@inner
def _absolute(value: Number, smoothness: Number, huber: bool) -> Number:
    """Compute a smooth absolute value in float64."""
    if huber:
        least, square = 1 / smoothness, value * value
        return square / (np.sqrt(square + least * least) + least)  # the difference of these, without cancellation
    return value * np.tanh(0.5 * smoothness * value)


@_loop
def leaf_distances(
    bounds: Integers, documents: Integers, masses: Floats, n_documents: int, smoothness: Number, huber: bool
) -> Floats:
    """Compute the words' part of all distances: a word costs the square of the number of documents it is in."""
    distances = np.zeros((n_documents, n_documents))
    alone = np.zeros(n_documents)
    for word in range(bounds.size - 1):
        for one in range(bounds[word], bounds[word + 1]):
            first, mass = documents[one], masses[one]
            value = _absolute(mass, smoothness, huber)
            alone[first] += value
            for other in range(one + 1, bounds[word + 1]):
                second, its = documents[other], masses[other]
                both = _absolute(mass - its, smoothness, huber) - _absolute(its, smoothness, huber)
                distances[first, second] += both - value
    for first in range(n_documents):
        for second in range(first + 1, n_documents):
            distances[first, second] += alone[first] + alone[second]
            distances[second, first] = distances[first, second]
    return distances


@_loop
def sparse_distances(
    queries: Rows, postings: Rows, lengths: Floats, smoothness: Number, huber: bool, start: int, stop: int, out: Floats
) -> None:
    """Add the part of words, or of nodes, to the smooth distances of the queries from `start` to `stop`."""
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


@_fast
def _tangent_distance(one: Floats, other: Floats, lengths: Floats, smoothness: Number, slopes: Floats) -> Number:
    """Sum lengths × x tanh(αx/2) and write the derivatives."""
    half = _HALF * smoothness
    total = _ZERO
    for node in range(one.size):
        difference = one[node] - other[node]
        scaled = min(max(half * difference, -_FLAT), _FLAT)  # beyond, the derivative is the sign
        rise = min(max(tangent(scaled), -_ONE), _ONE)
        total += lengths[node] * difference * rise
        slopes[node] = lengths[node] * (rise + scaled * (_ONE - rise * rise))
    return total


@_fast
def _huber_distance(one: Floats, other: Floats, lengths: Floats, smoothness: Number, slopes: Floats) -> Number:
    """Sum lengths × (√(x² + 1/α²) − 1/α), written without a difference, and write the derivatives."""
    least = _ONE / smoothness
    total = _ZERO
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


@_fast
def _add_times(target: Floats, values: Floats, weight: Number) -> None:
    for node in range(values.size):
        target[node] += weight * values[node]


@_loop
def pair_losses(
    masses: Floats,
    leaves: Floats,
    labels: Integers,
    lengths: Floats,
    absolute: tuple[Number, bool],
    margin: Number,
    weights: tuple[Number, Number],
    importance: Floats,
    part: int,
    n_parts: int,
    gradient: Floats,
) -> Number:
    """Sum the contrastive loss over every n-th document's pairs with later ones, and its gradient by node mass.

    Documents of one label add the first weight times their distance to the loss. The others subtract the second weight
    times the distance or the margin, whichever is smaller; both times the importance of the two documents. Without
    room for a gradient (no rows), only the loss is computed.
    """
    near_weight, far_weight = weights
    n_documents, n_nodes = masses.shape
    slopes = np.zeros(n_nodes, np.float32)
    total = 0.0
    for first in range(part, n_documents, n_parts):
        for second in range(first + 1, n_documents):
            same = labels[first] == labels[second]
            weight = (near_weight if same else -far_weight) * (importance[first] * importance[second])
            if not same and leaves[first, second] >= margin:
                total += weight * margin
                continue
            distance = leaves[first, second] + _distance(masses[first], masses[second], lengths, absolute, slopes)
            total += weight * (distance if same else min(distance, margin))
            if gradient.shape[0] and (same or distance < margin or distance != distance):
                _add_times(gradient[first], slopes, np.float32(weight))
                _add_times(gradient[second], slopes, -np.float32(weight))
    return total


@_loop
def pair_distances(
    queries: Floats, masses: Floats, lengths: Floats, absolute: tuple[Number, bool], start: int, stop: int, out: Floats
) -> None:
    """Add the internal nodes' part of the smooth distances of the queries from `start` to `stop` to `out`."""
    slopes = np.empty(masses.shape[1], np.float32)
    for first in range(start, stop):
        for second in range(masses.shape[0]):
            out[first, second] += _distance(queries[first], masses[second], lengths, absolute, slopes)


@_fast
def _row_gradient(
    scores: Floats, postings: Postings, place: int, softmax: Softmax, slopes: Floats, shares: Floats, gradient: Floats
) -> None:
    """Compute the loss's gradient by the scores of the word at a place of the postings."""
    words, bounds, documents, masses = postings
    row, factor = scores[words[place]], softmax[1][place]
    exponentials(row, softmax[0][place], shares)
    gradient[:] = _ZERO
    for entry in range(bounds[place], bounds[place + 1]):
        mass, line = masses[entry], slopes[documents[entry]]
        for node in range(row.size):
            gradient[node] += mass * line[node]
    mean = _ZERO
    for node in range(row.size):
        shares[node] *= factor
        mean += shares[node] * gradient[node]
    for node in range(row.size):
        gradient[node] = shares[node] * (gradient[node] - mean)


@_fast
def _adam(row: Floats, first: Floats, second: Floats, gradient: Floats, step: Step) -> Number:
    """Take one step of Adam on a row; return the sum of its squares, not a number if any value is."""
    factor, rate, spread, least = step
    squares = _ZERO
    for node in range(row.size):
        slope = factor * gradient[node]
        mean = _FIRST_DECAY * first[node] + _FIRST_REST * slope
        square = _SECOND_DECAY * second[node] + _SECOND_REST * slope * slope
        first[node], second[node] = mean, square
        value = row[node] - rate * mean / (np.sqrt(square) * spread + least)
        row[node] = value
        squares += value * value
    return squares


@_fast_loop
def gradient_norms(
    scores: Floats, postings: Postings, softmax: Softmax, slopes: Floats, start: int, stop: int, norms: Floats
) -> None:
    """Write the squared norm of the gradient of each word from `start` to `stop`."""
    shares, gradient = np.empty(scores.shape[1], np.float32), np.empty(scores.shape[1], np.float32)
    for place in range(start, stop):
        _row_gradient(scores, postings, place, softmax, slopes, shares, gradient)
        total = _ZERO
        for node in range(gradient.size):
            total += gradient[node] * gradient[node]
        norms[place] = total


@_loop
def update_rows(
    scores: Floats, first: Floats, second: Floats, postings: Postings, softmax: Softmax, slopes: Floats, step: Step,
    start: int, stop: int, squares: Floats
) -> None:  # fmt: skip
    """Take one step of Adam on the words from `start` to `stop`, and write the squared norms of their rows."""
    shares, gradient = np.empty(scores.shape[1], np.float32), np.empty(scores.shape[1], np.float32)
    for place in range(start, stop):
        word = postings[0][place]
        _row_gradient(scores, postings, place, softmax, slopes, shares, gradient)
        squares[word] = _adam(scores[word], first[word], second[word], gradient, step)
