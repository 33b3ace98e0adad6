"""Compiled loops shared by every kind of search: embed queries, scan a tile, compare one document exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.search.kernels.compiling import inner
from treewass.search.kernels.embedding import INVALID, spread_document
from treewass.search.kernels.scans import (
    GROUP,
    PLACES,
    add_narrow_postings,
    add_narrow_rows,
    add_wide_postings,
    add_wide_rows,
)
from treewass.search.kernels.views import array_at
from treewass.search.layout import LONGEST, N_FEATURES, N_WORDS
from treewass.search.scratch import (
    AMOUNTS,
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
    COARSE,
    COUNT_BITS,
    DENSE,
    DIRECTORY,
    DOCUMENT_BOUNDS,
    DOCUMENT_WORDS,
    DOUBLE_WEIGHTS,
    IS_COARSE,
    IS_NARROW,
    IS_SINGLE,
    N_DOCUMENTS,
    N_POSTINGS,
    N_ROWS,
    N_TILES,
    N_WEIGHTS,
    NORMS,
    POSTINGS,
    SHIFT,
    SINGLE_WEIGHTS,
    TILE_SIZE,
)

__all__ = ["embed_queries", "exact_distance", "refined_distance", "spread_query", "tile_keys"]

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
    query_bounds = np.zeros(n_queries + 1, np.int64)
    query_features, query_values = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    norms = np.zeros(n_queries, np.int64)
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

    Key + norm of the query is the distance, or exceeds it by less than a slack where values have lost bits. What a
    damaged file places outside its own arrays is left out. Returns how many keys there are, a multiple of 64, the
    slack, and how many dense rows were added up.
    """
    tile_size, first = segment[TILE_SIZE], tile * segment[TILE_SIZE]
    size = min(tile_size, ((segment[N_DOCUMENTS] - first + 63) // 64) * 64)
    is_narrow, is_rough = segment[IS_NARROW] != 0, segment[IS_NARROW] + segment[IS_COARSE] != 0
    n_rows, n_lists = _look_up(segment, tile, scratch, features, values)
    wide = array_at(scratch[WIDE_SHARED], PLACES, np.int32)
    narrow = array_at(scratch[NARROW_SHARED], PLACES, np.uint16)
    lists = array_at(scratch[LISTS], scratch[ROOM], np.int64)
    list_values = array_at(scratch[VALUES], scratch[ROOM], np.int32)
    if is_rough:
        narrow[:size] = 0
        dense = segment[DENSE] if is_narrow else segment[COARSE]
        add_narrow_rows(dense, scratch[ROWS], scratch[NARROW_VALUES], n_rows, scratch[NARROW_SHARED], size)
    if is_narrow:
        for number in range(n_lists):
            start, value = lists[number] >> COUNT_BITS, min(list_values[number] >> segment[SHIFT], 65535)
            stop = start + (lists[number] & _COUNT)
            add_narrow_postings(segment[POSTINGS], start, stop, value, scratch[NARROW_SHARED])
    else:
        wide[:size] = 0
        if not is_rough:
            add_wide_rows(segment[DENSE], scratch[ROWS], scratch[ROW_VALUES], n_rows, scratch[WIDE_SHARED], size)
        for number in range(n_lists):
            start, value = lists[number] >> COUNT_BITS, np.int64(list_values[number])
            stop = start + (lists[number] & _COUNT)
            add_wide_postings(segment[POSTINGS], start, stop, value, scratch[WIDE_SHARED])
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    norms = array_at(segment[NORMS] + 4 * first, tile_size, np.int32)
    shift = np.int32(segment[SHIFT])
    if is_narrow:
        for place in range(size):
            keys[place] = _key(norms[place], np.int32(narrow[place]) << shift)
    elif is_rough:
        for place in range(size):
            keys[place] = _key(norms[place], wide[place] + (np.int32(narrow[place]) << shift))
    else:
        for place in range(size):
            keys[place] = _key(norms[place], wide[place])
    for place in range(segment[N_DOCUMENTS] - first, size):
        keys[place] = _ABSENT
    n_rough = features.size if is_narrow else n_rows
    slack = n_rough << (segment[SHIFT] + 1) if is_rough else 0
    return size, slack, n_rows


@inner
def _key(norm: Any, shared: Any) -> Any:
    """Subtract what is shared, but not from what stands for a document that is no neighbour."""
    return _ABSENT if norm == _ABSENT else np.int32(norm - np.int32(2) * shared)


@inner
def _look_up(segment: Any, tile: Any, scratch: Any, features: Any, values: Any) -> Any:
    """Find a query's dense rows and lists of postings in a tile; write them to scratch, and return how many.

    The number of rows is a multiple of GROUP, filled up with rows of value 0.
    """
    tile_size, n_tiles, n_rows = segment[TILE_SIZE], segment[N_TILES], segment[N_ROWS]
    directory = array_at(segment[DIRECTORY], scratch[ROOM] * n_tiles, np.int64)
    rows = array_at(scratch[ROWS], scratch[ROOM], np.int64)
    row_values = array_at(scratch[ROW_VALUES], scratch[ROOM], np.int32)
    narrow_values = array_at(scratch[NARROW_VALUES], scratch[ROOM], np.uint16)
    lists = array_at(scratch[LISTS], scratch[ROOM], np.int64)
    list_values = array_at(scratch[VALUES], scratch[ROOM], np.int32)
    used, n_lists = np.uint64(0), np.uint64(0)
    first_row, n_postings = tile * n_rows, segment[N_POSTINGS]
    for position in range(features.size):
        entry = directory[np.uint64(features[position]) * np.uint64(n_tiles) + np.uint64(tile)]
        rows[used] = (first_row + ~entry) * tile_size
        row_values[used] = values[position]
        used += np.uint64(0 <= ~entry < n_rows)
        lists[n_lists] = entry
        list_values[n_lists] = values[position]
        count = entry & _COUNT
        n_lists += np.uint64((entry >= 0) & (count > 0) & (count <= n_postings - (entry >> COUNT_BITS)))
    while used % np.uint64(GROUP):
        rows[used], row_values[used] = rows[0], 0
        used += np.uint64(1)
    for position in range(used):
        narrow_values[position] = np.uint16(min(row_values[position] >> segment[SHIFT], 65535))
    return np.int64(used), np.int64(n_lists)


@inner
def refined_distance(segment: Any, tile: Any, scratch: Any, n_rows: Any, place: Any, norm: Any) -> Any:
    """Compare a document of a coarse segment exactly with the query whose keys were written last.

    What postings add is exact already; of the dense rows the whole values are read.
    """
    dense = array_at(segment[DENSE], segment[N_TILES] * segment[N_ROWS] * segment[TILE_SIZE], np.int32)
    rows = array_at(scratch[ROWS], scratch[ROOM], np.int64)
    row_values = array_at(scratch[ROW_VALUES], scratch[ROOM], np.int32)
    norms = array_at(segment[NORMS] + 4 * tile * segment[TILE_SIZE], segment[TILE_SIZE], np.int32)
    shared = np.int64(array_at(scratch[WIDE_SHARED], PLACES, np.int32)[place])
    for number in range(n_rows):
        shared += min(row_values[number], dense[rows[number] + place])
    return norm + norms[place] - 2 * shared


@inner
def spread_query(scratch: Any, n_features: Any, features: Any, values: Any, is_there: Any) -> Any:
    """Write a query in full, or zeros in its place again."""
    query = array_at(scratch[QUERY], n_features, np.int32)
    for position in range(features.size):
        query[features[position]] = values[position] if is_there else np.int32(0)


@inner
def exact_distance(metric: Any, segment: Any, scratch: Any, document: Any, norm: Any) -> Any:
    """Embed a document from its words and compare it with the query in scratch, in units.

    A document that a damaged file places outside its own arrays has no words.
    """
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
    n_touched = spread_document(
        metric, words, weights, start, 0, count, word_masses, sums, unsorted, touched, amounts
    )
    distance = norm
    for position in range(n_touched):
        value = np.int64(np.rint(amounts[position]))
        distance += value - 2 * min(value, np.int64(query[touched[position]]))
    return distance
