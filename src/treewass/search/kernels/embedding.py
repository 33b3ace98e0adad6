"""Compiled loops that embed documents; imported on first use, since importing numba takes a moment.

A document's words climb to the root: each adds its mass, a whole number, to every node on the way. Sums of whole
numbers do not depend on their order; each is multiplied once by the length of its edge and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.bits import first_bit
from treewass.search.kernels.compiling import compiled, inner
from treewass.search.kernels.views import array_at
from treewass.search.layout import (
    ABOVE,
    LENGTHS,
    LONGEST,
    N_COMPONENTS,
    N_FEATURES,
    N_WORDS,
    RECORD,
    RECORDS,
)

__all__ = ["INVALID", "OVERFLOW", "embed_rows", "spread_document"]

INVALID, OVERFLOW = -1, -2  # instead of a number of features: a row that is not canonical, a total that overflows
_WHOLE = 2**50  # the mass of a document
_RECORD = np.uint64(RECORD)


@inner
def spread_document(
    metric: NDArray[np.int64],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_word: int,
    first_weight: int,
    count: int,
    word_masses: NDArray[np.int64],
    sums: NDArray[np.int64],
    marks: NDArray[np.uint64],
    touched: NDArray[np.int32],
    amounts: NDArray[np.float64],
) -> Any:
    """List the features that a document has mass in as `touched`, and the `amounts` in units; return how many.

    None for a document without a known word. Of each tree the nodes come first, ascending if there are `marks` to sort
    them by, then the words, ascending. `sums` and `marks` are zero before and after.
    """
    if not _is_canonical(words, weights, first_word, first_weight, count, metric[N_WORDS]):
        return INVALID
    n_touched = np.uint64(0)
    for component in range(metric[N_COMPONENTS]):
        address = metric[RECORDS] + component * metric[N_WORDS] * RECORD * 8
        halves = array_at(address, metric[N_WORDS] * RECORD, np.float64)
        total = 0.0
        for entry in range(count):
            total += weights[first_weight + entry] * halves[np.uint64(words[first_word + entry]) * _RECORD]
        if total == np.inf:
            return OVERFLOW
        if total <= 0.0:
            continue
        _share_mass(words, weights, first_word, first_weight, count, halves, total, word_masses)
        first = n_touched
        n_touched = _climb(metric, address, words, first_word, count, word_masses, sums, touched, first)
        if marks.size:
            _sort_nodes(touched[first:n_touched], marks)
        n_touched = _settle(
            metric, address, words, first_word, count, word_masses, sums, touched, amounts, first, n_touched
        )
    return np.int64(n_touched)


@inner
def _is_canonical(
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_word: int,
    first_weight: int,
    count: int,
    n_words: int,
) -> bool:
    """Tell whether the words of a document exist and ascend, and their weights are finite and not negative."""
    last = -1
    for entry in range(count):
        word, weight = words[first_word + entry], weights[first_weight + entry]
        if not (last < word < n_words and 0.0 <= weight < np.inf):
            return False
        last = word
    return True


@inner
def _climb(
    metric: Any,
    address: Any,
    words: Any,
    first_word: Any,
    count: Any,
    word_masses: Any,
    sums: Any,
    touched: Any,
    first: Any,
) -> Any:
    """Add each word's mass to the nodes on its way to the root, and list those that had none; return where they end."""
    records = array_at(address, metric[N_WORDS] * RECORD, np.int64)
    above = array_at(metric[ABOVE], metric[N_FEATURES], np.int32)
    n_touched = np.uint64(first)
    for entry in range(count):
        mass = word_masses[entry]
        node = np.int32(records[np.uint64(words[first_word + entry]) * _RECORD + np.uint64(2)])
        while node >= 0:
            before = sums[np.uint32(node)]
            sums[np.uint32(node)] = before + mass
            touched[n_touched] = node
            n_touched += np.uint64((before == 0) & (mass > 0))
            node = above[np.uint32(node)]
    return n_touched


@inner
def _settle(
    metric: Any,
    address: Any,
    words: Any,
    first_word: Any,
    count: Any,
    word_masses: Any,
    sums: Any,
    touched: Any,
    amounts: Any,
    first: Any,
    n_touched: Any,
) -> Any:
    """Turn sums of mass into amounts, leave zeros behind, and append the words; return how many features there are."""
    lengths = array_at(metric[LENGTHS], metric[N_FEATURES], np.float64)
    for position in range(first, n_touched):
        node = np.uint64(touched[position])
        amounts[position] = sums[node] * lengths[node]
        sums[node] = 0
    records = array_at(address, metric[N_WORDS] * RECORD, np.int64)
    halves = array_at(address, metric[N_WORDS] * RECORD, np.float64)
    for entry in range(count):
        record = np.uint64(words[first_word + entry]) * _RECORD
        touched[n_touched] = records[record + np.uint64(3)]
        amounts[n_touched] = word_masses[entry] * halves[record + np.uint64(1)]
        n_touched += np.uint64(word_masses[entry] > 0)
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
    """Write whole masses that add up exactly; what rounding leaves over goes to the first of the heaviest words.

    A word's factor stands at the beginning of its record.
    """
    heaviest, most, left = 0, np.int64(-1), np.int64(_WHOLE)
    for entry in range(count):
        weight = weights[first_weight + entry] * factors[np.uint64(words[first_word + entry]) * _RECORD]
        mass = np.int64(np.rint(weight / total * 2.0**50))
        word_masses[entry] = mass
        left -= mass
        heaviest = entry if mass > most else heaviest
        most = max(mass, most)
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
    n_words, n_features = metric[N_WORDS], metric[N_FEATURES]
    word_masses = np.empty(n_words, np.int64)
    sums = np.zeros(n_features, np.int64)
    marks = np.zeros(n_features // 64 + 1, np.uint64)
    touched, amounts = np.empty(n_features + 1, np.int32), np.empty(n_features + 1, np.float64)
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
                metric, words, weights, start, start, count, word_masses, sums, marks, touched, amounts
            )
        if n_touched < 0:
            return row, out_indptr, out_features[:0], out_values[:0]
        if filled + n_touched > out_features.size:
            out_features = _longer(out_features, n_touched)
            out_values = _longer(out_values, n_touched)
        for position in range(n_touched):
            value = np.rint(amounts[position]) if rounded else amounts[position]
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
            nodes[position] = block * 64 + first_bit(bits)
            position += 1
            bits &= bits - np.uint64(1)
