"""Compiled loops that add up what a query shares with the documents of a tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import array_at, compiled, inlined, inner
from treewass.trees.columns import COLUMNS, COUNT_BITS, GROUP, TILE

__all__ = ["PLACES", "add_lists", "add_rows", "column_distances", "fill_tile", "look_up", "tile_room"]

PLACES = TILE  # sums that postings can reach: only so many bits of a place are taken, so that none leads elsewhere
_COUNT = (1 << COUNT_BITS) - 1


@inlined
def tile_room(columns: Any, tile: int) -> Any:
    """Return how many places of a tile are looked at: its documents, and what fills up the last 64."""
    left = columns.n_documents - tile * columns.tile
    return min(columns.tile, ((left + 63) // 64) * 64)


@inner
def _entry_in(tiles: Any, starts: Any, entry: Any, tile: Any, n_tiles: Any) -> Any:
    """Return a feature's entry in one of several tiles: ``~row``, ``start << COUNT_BITS | count``, or 0 for none."""
    first, count = np.uint64(entry >> COUNT_BITS), np.uint64(entry & _COUNT)
    if entry <= 0 or count > np.uint64(tiles.size) or first > np.uint64(tiles.size) - count:
        return min(entry, np.int64(0))
    wanted = np.uint16(tile)
    if count == np.uint64(n_tiles):  # it is in every tile
        first, count = first + np.uint64(tile), np.uint64(1)
    while count > np.uint64(1):  # the last place that is not beyond the tile
        half = count >> np.uint64(1)
        first += half if tiles[first + half] <= wanted else np.uint64(0)
        count -= half
    if count == np.uint64(0) or tiles[first] != wanted:
        return np.int64(0)
    start = np.int64(starts[first])
    number = np.int64(starts[first + np.uint64(1)]) - start
    return (start << COUNT_BITS) | number if 0 <= number <= _COUNT else np.int64(0)


@inner
def look_up(
    columns: Any, tile: Any, features: Any, values: Any, rows: Any, row_values: Any, lists: Any, list_values: Any
) -> Any:
    """Find a query's dense rows and lists of postings in a tile, and write them down; return how many.

    Rows are written as where they begin in a tile. Their number is a multiple of GROUP, filled up with rows of value
    0. Values lose as many bits as the documents' have lost; no value exceeds what `row_values` can hold, since no
    document's does. What a damaged file places outside its own arrays is left out.
    """
    directory = array_at(columns.directory, columns.n_directory, np.int64)
    tiles = array_at(columns.tiles, columns.n_places, np.uint16)
    starts, several = array_at(columns.starts, columns.n_places + 1, np.uint32), columns.n_tiles > 1
    largest = np.int64(65535) if row_values.itemsize == 2 else np.int64(2**31 - 1)
    used, n_lists = np.uint64(0), np.uint64(0)
    for position in range(features.size):
        value = min(np.int64(values[position]) >> columns.shift, largest)
        entry = directory[np.uint64(features[position])]
        if several:
            entry = _entry_in(tiles, starts, entry, tile, columns.n_tiles)
        rows[used], row_values[used] = ~entry * columns.tile, value
        used += np.uint64((entry < 0) & (~entry < columns.n_rows))
        lists[n_lists], list_values[n_lists] = entry, value
        count = entry & _COUNT
        n_lists += np.uint64((entry >= 0) & (count > 0) & (count <= columns.n_postings - (entry >> COUNT_BITS)))
    while used % np.uint64(GROUP):
        rows[used], row_values[used] = rows[0], 0
        used += np.uint64(1)
    return np.int64(used), np.int64(n_lists)


@inner
def add_rows(dense: Any, rows: Any, values: Any, n_rows: Any, sums: Any, size: Any) -> None:
    """Add min(value, number) of `n_rows` dense rows, a multiple of GROUP, to the first `size` sums.

    Places are unsigned numbers: for signed ones numba checks whether they count from the end.
    """
    for group in range(0, n_rows, GROUP):
        row0, row1, row2, row3 = rows[group], rows[group + 1], rows[group + 2], rows[group + 3]
        row4, row5, row6, row7 = rows[group + 4], rows[group + 5], rows[group + 6], rows[group + 7]
        value0, value1, value2, value3 = values[group], values[group + 1], values[group + 2], values[group + 3]
        value4, value5, value6, value7 = values[group + 4], values[group + 5], values[group + 6], values[group + 7]
        for place in range(np.uint64(size)):
            sums[place] += (
                min(dense[row0 + place], value0) + min(dense[row1 + place], value1)
                + min(dense[row2 + place], value2) + min(dense[row3 + place], value3)
                + min(dense[row4 + place], value4) + min(dense[row5 + place], value5)
                + min(dense[row6 + place], value6) + min(dense[row7 + place], value7)
            )  # fmt: skip


