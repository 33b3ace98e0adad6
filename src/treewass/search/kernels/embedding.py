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
    masses: NDArray[np.int64],
    sums: NDArray[np.int64],
    touched: NDArray[np.int32],
) -> Any:
    """Add the masses of a document's words to `sums` and list the features `touched`; return how many.

    None for a document without a known word. `sums` must be zero before, and the caller makes it zero again.
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
            return _forget(OVERFLOW, n_touched, sums, touched)
        if total <= 0.0:
            continue
        _share_mass(words, weights, first_word, first_weight, count, factors[offset:], total, masses)
        for entry in range(count):
            mass = masses[entry]
            if mass == 0:
                continue
            word = offset + words[first_word + entry]
            for position in range(bounds[word], bounds[word + 1]):
                feature = features[position]
                before = sums[feature]
                sums[feature] = before + mass
                touched[n_touched] = feature
                n_touched += before == 0
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
    masses: NDArray[np.int64],
) -> None:
    """Write whole masses that add up exactly; what rounding leaves over goes to the first of the heaviest words."""
    heaviest, left = 0, np.int64(_WHOLE)
    for entry in range(count):
        weight = weights[first_weight + entry] * factors[words[first_word + entry]]
        mass = np.int64(np.rint(weight / total * 2.0**50))
        masses[entry] = mass
        left -= mass
        if mass > masses[heaviest]:
            heaviest = entry
    masses[heaviest] += left


@inner
def _forget(status: int, n_touched: int, sums: NDArray[np.int64], touched: NDArray[np.int32]) -> int:
    """Undo what a document left in `sums`."""
    for position in range(n_touched):
        sums[touched[position]] = 0
    return status


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
    masses = np.empty(n_words, np.int64)
    sums = np.zeros(n_features, np.int64)
    touched = np.empty(n_features + 1, np.int32)
    marks = np.zeros(n_features // 64 + 1, np.uint64)
    leaves = np.empty(n_words, np.int32)
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
                factors, bounds, features, masses, sums, touched,
            )  # fmt: skip
        if n_touched < 0:
            return row, out_indptr, out_features[:0], out_values[:0]
        if filled + n_touched > out_features.size:
            out_features = _longer(out_features, n_touched)
            out_values = _longer(out_values, n_touched)
        _sort_features(touched, n_touched, n_features - n_words, marks, leaves)
        for position in range(n_touched):
            feature = touched[position]
            value = sums[feature] * lengths[feature]
            sums[feature] = 0
            if rounded:
                value = np.rint(value)
            if value != 0.0:
                out_features[filled] = feature
                out_values[filled] = value
                filled += 1
        out_indptr[row + 1] = filled
    return -1, out_indptr, out_features[:filled], out_values[:filled]


@inner
def _longer(array: Any, more: Any) -> Any:
    """Copy an array into one half as long again, with room for `more`."""
    longer = np.empty(array.size + array.size // 2 + more, array.dtype)
    longer[: array.size] = array
    return longer


@inner
def _sort_features(
    touched: NDArray[np.int32], count: int, first_leaf: int, marks: NDArray[np.uint64], leaves: NDArray[np.int32]
) -> None:
    """Sort distinct features in place: mark their bits, then read the bits in order.

    The features from `first_leaf` on, words of the last tree, were touched in ascending order and stand at the end.
    """
    low, high, n_leaves = marks.size, -1, 0
    for position in range(count):
        feature = touched[position]
        if feature >= first_leaf:
            leaves[n_leaves] = feature
            n_leaves += 1
            continue
        block = feature >> 6
        marks[block] |= np.uint64(1) << np.uint64(feature & 63)
        low, high = min(low, block), max(high, block)
    position = 0
    for block in range(low, high + 1):
        bits = marks[block]
        marks[block] = np.uint64(0)
        while bits != np.uint64(0):
            lowest = bits & (~bits + np.uint64(1))
            touched[position] = block * 64 + _BIT_NUMBERS[(lowest * _SEQUENCE) >> np.uint64(58)]
            position += 1
            bits ^= lowest
    for leaf in range(n_leaves):
        touched[position + leaf] = leaves[leaf]
