"""Compiled loops that add up what a query shares with every document of a tile.

|x − y|₁ = |x|₁ + |y|₁ − 2 Σ min(x, y), so that only the query's own features are visited. A feature that many
documents have is a dense row, a number a document; of any other there is a list of postings, each the document's
place in the tile and its value, packed into one integer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.compiling import inner

__all__ = ["GROUP", "share_narrow", "share_wide"]

GROUP = 8  # dense rows added up at a time


@inner
def share_wide(
    rows: NDArray[np.int64],
    row_values: NDArray[np.int32],
    n_rows: int,
    dense: NDArray[np.int32],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    values: NDArray[np.int32],
    n_lists: int,
    postings: NDArray[np.uint64],
    shared: NDArray[np.int32],
    size: int,
) -> None:
    """Write Σ min(query, document) of each document of a tile into `shared`, exactly.

    The first `n_rows` of `rows` say where in `dense` the query's dense rows begin; their number is a multiple of
    GROUP, filled up with rows of value 0. The lists of postings lie between `starts` and `stops`.
    """
    mask = np.uint64(shared.size - 1)
    shared[:size] = 0
    for group in range(0, n_rows, GROUP):
        v0, v1, v2, v3 = row_values[group], row_values[group + 1], row_values[group + 2], row_values[group + 3]
        v4, v5, v6, v7 = row_values[group + 4], row_values[group + 5], row_values[group + 6], row_values[group + 7]
        d0 = dense[rows[group] : rows[group] + size]
        d1 = dense[rows[group + 1] : rows[group + 1] + size]
        d2 = dense[rows[group + 2] : rows[group + 2] + size]
        d3 = dense[rows[group + 3] : rows[group + 3] + size]
        d4 = dense[rows[group + 4] : rows[group + 4] + size]
        d5 = dense[rows[group + 5] : rows[group + 5] + size]
        d6 = dense[rows[group + 6] : rows[group + 6] + size]
        d7 = dense[rows[group + 7] : rows[group + 7] + size]
        for place in range(size):
            low = min(v0, d0[place]) + min(v1, d1[place]) + min(v2, d2[place]) + min(v3, d3[place])
            high = min(v4, d4[place]) + min(v5, d5[place]) + min(v6, d6[place]) + min(v7, d7[place])
            shared[place] += np.int32(low + high)
    for number in range(n_lists):
        value = values[number]
        for position in range(starts[number], stops[number]):
            posting = postings[position]
            shared[(posting >> np.uint64(32)) & mask] += min(value, np.int32(posting & np.uint64(0xFFFFFFFF)))


@inner
def _narrowed(value: int, shift: int) -> np.uint16:
    """Drop the last bits of a query's value; what exceeds every document's value may be cut to the largest."""
    return np.uint16(min(value >> shift, 65535))


@inner
def share_narrow(
    rows: NDArray[np.int64],
    row_values: NDArray[np.int32],
    n_rows: int,
    dense: NDArray[np.uint16],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    values: NDArray[np.int32],
    n_lists: int,
    postings: NDArray[np.uint32],
    shared: NDArray[np.uint16],
    size: int,
    shift: int,
) -> None:
    """Do the same on values that have lost their last bits: a lower bound, never an overflow."""
    mask = np.uint32(shared.size - 1)
    shared[:size] = 0
    for group in range(0, n_rows, GROUP):
        v0, v1 = _narrowed(row_values[group], shift), _narrowed(row_values[group + 1], shift)
        v2, v3 = _narrowed(row_values[group + 2], shift), _narrowed(row_values[group + 3], shift)
        v4, v5 = _narrowed(row_values[group + 4], shift), _narrowed(row_values[group + 5], shift)
        v6, v7 = _narrowed(row_values[group + 6], shift), _narrowed(row_values[group + 7], shift)
        d0 = dense[rows[group] : rows[group] + size]
        d1 = dense[rows[group + 1] : rows[group + 1] + size]
        d2 = dense[rows[group + 2] : rows[group + 2] + size]
        d3 = dense[rows[group + 3] : rows[group + 3] + size]
        d4 = dense[rows[group + 4] : rows[group + 4] + size]
        d5 = dense[rows[group + 5] : rows[group + 5] + size]
        d6 = dense[rows[group + 6] : rows[group + 6] + size]
        d7 = dense[rows[group + 7] : rows[group + 7] + size]
        for place in range(size):
            low = min(v0, d0[place]) + min(v1, d1[place]) + min(v2, d2[place]) + min(v3, d3[place])
            high = min(v4, d4[place]) + min(v5, d5[place]) + min(v6, d6[place]) + min(v7, d7[place])
            shared[place] += np.uint16(low + high)
    for number in range(n_lists):
        value = _narrowed(values[number], shift)
        for position in range(starts[number], stops[number]):
            posting = postings[position]
            shared[(posting >> np.uint32(16)) & mask] += min(value, np.uint16(posting & np.uint32(0xFFFF)))
