"""Compiled searches: the k nearest documents, all within a radius, distances to all or to some."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.compiling import compiled, inner
from treewass.search.kernels.queries import embed_queries, exact_distance, spread_query, tile_keys
from treewass.search.kernels.selection import drain, key_bound, offer
from treewass.search.kernels.views import array_at
from treewass.search.layout import N_FEATURES
from treewass.search.scratch import KEYS, TILE_ROOM
from treewass.search.segments import ABSENT, IDS, IS_NARROW, N_DOCUMENTS, N_TILES, SHIFT, TILE_SIZE

__all__ = ["chosen_distances", "scanned_distances", "search_rows", "within_row"]

_BLOCK = 64  # documents looked at together
_MOST = ABSENT - 1  # the largest key of a document


@compiled
def search_rows(
    metric: NDArray[np.int64],
    segments: NDArray[np.int64],
    scratch: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    first: int,
    stop: int,
    resolution: float,
    out_distances: NDArray[np.float64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the nearest documents of the queries from `first` to `stop`, as many as the results have columns.

    Returns the first row that cannot be embedded and why, as `embed_queries` does.
    """
    row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr, words, weights, first, stop)
    if row >= 0:
        return row, reason
    k = out_ids.shape[1]
    heap_units = np.empty((stop - first, k), np.int64)
    sizes = np.zeros(stop - first, np.int64)
    for number in range(segments.shape[0]):
        segment = segments[number]
        for tile in range(segment[N_TILES]):
            for query in range(stop - first):
                span = slice(bounds[query], bounds[query + 1])
                sizes[query] = _offer_tile(
                    metric, segment, tile, scratch, features[span], values[span], norms[query],
                    heap_units[query], out_ids[first + query], sizes[query],
                )  # fmt: skip
    for query in range(stop - first):
        drain(heap_units[query], out_ids[first + query], sizes[query])
        for place in range(k):
            out_distances[first + query, place] = heap_units[query, place] * resolution
    return -1, 0


@inner
def _offer_tile(
    metric: Any,
    segment: Any,
    tile: Any,
    scratch: Any,
    features: Any,
    values: Any,
    norm: Any,
    heap_units: Any,
    heap_ids: Any,
    size: Any,
) -> Any:
    """Offer a heap every document of a tile that may be among the k nearest; return the heap's size.

    `slack` is what a key may exceed the distance by: a document whose key is above limit + slack is no neighbour.
    """
    n_keys = tile_keys(segment, tile, scratch, features, values)
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    ids = array_at(segment[IDS], segment[N_DOCUMENTS], np.int64)
    k = heap_units.size
    slack = features.size << (segment[SHIFT] + 1) if segment[IS_NARROW] else 0
    limit = heap_units[0] - norm if size == k else key_bound(keys, n_keys, k)
    limit = min(limit + slack, _MOST)
    is_spread = False
    for start in range(0, n_keys, _BLOCK):
        block = keys[start : start + _BLOCK]
        smallest = block[0]
        for place in range(_BLOCK):
            smallest = min(smallest, block[place])
        if smallest > limit:
            continue
        for place in range(_BLOCK):
            if block[place] > limit:
                continue
            document = tile * segment[TILE_SIZE] + start + place
            distance = block[place] + norm
            if segment[IS_NARROW]:
                if not is_spread:
                    spread_query(scratch, metric[N_FEATURES], features, values, True)
                    is_spread = True
                distance = exact_distance(metric, segment, scratch, document, norm)
            size = offer(heap_units, heap_ids, size, distance, ids[document])
            if size == k:
                limit = min(limit, heap_units[0] - norm + slack)
    if is_spread:
        spread_query(scratch, metric[N_FEATURES], features, values, False)
    return size


@compiled
def within_row(
    metric: NDArray[np.int64],
    segments: NDArray[np.int64],
    scratch: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    row: int,
    radius: int,
    out_units: NDArray[np.int64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the documents whose distance to one query is at most `radius` units, in any order.

    Returns how many there are and 0, or -1 and why the query cannot be embedded.
    """
    bad_row, reason, bounds, features, values, norms = embed_queries(
        metric, scratch, indptr, words, weights, row, row + 1
    )
    if bad_row >= 0:
        return -1, reason
    features, values, norm = features[: bounds[1]], values[: bounds[1]], norms[0]
    found = 0
    for number in range(segments.shape[0]):
        segment = segments[number]
        for tile in range(segment[N_TILES]):
            found = _collect_tile(
                metric, segment, tile, scratch, features, values, norm, radius, out_units, out_ids, found
            )
    return found, 0


@inner
def _collect_tile(
    metric: Any,
    segment: Any,
    tile: Any,
    scratch: Any,
    features: Any,
    values: Any,
    norm: Any,
    radius: Any,
    out_units: Any,
    out_ids: Any,
    found: Any,
) -> Any:
    """Append the documents of a tile within a radius; return how many there are now."""
    n_keys = tile_keys(segment, tile, scratch, features, values)
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    ids = array_at(segment[IDS], segment[N_DOCUMENTS], np.int64)
    slack = features.size << (segment[SHIFT] + 1) if segment[IS_NARROW] else 0
    limit = min(radius - norm + slack, _MOST)
    if segment[IS_NARROW]:
        spread_query(scratch, metric[N_FEATURES], features, values, True)
    for place in range(n_keys):
        if keys[place] > limit:
            continue
        document = tile * segment[TILE_SIZE] + place
        distance = keys[place] + norm
        if segment[IS_NARROW]:
            distance = exact_distance(metric, segment, scratch, document, norm)
        if distance <= radius:
            out_units[found], out_ids[found] = distance, ids[document]
            found += 1
    if segment[IS_NARROW]:
        spread_query(scratch, metric[N_FEATURES], features, values, False)
    return found


@compiled
def scanned_distances(
    metric: NDArray[np.int64],
    segment: NDArray[np.int64],
    scratch: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    first: int,
    stop: int,
    resolution: float,
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the distances of the queries from `first` to `stop` to every document of a wide segment.

    What stands for a document that is no neighbour means nothing. Returns as `search_rows` does.
    """
    row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr, words, weights, first, stop)
    if row >= 0:
        return row, reason
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    for tile in range(segment[N_TILES]):
        start = tile * segment[TILE_SIZE]
        for query in range(stop - first):
            span = slice(bounds[query], bounds[query + 1])
            n_keys = tile_keys(segment, tile, scratch, features[span], values[span])
            for place in range(min(n_keys, segment[N_DOCUMENTS] - start)):
                out[first + query, start + place] = (keys[place] + norms[query]) * resolution
    return -1, 0


@compiled
def chosen_distances(
    metric: NDArray[np.int64],
    segment: NDArray[np.int64],
    scratch: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    positions: NDArray[np.int64],
    resolution: float,
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the distances of the first query to the documents at some positions; return as `search_rows` does."""
    row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr, words, weights, 0, 1)
    if row >= 0:
        return row, reason
    features, values = features[: bounds[1]], values[: bounds[1]]
    spread_query(scratch, metric[N_FEATURES], features, values, True)
    for number in range(positions.size):
        out[number] = exact_distance(metric, segment, scratch, positions[number], norms[0]) * resolution
    spread_query(scratch, metric[N_FEATURES], features, values, False)
    return -1, 0
