"""Compiled loops of the paper's learner: the gradient by a word's scores, and one step of Adam on its row.

A word's probabilities are computed again rather than kept, and its gradient is used at once: no gradient by the scores
is ever stored.
"""

from __future__ import annotations

import numpy as np

from treewass.learners.soft.arithmetic import (
    ZERO,
    Floats,
    Integers,
    Number,
    Postings,
    exponentials,
    fast,
    fast_loop,
    lengthened,
    loop,
    shortened,
)  # fmt: skip
from treewass.search.kernels.compiling import inner

__all__ = ["gradient_norms", "update_rows", "update_short_rows"]

Softmax = tuple[Floats, Floats]  # of each word of a batch: the largest score, one over the sum of exponentials
Step = tuple[Number, Number, Number, Number]  # of gradient, rate, of spread, least divisor

_FIRST_DECAY, _SECOND_DECAY = np.float32(0.9), np.float32(0.999)
_FIRST_REST, _SECOND_REST = np.float32(0.1), np.float32(0.001)


@fast
def _row_gradient(
    row: Floats,
    top: Number,
    factor: Number,
    documents: Integers,
    masses: Floats,
    slopes: Floats,
    shares: Floats,
    gradient: Floats,
) -> None:
    """Compute the loss's gradient by the scores of one word."""
    exponentials(row, top, shares)
    gradient[:] = ZERO
    for entry in range(documents.size):
        mass, line = masses[entry], slopes[documents[entry]]
        for node in range(row.size):
            gradient[node] += mass * line[node]
    mean = ZERO
    for node in range(row.size):
        shares[node] *= factor
        mean += shares[node] * gradient[node]
    for node in range(row.size):
        gradient[node] = shares[node] * (gradient[node] - mean)


@fast
def _adam(row: Floats, first: Floats, second: Floats, gradient: Floats, step: Step) -> Number:
    """Take one step of Adam on a row; return the sum of its squares, not a number if any value is."""
    factor, rate, spread, least = step
    squares = ZERO
    for node in range(row.size):
        slope = factor * gradient[node]
        mean = _FIRST_DECAY * first[node] + _FIRST_REST * slope
        square = _SECOND_DECAY * second[node] + _SECOND_REST * slope * slope
        first[node], second[node] = mean, square
        value = row[node] - rate * mean / (np.sqrt(square) * spread + least)
        row[node] = value
        squares += value * value
    return squares


@inner
def _place_gradient(
    scores: Floats, postings: Postings, place: int, softmax: Softmax, slopes: Floats, shares: Floats, gradient: Floats
) -> None:
    """Compute the gradient of the word at a place of the postings; zero for one without entries."""
    words, bounds, documents, masses = postings
    tops, factors = softmax
    low, high = bounds[place], bounds[place + 1]
    if low == high:
        gradient[:] = ZERO
        return
    _row_gradient(
        scores[words[place]], tops[place], factors[place], documents[low:high], masses[low:high], slopes, shares,
        gradient,
    )  # fmt: skip


@fast_loop
def gradient_norms(
    scores: Floats, postings: Postings, softmax: Softmax, slopes: Floats, start: int, stop: int, norms: Floats
) -> None:
    """Write the squared norm of the gradient of each word from `start` to `stop`."""
    shares, gradient = np.empty(scores.shape[1], np.float32), np.empty(scores.shape[1], np.float32)
    for place in range(start, stop):
        _place_gradient(scores, postings, place, softmax, slopes, shares, gradient)
        total = ZERO
        for node in range(gradient.size):
            total += gradient[node] * gradient[node]
        norms[place] = total


@loop
def update_rows(
    scores: Floats, first: Floats, second: Floats, postings: Postings, softmax: Softmax, slopes: Floats, step: Step,
    start: int, stop: int, squares: Floats,
) -> None:  # fmt: skip
    """Take one step of Adam on the words from `start` to `stop`, and write the squared norms of their rows."""
    shares, gradient = np.empty(scores.shape[1], np.float32), np.empty(scores.shape[1], np.float32)
    for place in range(start, stop):
        word = postings[0][place]
        _place_gradient(scores, postings, place, softmax, slopes, shares, gradient)
        squares[word] = _adam(scores[word], first[word], second[word], gradient, step)


@loop
def update_short_rows(
    scores: Floats, first: Integers, second: Integers, postings: Postings, softmax: Softmax, slopes: Floats, step: Step,
    seed: int, start: int, stop: int, squares: Floats,
) -> None:  # fmt: skip
    """Do as `update_rows`, with the state of Adam held as bfloat16."""
    n_nodes = scores.shape[1]
    shares, gradient = np.empty(n_nodes, np.float32), np.empty(n_nodes, np.float32)
    means, spreads = np.empty(n_nodes, np.float32), np.empty(n_nodes, np.float32)
    for place in range(start, stop):
        word = postings[0][place]
        _place_gradient(scores, postings, place, softmax, slopes, shares, gradient)
        _read_short(first[word], means)
        _read_short(second[word], spreads)
        squares[word] = _adam(scores[word], means, spreads, gradient, step)
        _write_short(means, first[word], seed + 2 * word)
        _write_short(spreads, second[word], seed + 2 * word + 1)


@fast
def _read_short(short: Integers, out: Floats) -> None:
    for node in range(out.size):
        out[node] = lengthened(short[node])  # type: ignore[call-arg]


@fast
def _write_short(values: Floats, out: Integers, seed: int) -> None:
    for node in range(values.size):
        out[node] = shortened(values[node], node, seed)  # type: ignore[call-arg]
