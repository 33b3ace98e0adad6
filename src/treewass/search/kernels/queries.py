"""Compiled loops shared by every kind of search: embed queries, scan a tile, compare one document exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.search.kernels.compiling import inner
from treewass.search.kernels.embedding import INVALID, spread_document
from treewass.search.kernels.scans import (
    GROUP,
    PLACES,
    add_narrow_lists,
    add_narrow_rows,
    add_wide_lists,
    add_wide_rows,
)
from treewass.search.kernels.views import array_at
from treewass.search.layout import LONGEST, N_FEATURES, N_WORDS
from treewass.search.scratch import (
    AMOUNTS,
    COPIED,
    KEYS,
    LISTS,
    NARROW_SHARED,
    NARROW_VALUES,
    QUERY,
    ROOM,
    ROW_VALUES,
    ROWS,
    SUMS,
    TILE_ROOM,
    TOUCHED,
    VALUES,
    WEIGHTS,
    WIDE_SHARED,
    WORD_MASSES,
)
from treewass.search.segments import (
    ABSENT,
    COUNT_BITS,
    DENSE,
    DIRECTORY,
    DOCUMENT_BOUNDS,
    DOCUMENT_WORDS,
    DOUBLE_WEIGHTS,
    EMBEDDED,
    EMBEDDED_BOUNDS,
    IS_NARROW,
    IS_SINGLE,
    N_DIRECTORY,
    N_DOCUMENTS,
    N_EMBEDDED,
    N_POSTINGS,
    N_ROWS,
    N_TILES,
    N_WEIGHTS,
    NORMS,
    PIECE_SIZE,
    POSTINGS,
    SHIFT,
    SINGLE_WEIGHTS,
    TILE_SIZE,
)

__all__ = [
    "add_piece",
    "embed_queries",
    "exact_distance",
    "look_up",
    "narrow_keys",
    "narrow_rows",
    "spread_query",
    "tile_keys",
    "tile_room",
]

_ABSENT = np.int32(ABSENT)
_COUNT = (1 << COUNT_BITS) - 1


@inner
def embed_queries(metric: Any, scratch: Any, indptr: Any, words: Any, weights: Any) -> Any:
    """Embed all queries; the order of a query's features does not matter.

    Returns the number of the first row that cannot be embedded and why (INVALID, OVERFLOW or 0 for one without a
    known word), -1 if there is none; then where each query begins, its features, values and norm.
    """
    sums = array_at(scratch[SUMS], metric[N_FEATURES], np.int64)
    word_masses = array_at(scratch[WORD_MASSES], metric[N_WORDS], np.int64)
    unsorted = array_at(scratch[SUMS], 0, np.uint64)
    touched = array_at(scratch[TOUCHED], scratch[ROOM], np.int32)
    amounts = array_at(scratch[AMOUNTS], scratch[ROOM], np.float64)
    n_queries = indptr.size - 1
    is_sound = indptr[0] >= 0 and indptr[n_queries] <= min(words.size, weights.size)
    n_entries = max(0, indptr[n_queries] - indptr[0]) if is_sound else 0
    capacity = min(n_entries * metric[LONGEST], n_queries * metric[N_FEATURES])
    numbers, entries = np.zeros(2 * n_queries + 1, np.int64), np.empty(2 * capacity, np.int32)
    query_bounds, norms = numbers[: n_queries + 1], numbers[n_queries + 1 :]
    query_features, query_values = entries[:capacity], entries[capacity:]
    filled = np.int64(0)
    for query in range(n_queries):
        start, count = indptr[query], indptr[query + 1] - indptr[query]
        n_touched = INVALID
        if is_sound and start >= indptr[0] and 0 <= count <= indptr[n_queries] - start:
            n_touched = spread_document(
                metric, words, weights, start, start, count, word_masses, sums, unsorted, touched, amounts
            )
        if n_touched <= 0:
            return query, n_touched, query_bounds, query_features, query_values, norms
        norm = np.int64(0)
        for position in range(n_touched):
            value = np.int32(np.rint(amounts[position]))
            query_features[filled] = touched[position]
            query_values[filled] = value
            filled += value > 0
            norm += value
        query_bounds[query + 1] = filled
        norms[query] = norm
    return -1, 0, query_bounds, query_features, query_values, norms


@inner
def tile_keys(segment: Any, tile: Any, scratch: Any, features: Any, values: Any) -> Any:
    """Write the keys of a tile's documents for one query into scratch.

    Key + norm of the query is the distance, or exceeds it by less than a slack where values have lost bits. Returns
    how many keys there are, a multiple of 64, and the slack.
    """
    size, room = tile_room(segment, tile), scratch[ROOM]
    rows, row_values = array_at(scratch[ROWS], room, np.int64), array_at(scratch[ROW_VALUES], room, np.int32)
    lists, list_values = array_at(scratch[LISTS], room, np.int64), array_at(scratch[VALUES], room, np.int32)
    n_rows, n_lists = look_up(segment, tile, features, values, rows, row_values, lists, list_values)
    if segment[IS_NARROW]:
        narrow_values = array_at(scratch[NARROW_VALUES], room, np.uint16)
        narrow = array_at(scratch[NARROW_SHARED], PLACES, np.uint16)
        narrow_rows(segment, row_values, n_rows, narrow_values)
        narrow[:size] = 0
        for start in range(0, size, segment[PIECE_SIZE]):
            add_piece(segment, tile, start, scratch[ROWS], scratch[NARROW_VALUES], n_rows, scratch[NARROW_SHARED])
        return narrow_keys(segment, tile, scratch, lists[:n_lists], list_values, narrow, features.size)
    wide = array_at(scratch[WIDE_SHARED], PLACES, np.int32)
    wide[:size] = 0
    dense = segment[DENSE] + 4 * tile * segment[N_ROWS] * segment[TILE_SIZE]
    add_wide_rows(dense, scratch[ROWS], scratch[ROW_VALUES], n_rows, scratch[WIDE_SHARED], size)
    add_wide_lists(
        segment[POSTINGS], segment[N_POSTINGS], lists[:n_lists], list_values, 0, 2**31, scratch[COPIED],
        scratch[WIDE_SHARED],
    )  # fmt: skip
    keys, norms = _keys_and_norms(segment, tile, scratch)
    for place in range(size):
        keys[place] = _key(norms[place], wide[place])
    _hide_rest(segment, tile, keys, size)
    return size, 0


@inner
def add_piece(segment: Any, tile: Any, start: Any, rows: Any, values: Any, n_rows: Any, sums: Any) -> None:
    """Add up dense rows of the piece of a narrow tile that begins at a place; rows, values and sums by address."""
    dense = segment[DENSE] + 2 * segment[N_ROWS] * (tile * segment[TILE_SIZE] + start)
    size = min(segment[PIECE_SIZE], tile_room(segment, tile) - start)
    add_narrow_rows(dense, rows, values, n_rows, sums + 2 * start, size)


@inner
def narrow_rows(segment: Any, row_values: Any, n_rows: Any, narrow_values: Any) -> None:
    """Drop the last bits of a query's values; what exceeds every document's value may be cut to the largest."""
    for number in range(n_rows):
        narrow_values[number] = np.uint16(min(row_values[number] >> segment[SHIFT], 65535))


@inner
def narrow_keys(
    segment: Any, tile: Any, scratch: Any, lists: Any, list_values: Any, shared: Any, n_features: Any
) -> Any:
    """Add what postings share to the sums of a narrow tile's dense rows, and write the keys; return as `tile_keys`."""
    add_narrow_lists(
        segment[POSTINGS], segment[N_POSTINGS], lists, list_values, segment[SHIFT], 65535, scratch[COPIED],
        shared.ctypes.data,
    )  # fmt: skip
    keys, norms = _keys_and_norms(segment, tile, scratch)
    size, shift = tile_room(segment, tile), np.int32(segment[SHIFT])
    for place in range(size):
        keys[place] = _key(norms[place], np.int32(shared[place]) << shift)
    _hide_rest(segment, tile, keys, size)
    return size, n_features << (segment[SHIFT] + 1)


