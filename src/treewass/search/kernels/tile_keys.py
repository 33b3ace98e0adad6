"""The compiled loop that writes the keys of a tile: what the distances to its documents follow from."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.compute.compiling import array_at, inner
from treewass.trees.column_kernels import add_lists, add_rows, look_up, tile_room
from treewass.trees.columns import ABSENT

__all__ = ["write_keys"]

_ABSENT = np.int32(ABSENT)


@inner
def write_keys(segment: Any, tile: Any, scratch: Any, features: Any, values: Any, kind: Any, posting_kind: Any) -> Any:
    """Write a key for each document of a tile to scratch; return how many.

    The key is the norm of the document less twice what it shares with the query, so key + norm of the query is the
    distance. Values that have lost bits make it larger, by less than 2 of their units for each feature of the query.
    What fills up the last 64 places is no neighbour, whatever a damaged file says.
    """
    rows, lists = array_at(scratch.rows, scratch.room, np.uint64), array_at(scratch.lists, scratch.room, np.int64)
    row_values = array_at(scratch.row_values, scratch.room, kind)
    list_values = array_at(scratch.list_values, scratch.room, kind)
    sums, keys = array_at(scratch.sums, scratch.places, kind), array_at(scratch.keys, scratch.tile, np.int32)
    n_rows, n_lists = look_up(segment, tile, features, values, rows, row_values, lists, list_values)
    size, first, unit = tile_room(segment, tile), tile * segment.tile, np.int32(2 << segment.shift)
    sums[:size] = 0
    dense = array_at(segment.dense + sums.itemsize * first * segment.n_rows, segment.n_rows * segment.tile, kind)
    add_rows(dense, rows, row_values, n_rows, sums, size)
    add_lists(array_at(segment.postings, segment.n_postings, posting_kind), lists, list_values, n_lists, sums)
    norms = array_at(segment.norms + 4 * first, segment.tile, np.int32)
    for place in range(size):
        norm = norms[place]
        keys[place] = _ABSENT if norm == _ABSENT else np.int32(norm - unit * np.int32(sums[place]))
    for place in range(segment.n_documents - first, size):
        keys[place] = _ABSENT
    return size