@inner
def add_lists(postings: Any, lists: Any, values: Any, n_lists: Any, sums: Any) -> None:
    """Add min(value, number) of lists (``start << COUNT_BITS | count``) to the sums of their places, below PLACES.

    Three lists are read side by side, and whichever ends makes room for the next one: so the memory is asked for the
    beginning of a list while others are added up.
    """
    one, none = np.int64(0), np.uint64(0)
    start0, start1, start2, left0, left1, left2 = none, none, none, none, none, none
    value0, value1, value2 = sums.dtype.type(0), sums.dtype.type(0), sums.dtype.type(0)
    common = none
    while one < n_lists or common > none:
        if left0 == none and one < n_lists:
            start0, left0, value0 = np.uint64(lists[one] >> COUNT_BITS), np.uint64(lists[one] & _COUNT), values[one]
            one += 1
        if left1 == none and one < n_lists:
            start1, left1, value1 = np.uint64(lists[one] >> COUNT_BITS), np.uint64(lists[one] & _COUNT), values[one]
            one += 1
        if left2 == none and one < n_lists:
            start2, left2, value2 = np.uint64(lists[one] >> COUNT_BITS), np.uint64(lists[one] & _COUNT), values[one]
            one += 1
        common = min(left0, left1, left2)
        for step in range(common):
            _add_posting(postings, start0 + step, value0, sums)
            _add_posting(postings, start1 + step, value1, sums)
            _add_posting(postings, start2 + step, value2, sums)
        start0, start1, start2 = start0 + common, start1 + common, start2 + common
        left0, left1, left2 = left0 - common, left1 - common, left2 - common
    _add_list(postings, start0, left0, value0, sums)
    _add_list(postings, start1, left1, value1, sums)
    _add_list(postings, start2, left2, value2, sums)


@inner
def _add_list(postings: Any, start: Any, count: Any, value: Any, sums: Any) -> None:
    for position in range(start, start + count):
        _add_posting(postings, position, value, sums)


@inlined
def _add_posting(postings: Any, position: Any, value: Any, sums: Any) -> None:
    """Add min(value, number) of a posting, a place and a number in one, to the sum of its place."""
    kind, number = postings.dtype.type, sums.dtype.type
    packed, half, last_place = postings[position], kind(postings.itemsize * 4), kind(PLACES - 1)
    sums[np.uint64((packed >> half) & last_place)] += min(number(packed), value)


@compiled
def fill_tile(
    bounds: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[np.int64],
    shift: int,
    starts: NDArray[np.int64],
    dense: NDArray[Any],
    postings: NDArray[Any],
) -> None:
    """Write the values of a tile's documents, less their last `shift` bits, into its dense rows and as postings.

    `starts` are entries of the directory that move along the postings as they are written.
    """
    half = postings.itemsize * 4
    for place in range(bounds.size - 1):
        for position in range(bounds[place], bounds[place + 1]):
            entry, value = starts[features[position]], values[position] >> shift
            if entry < 0:
                dense[~entry, place] = value
            else:
                postings[entry >> COUNT_BITS] = (place << half) | value
                starts[features[position]] = entry + (1 << COUNT_BITS)


@compiled
def column_distances(
    plan: NDArray[np.int64],
    bounds: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[np.int32],
    norms: NDArray[np.int64],
    resolution: float,
    out: NDArray[np.float64],
) -> None:
    """Write the distances of embedded queries to every document of columns that hold values whole.

    The distance to a document that is no neighbour means nothing.
    """
    columns = array_at(plan.ctypes.data, 1, COLUMNS)[0]
    room, n_queries = 0, bounds.size - 1
    for query in range(n_queries):
        room = max(room, bounds[query + 1] - bounds[query])
    room += GROUP
    rows, row_values = np.empty(room, np.uint64), np.empty(room, np.int32)
    lists, list_values = np.empty(room, np.int64), np.empty(room, np.int32)
    sums = np.empty(PLACES, np.int32)
    postings = array_at(columns.postings, columns.n_postings, np.uint64)
    document_norms = array_at(columns.norms, columns.n_tiles * columns.tile, np.int32)
    for tile in range(columns.n_tiles):
        first, size = tile * columns.tile, tile_room(columns, tile)
        n_numbers = columns.n_rows * columns.tile
        dense = array_at(columns.dense + 4 * tile * n_numbers, n_numbers, np.int32)
        for query in range(n_queries):
            own, its = features[bounds[query] : bounds[query + 1]], values[bounds[query] : bounds[query + 1]]
            n_rows, n_lists = look_up(columns, tile, own, its, rows, row_values, lists, list_values)
            sums[:size] = 0
            add_rows(dense, rows, row_values, n_rows, sums, size)
            add_lists(postings, lists, list_values, n_lists, sums)
            for place in range(min(size, columns.n_documents - first)):
                units = norms[query] + document_norms[first + place] - 2 * np.int64(sums[place])
                out[query, first + place] = units * resolution
