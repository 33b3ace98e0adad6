"""Compiled loops that take several queries through a narrow tile together.

The dense rows of a tile do not fit the nearest caches, but those of a piece do. All queries go through one piece before
the next, so that each number is fetched once for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.search.kernels.compiling import inner
from treewass.search.kernels.queries import add_piece, look_up, narrow_keys, narrow_rows, tile_room
from treewass.search.kernels.scans import GROUP, PLACES
from treewass.search.kernels.views import array_at
from treewass.search.scratch import BATCH_SHARED, ROOM, ROW_VALUES, TILE_ROOM
from treewass.search.segments import PIECE_SIZE, TILE_SIZE

__all__ = ["add_pieces", "batch_keys", "batch_room", "is_batched"]

# What is written down of a query: numbers of its rows and lists, then the rows and lists with the query's values.
_HEAD = 16
_BYTES = 8 + 8 + 4 + 2  # of a feature


@inner
def is_batched(segment: Any, notes: Any) -> Any:
    """Tell whether queries go through a segment together: several of them, and tiles of several pieces."""
    return notes.size > 0 and segment[PIECE_SIZE] < segment[TILE_SIZE]


@inner
def batch_room(bounds: Any) -> Any:
    """Return the bytes in which any query of a batch can be written down, none for one alone, and its features."""
    if bounds.size == 2:
        return 0, 0
    features = 0
    for query in range(bounds.size - 1):
        features = max(features, bounds[query + 1] - bounds[query])
    room = (features + GROUP + 7) // 8 * 8
    return _HEAD + room * _BYTES, room


@inner
def _written(notes: Any, query: Any, n_bytes: Any, room: Any) -> Any:
    """View what is written down of a query: numbers, rows, lists, the lists' values and the rows' narrow values."""
    address = notes.ctypes.data + query * n_bytes
    numbers, rows = array_at(address, 2, np.int64), array_at(address + _HEAD, room, np.int64)
    lists = array_at(address + _HEAD + 8 * room, room, np.int64)
    list_values = array_at(address + _HEAD + 16 * room, room, np.int32)
    return numbers, rows, lists, list_values, array_at(address + _HEAD + 20 * room, room, np.uint16)


@inner
def _sums(scratch: Any, query: Any) -> Any:
    """Return the address of a query's sums."""
    return scratch[BATCH_SHARED] + 2 * (scratch[TILE_ROOM] + 32) * query


@inner
def add_pieces(
    segment: Any, tile: Any, scratch: Any, bounds: Any, features: Any, values: Any, notes: Any, n_bytes: Any, room: Any
) -> None:
    """Write down the rows and lists of all queries, and add up the dense rows, piece after piece."""
    n_queries, size = bounds.size - 1, tile_room(segment, tile)
    row_values = array_at(scratch[ROW_VALUES], scratch[ROOM], np.int32)
    for query in range(n_queries):
        span = slice(bounds[query], bounds[query + 1])
        numbers, rows, lists, list_values, narrow_values = _written(notes, query, n_bytes, room)
        numbers[0], numbers[1] = look_up(
            segment, tile, features[span], values[span], rows, row_values, lists, list_values
        )
        narrow_rows(segment, row_values, numbers[0], narrow_values)
        array_at(_sums(scratch, query), size, np.uint16)[:] = 0
    for start in range(0, size, segment[PIECE_SIZE]):
        for query in range(n_queries):
            numbers, rows, _, _, narrow_values = _written(notes, query, n_bytes, room)
            values_address = narrow_values.ctypes.data
            add_piece(segment, tile, start, rows.ctypes.data, values_address, numbers[0], _sums(scratch, query))


@inner
def batch_keys(
    segment: Any, tile: Any, scratch: Any, query: Any, n_features: Any, notes: Any, n_bytes: Any, room: Any
) -> Any:
    """Write the keys of a tile's documents for one query after `add_pieces`; return as `tile_keys`."""
    numbers, _, lists, list_values, _ = _written(notes, query, n_bytes, room)
    sums = array_at(_sums(scratch, query), PLACES, np.uint16)
    return narrow_keys(segment, tile, scratch, lists[: numbers[1]], list_values, sums, n_features)
