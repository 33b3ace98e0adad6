"""What documents of a tile share with a query at internal nodes, in the units of their segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.compute.compiling import array_at, inlined, inner
from treewass.trees.columns import COUNT_BITS, TILE

__all__ = ["share_at", "share_lists", "share_rows"]

_COUNT = (1 << COUNT_BITS) - 1
_PLACE = np.int64(0xFFFFFFFF)


@inner
def share_lists(segment: Any, branches: Any, n_lists: Any, n_places: Any, shared: Any) -> None:
    """Write what each document of a tile shares with the query at rare internal nodes, in the segment's own units."""
    _, _, lists, list_values = branches
    lost, half = segment.lost, 16 if segment.is_narrow else 32
    shared[:n_places] = 0
    for one in range(n_lists):
        start = lists[one] >> COUNT_BITS
        for position in range(start, start + (lists[one] & _COUNT)):
            posting = _posting(segment, position)
            value = (posting & ((np.int64(1) << half) - 1)) >> lost << lost
            place = np.uint64(posting >> half) % np.uint64(TILE)
            shared[place] += shared.dtype.type(min(value, np.int64(list_values[one]) << lost))


@inner
def share_rows(segment: Any, dense: Any, branches: Any, n_rows: Any, tile: Any, n_places: Any, shared: Any) -> None:
    """Add what each document of a tile shares with the query at frequent internal nodes."""
    own = dense[tile * segment.tile * segment.n_rows :]
    _add_rows(own, branches[0], branches[1], n_rows, segment.lost, shared, n_places)


@inner
def share_at(
    segment: Any, dense: Any, branches: Any, n_rows: Any, tile: Any, found: Any, n_found: Any, sums: Any
) -> None:
    """Add what some documents of a tile share with the query at frequent internal nodes; `gather` wrote them down."""
    rows, values, lost = branches[0], branches[1], segment.lost
    first = np.uint64(tile * segment.tile * segment.n_rows)
    for one in range(n_rows):
        row, value = first + rows[one], np.int64(values[one])
        if value > 0:  # others fill up the last group
            for entry in range(n_found):
                place = np.uint64(found[entry] & _PLACE)
                sums[entry] += min(np.int64(dense[row + place]) >> lost, value)


@inner
def _add_rows(dense: Any, rows: Any, values: Any, n_rows: Any, lost: Any, shared: Any, size: Any) -> None:
    """Add min(value, number less its last bits) of dense rows, a multiple of four."""
    kind = dense.dtype.type
    most, mask = np.int64(65535 if dense.itemsize == 2 else 2**31 - 1), kind((-1 << lost) & (2**31 - 1))
    for group in range(0, n_rows, 4):
        row0, row1, row2, row3 = rows[group], rows[group + 1], rows[group + 2], rows[group + 3]
        value0 = kind(min(np.int64(values[group]) << lost, most))
        value1 = kind(min(np.int64(values[group + 1]) << lost, most))
        value2 = kind(min(np.int64(values[group + 2]) << lost, most))
        value3 = kind(min(np.int64(values[group + 3]) << lost, most))
        for place in range(np.uint64(size)):
            shared[place] += (
                min(kind(dense[row0 + place] & mask), value0) + min(kind(dense[row1 + place] & mask), value1)
                + min(kind(dense[row2 + place] & mask), value2) + min(kind(dense[row3 + place] & mask), value3)
            )  # fmt: skip


@inlined
def _posting(segment: Any, position: Any) -> Any:
    if segment.is_narrow:
        return np.int64(array_at(segment.postings, segment.n_postings, np.uint32)[position])
    return np.int64(array_at(segment.postings, segment.n_postings, np.uint64)[position])