@inner
def tile_room(segment: Any, tile: Any) -> Any:
    """Return how many places of a tile are looked at: its documents, and what fills up the last 64."""
    left = segment[N_DOCUMENTS] - tile * segment[TILE_SIZE]
    return min(segment[TILE_SIZE], ((left + 63) // 64) * 64)


@inner
def _keys_and_norms(segment: Any, tile: Any, scratch: Any) -> Any:
    """View the keys in scratch and the norms of a tile."""
    norms = array_at(segment[NORMS] + 4 * tile * segment[TILE_SIZE], segment[TILE_SIZE], np.int32)
    return array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32), norms


@inner
def _key(norm: Any, shared: Any) -> Any:
    """Subtract what is shared, but not from what stands for a document that is no neighbour."""
    return _ABSENT if norm == _ABSENT else np.int32(norm - np.int32(2) * shared)


@inner
def _hide_rest(segment: Any, tile: Any, keys: Any, size: Any) -> None:
    """Make sure that what fills up the last 64 places is no neighbour, whatever a damaged file says."""
    for place in range(segment[N_DOCUMENTS] - tile * segment[TILE_SIZE], size):
        keys[place] = _ABSENT


@inner
def look_up(
    segment: Any, tile: Any, features: Any, values: Any, rows: Any, row_values: Any, lists: Any, list_values: Any
) -> Any:
    """Find a query's dense rows and lists of postings in a tile, and write them down; return how many.

    The number of rows is a multiple of GROUP, filled up with rows of value 0. What a damaged file places outside its
    own arrays is left out.
    """
    piece, n_tiles, n_rows = segment[PIECE_SIZE], segment[N_TILES], segment[N_ROWS]
    directory = array_at(segment[DIRECTORY], segment[N_DIRECTORY], np.int64)
    used, n_lists = np.uint64(0), np.uint64(0)
    n_postings = segment[N_POSTINGS]
    for position in range(features.size):
        entry = directory[np.uint64(features[position]) * np.uint64(n_tiles) + np.uint64(tile)]
        rows[used] = ~entry * piece
        row_values[used] = values[position]
        used += np.uint64(0 <= ~entry < n_rows)
        lists[n_lists] = entry
        list_values[n_lists] = values[position]
        count = entry & _COUNT
        n_lists += np.uint64((entry >= 0) & (count > 0) & (count <= n_postings - (entry >> COUNT_BITS)))
    while used % np.uint64(GROUP):
        rows[used], row_values[used] = rows[0], 0
        used += np.uint64(1)
    return np.int64(used), np.int64(n_lists)


@inner
def spread_query(scratch: Any, n_features: Any, features: Any, values: Any, is_there: Any) -> Any:
    """Write a query in full, or zeros in its place again."""
    query = array_at(scratch[QUERY], n_features, np.int32)
    for position in range(features.size):
        query[features[position]] = values[position] if is_there else np.int32(0)


@inner
def exact_distance(metric: Any, segment: Any, scratch: Any, document: Any, norm: Any) -> Any:
    """Compare a document, embedded already or from its words, with the query in scratch, in units.

    A document that a damaged file places outside its own arrays has no words.
    """
    if segment[N_EMBEDDED] > 0:
        return _embedded_distance(segment, scratch, document, norm)
    sums = array_at(scratch[SUMS], metric[N_FEATURES], np.int64)
    word_masses = array_at(scratch[WORD_MASSES], metric[N_WORDS], np.int64)
    unsorted = array_at(scratch[SUMS], 0, np.uint64)
    touched = array_at(scratch[TOUCHED], scratch[ROOM], np.int32)
    amounts = array_at(scratch[AMOUNTS], scratch[ROOM], np.float64)
    query = array_at(scratch[QUERY], metric[N_FEATURES], np.int32)
    weights = array_at(scratch[WEIGHTS], metric[N_WORDS], np.float64)
    document_bounds = array_at(segment[DOCUMENT_BOUNDS], segment[N_DOCUMENTS] + 1, np.int64)
    words = array_at(segment[DOCUMENT_WORDS], segment[N_WEIGHTS], np.int32)
    start, stop = document_bounds[document], document_bounds[document + 1]
    count = min(stop - start, metric[N_WORDS]) if 0 <= start <= stop <= segment[N_WEIGHTS] else 0
    if segment[IS_SINGLE]:
        single = array_at(segment[SINGLE_WEIGHTS], segment[N_WEIGHTS], np.float32)
        for entry in range(count):
            weights[entry] = single[start + entry]
    else:
        double = array_at(segment[DOUBLE_WEIGHTS], segment[N_WEIGHTS], np.float64)
        for entry in range(count):
            weights[entry] = double[start + entry]
    n_touched = spread_document(metric, words, weights, start, 0, count, word_masses, sums, unsorted, touched, amounts)
    distance = norm
    for position in range(n_touched):
        value = np.int64(np.rint(amounts[position]))
        distance += value - 2 * min(value, np.int64(query[touched[position]]))
    return distance


@inner
def _embedded_distance(segment: Any, scratch: Any, document: Any, norm: Any) -> Any:
    """Compare an embedded document with the query in scratch."""
    bounds = array_at(segment[EMBEDDED_BOUNDS], segment[N_DOCUMENTS] + 1, np.int64)
    entries = array_at(segment[EMBEDDED], segment[N_EMBEDDED], np.int64)
    query = array_at(scratch[QUERY], scratch[ROOM], np.int32)
    shared = np.int64(0)
    for position in range(np.uint64(bounds[document]), np.uint64(bounds[document + 1])):
        entry = entries[position]
        shared += min(query[np.uint64(entry) >> np.uint64(32)], np.int32(entry))
    norms = array_at(segment[NORMS], segment[N_DOCUMENTS], np.int32)
    return norm + norms[document] - 2 * shared
