"""Compiled loops that embed documents; imported on first use, since importing numba takes a moment.

A document's words climb to the root: each adds its mass, a whole number, to every node on the way. Sums of whole
numbers do not depend on their order; each is multiplied once by the length of its edge and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import array_at, compiled, inlined, inner
from treewass.trees.layout import METRIC, ROOM, WORD

__all__ = ["INVALID", "OVERFLOW", "embed_rows", "first_bit", "in_order", "spread_document", "touched_in"]

INVALID, OVERFLOW = -1, -2  # instead of a number of features: a row to be checked and mended, a total that overflows
_WHOLE = 2**50  # the mass of a document
_WORD_BYTES, _METRIC_BYTES = WORD.itemsize, METRIC.itemsize
# The place of a single bit: no two places share the six highest bits of this number times the bit.
_BIT_HASH = np.uint64(0x03F79D71B4CB0A89)
_BIT_PLACES = np.zeros(64, np.uint8)
for _place in range(64):
    _BIT_PLACES[((int(_BIT_HASH) << _place) & (2**64 - 1)) >> 58] = _place


@inlined
def first_bit(bits: np.uint64) -> Any:
    """Return the place of the lowest bit that is set, from 0; there must be one."""
    lowest = bits & (~bits + np.uint64(1))
    return np.int64(_BIT_PLACES[(lowest * _BIT_HASH) >> np.uint64(58)])


@inlined
def in_order(words: NDArray[np.int32], weights: NDArray[np.float64], n_words: int) -> Any:
    """Check a document and return whether it is sound, its words in ascending order, and their weights.

    Words must exist and differ; weights must be finite and not negative. What is in order already is not copied.
    """
    is_sound, ascends, last = True, True, np.int32(-1)
    for entry in range(words.size):
        word, weight = words[entry], weights[entry]
        is_sound &= (word >= 0) & (word < n_words) & (weight >= 0.0) & (weight < np.inf)
        ascends &= last < word
        last = word
    if ascends or not is_sound:
        return is_sound, words, weights
    words, weights = words.copy(), weights.copy()
    gap = words.size
    while gap > 1:  # Shell's sort: short, and fast for as many words as a document has
        gap = max(1, gap * 4 // 9)
        for entry in range(gap, words.size):
            word, weight, place = words[entry], weights[entry], entry
            while place >= gap and words[place - gap] > word:
                words[place], weights[place] = words[place - gap], weights[place - gap]
                place -= gap
            words[place], weights[place] = word, weight
    for entry in range(1, words.size):
        is_sound &= words[entry - 1] != words[entry]
    return is_sound, words, weights


@inner
def spread_document(metric: Any, room: Any, words: NDArray[np.int32], weights: NDArray[np.float64]) -> Any:
    """List the features that a document has mass in as `touched`, and the `amounts` in units; return how many.

    None for a document without a known word. Of each tree the nodes come first, ascending if there are `marks` to sort
    them by, then the words, ascending.
    """
    is_sound, words, weights = in_order(words, weights, metric.n_words)
    if not is_sound:
        return INVALID
    above = array_at(metric.above, metric.n_features, np.int32)
    lengths = array_at(metric.lengths, metric.n_features, np.float64)
    masses, sums = array_at(room.masses, room.n_masses, np.int64), array_at(room.sums, room.n_sums, np.int64)
    touched, amounts = touched_in(room)
    n_touched = np.uint64(0)
    for component in range(metric.n_components):
        records = array_at(metric.words + component * metric.n_words * _WORD_BYTES, metric.n_words, WORD)
        total = _share_mass(records, words, weights, masses)
        if total == np.inf:
            return OVERFLOW
        if total <= 0.0:
            continue
        first = n_touched
        for entry in range(words.size):  # the way of every word to the root
            mass = masses[entry]
            node = np.int32(records[np.uint64(words[entry])].node)
            while node >= 0:
                before = sums[np.uint64(node)]
                sums[np.uint64(node)] = before + mass
                touched[n_touched] = node
                n_touched += np.uint64((before == 0) & (mass > 0))
                node = above[np.uint64(node)]
        if room.n_marks > 0:
            _sort_nodes(touched[first:n_touched], array_at(room.marks, room.n_marks, np.uint64))
        for position in range(first, n_touched):
            node = touched[position]
            amounts[position] = sums[np.uint64(node)] * lengths[np.uint64(node)]
            sums[np.uint64(node)] = 0
        for entry in range(words.size):
            record = records[np.uint64(words[entry])]
            touched[n_touched] = record.leaf
            amounts[n_touched] = masses[entry] * record.length
            n_touched += np.uint64(masses[entry] > 0)
    return np.int64(n_touched)


@inlined
def touched_in(room: Any) -> Any:
    """View the features that `spread_document` listed and their amounts."""
    return array_at(room.touched, room.n_touched, np.int32), array_at(room.amounts, room.n_touched, np.float64)


@inlined
def _share_mass(records: Any, words: Any, weights: Any, masses: Any) -> Any:
    """Write whole masses that add up exactly, and return the total of the weights.

    What rounding leaves over goes to the first of the heaviest words. Nothing is written if the total is zero or
    infinite.
    """
    total = 0.0
    for entry in range(words.size):
        total += weights[entry] * records[np.uint64(words[entry])].factor
    if not 0.0 < total < np.inf:
        return total
    heaviest, most, left = 0, np.int64(-1), np.int64(_WHOLE)
    for entry in range(words.size):
        weight = weights[entry] * records[np.uint64(words[entry])].factor
        mass = np.int64(np.rint(weight / total * 2.0**50))
        masses[entry] = mass
        left -= mass
        heaviest = entry if mass > most else heaviest
        most = max(mass, most)
    masses[heaviest] += left
    return total


@inlined
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


@compiled
def embed_rows(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    rounded: bool,
    bounds: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
) -> int:
    """Embed rows in units as the three arrays of a CSR matrix, sorted and without zeros.

    `features` and `values` have room for every word's longest path; `plan` is a METRIC and a ROOM. Writes whether each
    row holds a known word. Returns -1, or a row that must be checked or whose total overflows.
    """
    metric = array_at(plan.ctypes.data, 1, METRIC)[0]
    room = array_at(plan.ctypes.data + _METRIC_BYTES, 1, ROOM)[0]
    touched, amounts = touched_in(room)
    filled = np.uint64(0)
    bounds[0] = 0
    for row in range(indptr.size - 1):
        start, stop = np.int64(indptr[row]), np.int64(indptr[row + 1])
        if not 0 <= start <= stop <= words.size or stop > weights.size or stop - start > metric.n_words:
            return row
        n_touched = spread_document(metric, room, words[start:stop], weights[start:stop])
        if n_touched < 0 or np.int64(filled) + n_touched > features.size:  # no room if rows overlap
            return row
        for position in range(n_touched):
            value = np.rint(amounts[position]) if rounded else amounts[position]
            features[filled], values[filled] = touched[position], value
            filled += np.uint64(value != 0.0)
        bounds[row + 1], known[row] = filled, n_touched > 0
    return -1
