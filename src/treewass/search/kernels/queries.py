"""Compiled loops shared by every kind of search: embed queries, scan a tile, compare one document exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.search.kernels.compiling import inner
from treewass.search.kernels.embedding import INVALID, metric_views, spread_document
from treewass.search.kernels.scans import GROUP, share_narrow, share_wide
from treewass.search.kernels.views import array_at
from treewass.search.layout import LONGEST, N_COMPONENTS, N_FEATURES, N_WORDS
from treewass.search.scratch import (
    KEYS,
    MASSES,
    NARROW_SHARED,
    QUERY,
    ROOM,
    ROW_VALUES,
    ROWS,
    STARTS,
    STOPS,
    SUMS,
    TILE_ROOM,
    TOUCHED,
    VALUES,
    WEIGHTS,
    WIDE_SHARED,
)
from treewass.search.segments import (
    ABSENT,
    COUNT_BITS,
    DENSE,
    DIRECTORY,
    DOCUMENT_BOUNDS,
    DOCUMENT_WORDS,
    DOUBLE_WEIGHTS,
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

__all__ = ["embed_queries", "exact_distance", "spread_query", "tile_keys"]

_ABSENT = np.int32(ABSENT)


@inner
def embed_queries(metric: Any, scratch: Any, indptr: Any, words: Any, weights: Any, first: Any, stop: Any) -> Any:
    """Embed the queries from `first` to `stop`; the order of a query's features does not matter.

    Returns the number of the first row that cannot be embedded and why (INVALID, OVERFLOW or 0 for one without a
    known word), -1 if there is none; then where each query begins, its features, values and norm.
    """
    factors, bounds, features, lengths = metric_views(metric)
    sums = array_at(scratch[SUMS], metric[N_FEATURES], np.int64)
    masses = array_at(scratch[MASSES], metric[N_WORDS], np.int64)
    touched = array_at(scratch[TOUCHED], scratch[ROOM], np.int32)
    n_queries = stop - first
    is_sound = indptr[first] >= 0 and indptr[stop] <= min(words.size, weights.size)
    n_entries = max(0, indptr[stop] - indptr[first]) if is_sound else 0
    capacity = min(n_entries * metric[LONGEST], n_queries * metric[N_FEATURES])
    query_bounds = np.zeros(n_queries + 1, np.int64)
    query_features, query_values = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    norms = np.zeros(n_queries, np.int64)
    filled = np.int64(0)
    for query in range(n_queries):
        start, count = indptr[first + query], indptr[first + query + 1] - indptr[first + query]
        n_touched = INVALID
        if is_sound and start >= indptr[first] and 0 <= count <= indptr[stop] - start:
            n_touched = spread_document(
                words, weights, start, start, count, metric[N_WORDS], metric[N_COMPONENTS],
                factors, bounds, features, masses, sums, touched,
            )  # fmt: skip
        if n_touched <= 0:
            return first + query, n_touched, query_bounds, query_features, query_values, norms
        norm = np.int64(0)
        for position in range(n_touched):
            feature = touched[position]
            value = np.int32(np.rint(sums[feature] * lengths[feature]))
            sums[feature] = 0
            query_features[filled] = feature
            query_values[filled] = value
            filled += value > 0
            norm += value
        query_bounds[query + 1] = filled
        norms[query] = norm
    return -1, 0, query_bounds, query_features, query_values, norms


@inner
def tile_keys(segment: Any, tile: Any, scratch: Any, features: Any, values: Any) -> Any:
    """Write the keys of a tile's documents for one query into scratch; return how many there are, a multiple of 64.

    Key + norm of the query = distance; in a narrow segment no less than that, and less than that + 2 · features · unit.
    What a damaged file places outside its own arrays is left out.
    """
    tile_size, n_tiles, n_rows = segment[TILE_SIZE], segment[N_TILES], segment[N_ROWS]
    n_features = scratch[ROOM]
    size = min(tile_size, ((segment[N_DOCUMENTS] - tile * tile_size + 63) // 64) * 64)
    directory = array_at(segment[DIRECTORY], n_features * n_tiles, np.int64)
    rows = array_at(scratch[ROWS], scratch[ROOM], np.int64)
    row_values = array_at(scratch[ROW_VALUES], scratch[ROOM], np.int32)
    starts = array_at(scratch[STARTS], scratch[ROOM], np.int64)
    stops = array_at(scratch[STOPS], scratch[ROOM], np.int64)
    list_values = array_at(scratch[VALUES], scratch[ROOM], np.int32)
    used, n_lists = 0, 0
    first_row, n_postings = tile * n_rows, segment[N_POSTINGS]
    for position in range(features.size):
        entry = directory[features[position] * n_tiles + tile]
        count = entry & ((1 << COUNT_BITS) - 1)
        rows[used] = (first_row + ~entry) * tile_size
        row_values[used] = values[position]
        used += 0 <= ~entry < n_rows
        start = entry >> COUNT_BITS
        starts[n_lists] = start
        stops[n_lists] = start + count
        list_values[n_lists] = values[position]
        n_lists += start >= 0 and 0 < count <= n_postings - start
    while used % GROUP:
        rows[used], row_values[used] = rows[0], 0
        used += 1
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    norms = array_at(segment[NORMS] + 4 * tile * tile_size, tile_size, np.int32)
    if segment[IS_NARROW]:
        narrow = array_at(scratch[NARROW_SHARED], scratch[TILE_ROOM], np.uint16)
        narrow_dense = array_at(segment[DENSE], n_tiles * n_rows * tile_size, np.uint16)
        narrow_postings = array_at(segment[POSTINGS], segment[N_POSTINGS], np.uint32)
        share_narrow(
            rows, row_values, used, narrow_dense, starts, stops, list_values, n_lists, narrow_postings, narrow, size,
            segment[SHIFT],
        )  # fmt: skip
        double_shift = np.int32(segment[SHIFT] + 1)
        for place in range(size):
            norm = norms[place]
            keys[place] = _ABSENT if norm == _ABSENT else norm - (np.int32(narrow[place]) << double_shift)
    else:
        wide = array_at(scratch[WIDE_SHARED], scratch[TILE_ROOM], np.int32)
        wide_dense = array_at(segment[DENSE], n_tiles * n_rows * tile_size, np.int32)
        wide_postings = array_at(segment[POSTINGS], segment[N_POSTINGS], np.uint64)
        share_wide(
            rows, row_values, used, wide_dense, starts, stops, list_values, n_lists, wide_postings, wide, size
        )  # fmt: skip
        for place in range(size):
            norm = norms[place]
            keys[place] = _ABSENT if norm == _ABSENT else norm - np.int32(2) * wide[place]
    for place in range(segment[N_DOCUMENTS] - tile * tile_size, size):
        keys[place] = _ABSENT
    return size


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
    factors, bounds, features, lengths = metric_views(metric)
    sums = array_at(scratch[SUMS], metric[N_FEATURES], np.int64)
    masses = array_at(scratch[MASSES], metric[N_WORDS], np.int64)
    touched = array_at(scratch[TOUCHED], scratch[ROOM], np.int32)
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
        words, weights, start, 0, count, metric[N_WORDS], metric[N_COMPONENTS],
        factors, bounds, features, masses, sums, touched,
    )  # fmt: skip
    distance = norm
    for position in range(n_touched):
        feature = touched[position]
        value = np.int64(np.rint(sums[feature] * lengths[feature]))
        sums[feature] = 0
        distance += value - 2 * min(value, np.int64(query[feature]))
    return distance
