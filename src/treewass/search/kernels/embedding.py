"""Compiled loops that embed documents; imported on first use, since importing numba takes a moment.

A document's words climb to the root: each adds its mass, a whole number, to every node on the way. Sums of whole
numbers do not depend on their order; each is multiplied once by the length of its edge and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.compiling import compiled, inner
from treewass.search.kernels.views import array_at
from treewass.search.layout import (
    FACTORS,
    LENGTHS,
    LONGEST,
    N_COMPONENTS,
    N_ENTRIES,
    N_FEATURES,
    N_WORDS,
    WORD_BOUNDS,
    WORD_FEATURES,
)

__all__ = ["INVALID", "OVERFLOW", "embed_rows", "metric_views", "spread_document"]

INVALID, OVERFLOW = -1, -2  # instead of a number of features: a row that is not canonical, a total that overflows
_WHOLE = 2**50  # the mass of a document
_SEQUENCE = np.uint64(0x022FDD63CC95386D)  # de Bruijn: its every 6 bits in a row differ
_BIT_NUMBERS = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _BIT_NUMBERS[((int(_SEQUENCE) << _bit) & (2**64 - 1)) >> 58] = _bit


@inner
def metric_views(metric: Any) -> Any:
    """View a described metric (see `MetricLayout`): factors, feature bounds, features of words, lengths."""
    n_factors = metric[N_COMPONENTS] * metric[N_WORDS]
    factors = array_at(metric[FACTORS], n_factors, np.float64)
    bounds = array_at(metric[WORD_BOUNDS], n_factors + 1, np.int64)
    features = array_at(metric[WORD_FEATURES], metric[N_ENTRIES], np.int32)
    lengths = array_at(metric[LENGTHS], metric[N_FEATURES], np.float64)
    return factors, bounds, features, lengths


@inner
def spread_document(
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_word: int,
    first_weight: int,
    count: int,
    n_words: int,
    n_components: int,
    factors: NDArray[np.float64],
    bounds: NDArray[np.int64],
    features: NDArray[np.int32],
    word_masses: NDArray[np.int64],
    sums: NDArray[np.int64],
    marks: NDArray[np.uint64],
    touched: NDArray[np.int32],
    masses: NDArray[np.int64],
) -> Any:
    """List the features that a document has mass in as `touched`, and their `masses`; return how many.

    None for a document without a known word. Of each tree the nodes come first, ascending if there are `marks` to sort
    them by, then the words, ascending. `sums` and `marks` are zero before and after.
    """
    last = -1
    for entry in range(count):
        word, weight = words[first_word + entry], weights[first_weight + entry]
        if not (last < word < n_words and 0.0 <= weight < np.inf):
            return INVALID
        last = word
    n_touched = 0
    for component in range(n_components):
        offset = component * n_words
        total = 0.0
        for entry in range(count):
            total += weights[first_weight + entry] * factors[offset + words[first_word + entry]]
        if total == np.inf:
            return OVERFLOW
        if total <= 0.0:
            continue
        _share_mass(words, weights, first_word, first_weight, count, factors[offset:], total, word_masses)
        first = n_touched
        for entry in range(count):
            mass = word_masses[entry]
            word = offset + words[first_word + entry]
            for position in range(bounds[word], bounds[word + 1] - 1):
                node = features[position]
                before = sums[node]
                sums[node] = before + mass
                touched[n_touched] = node
                n_touched += (before == 0) & (mass > 0)
        if marks.size:
            _sort_nodes(touched[first:n_touched], marks)
        for position in range(first, n_touched):
            node = touched[position]
            masses[position] = sums[node]
            sums[node] = 0
        for entry in range(count):
            touched[n_touched] = features[bounds[offset + words[first_word + entry] + 1] - 1]
            masses[n_touched] = word_masses[entry]
            n_touched += word_masses[entry] > 0
    return n_touched


@inner
def _share_mass(
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_word: int,
    first_weight: int,
    count: int,
    factors: NDArray[np.float64],
    total: float,
    word_masses: NDArray[np.int64],
) -> None:
    """Write whole masses that add up exactly; what rounding leaves over goes to the first of the heaviest words."""
    heaviest, left = 0, np.int64(_WHOLE)
    for entry in range(count):
        weight = weights[first_weight + entry] * factors[words[first_word + entry]]
        mass = np.int64(np.rint(weight / total * 2.0**50))
        word_masses[entry] = mass
        left -= mass
        if mass > word_masses[heaviest]:
            heaviest = entry
    word_masses[heaviest] += left


@compiled
def embed_rows(
    metric: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    rounded: bool,
) -> tuple[int, NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Embed rows in units, sorted and without zeros.

    Returns -1, or a row that is not canonical or whose total overflows; then the three arrays of a CSR matrix.
    """
    factors, bounds, features, lengths = metric_views(metric)
    n_words, n_features, n_components = metric[N_WORDS], metric[N_FEATURES], metric[N_COMPONENTS]
    word_masses = np.empty(n_words, np.int64)
    sums = np.zeros(n_features, np.int64)
    marks = np.zeros(n_features // 64 + 1, np.uint64)
    touched, masses = np.empty(n_features + 1, np.int32), np.empty(n_features + 1, np.int64)
    n_rows = indptr.size - 1
    out_indptr = np.zeros(n_rows + 1, np.int64)
    capacity = n_features + 2 * indptr[n_rows] * (metric[LONGEST] + 1) // 3
    out_features, out_values = np.empty(capacity, np.int32), np.empty(capacity, np.float64)
    filled = 0
    for row in range(n_rows):
        start, count = indptr[row], indptr[row + 1] - indptr[row]
        is_sound = start >= 0 and 0 <= count <= min(words.size, weights.size) - start
        n_touched = INVALID
        if is_sound:
            n_touched = spread_document(
                words, weights, start, start, count, n_words, n_components,
                factors, bounds, features, word_masses, sums, marks, touched, masses,
            )  # fmt: skip
        if n_touched < 0:
            return row, out_indptr, out_features[:0], out_values[:0]
        if filled + n_touched > out_features.size:
            out_features = _longer(out_features, n_touched)
            out_values = _longer(out_values, n_touched)
        for position in range(n_touched):
            value = masses[position] * lengths[touched[position]]
            if rounded:
                value = np.rint(value)
            out_features[filled] = touched[position]
            out_values[filled] = value
            filled += value != 0.0
        out_indptr[row + 1] = filled
    return -1, out_indptr, out_features[:filled], out_values[:filled]


@inner
def _longer(array: Any, more: Any) -> Any:
    """Copy an array into one half as long again, with room for `more`."""
    longer = np.empty(array.size + array.size // 2 + more, array.dtype)
    longer[: array.size] = array
    return longer


@inner
def _sort_nodes(nodes: NDArray[np.int32], marks: NDArray[np.uint64]) -> None:
    """Sort distinct nodes in place: mark their bits, then read the bits in order."""
    low, high = marks.size, -1
    for position in range(nodes.size):
        block = nodes[position] >> 6
        marks[block] |= np.uint64(1) << np.uint64(nodes[position] & 63)
        low, high = min(low, block), max(high, block)
    position = 0
    for block in range(low, high + 1):
        bits = marks[block]
        marks[block] = np.uint64(0)
        while bits != np.uint64(0):
            lowest = bits & (~bits + np.uint64(1))
            nodes[position] = block * 64 + _BIT_NUMBERS[(lowest * _SEQUENCE) >> np.uint64(58)]
            position += 1
            bits ^= lowest
