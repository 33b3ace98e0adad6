"""Compiled searches: the k nearest documents, all within a radius, distances to all or to some."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.batches import add_pieces, batch_keys, batch_room, is_batched
from treewass.search.kernels.bits import first_bit, marked_at_most
from treewass.search.kernels.compiling import compiled, inner
from treewass.search.kernels.queries import (
    embed_queries,
    exact_distance,
    spread_query,
    tile_keys,
)
from treewass.search.kernels.selection import BLOCK, CLASSES, drain, gather, key_bound, offer, pack, rank
from treewass.search.kernels.views import array_at
from treewass.search.layout import FRACTION_BITS, METRIC_SIZE, N_FEATURES
from treewass.search.scratch import COPIED, FOUND, FOUND_ROOM, KEYS, SCRATCH_SIZE, TILE_ROOM
from treewass.search.segments import ABSENT, IDS, IS_NARROW, N_DOCUMENTS, N_TILES, SEGMENT_SIZE, TILE_SIZE

__all__ = ["chosen_distances", "scanned_distances", "search_rows", "within_row"]

_MOST = ABSENT - 1  # the largest key of a document


@inner
def _parts(plan: Any) -> Any:
    """Take a plan (see `make_plan`) apart: descriptions of metric, scratch and segments."""
    segments = plan[METRIC_SIZE + SCRATCH_SIZE :]
    return (
        plan[:METRIC_SIZE],
        plan[METRIC_SIZE : METRIC_SIZE + SCRATCH_SIZE],
        segments.reshape((segments.size // SEGMENT_SIZE, SEGMENT_SIZE)),
    )


@inner
def _classes(scratch: Any) -> Any:
    """View the room in scratch for finding a bound."""
    return array_at(scratch[COPIED], CLASSES, np.int32)


@inner
def _resolution(metric: Any) -> Any:
    """Return the size of one unit."""
    return math.ldexp(1.0, -metric[FRACTION_BITS])


@compiled
def search_rows(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    out_distances: NDArray[np.float64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the nearest documents of all queries, as many as the results have columns.

    Returns the first row that cannot be embedded and why, as `embed_queries` does.
    """
    metric, scratch, segments = _parts(plan)
    row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr, words, weights)
    if row >= 0:
        return row, reason
    n_queries, k = out_ids.shape
    heaps = np.zeros(n_queries * (k + 1), np.int64)
    units, sizes = heaps[n_queries:].reshape((n_queries, k)), heaps[:n_queries]
    n_bytes, room = batch_room(bounds)
    notes = np.empty(n_queries * n_bytes, np.uint8)
    is_one_tile = segments.shape[0] == 1 and segments[0, N_TILES] == 1
    for number in range(segments.shape[0]):
        segment = segments[number]
        for tile in range(segment[N_TILES]):
            if is_batched(segment, notes):
                add_pieces(segment, tile, scratch, bounds, features, values, notes, n_bytes, room)
            for query in range(n_queries):
                span = slice(bounds[query], bounds[query + 1])
                own = features[span], values[span]
                found = (norms[query], *_keys(segment, tile, scratch, query, *own, notes, n_bytes, room))
                if is_one_tile:
                    _rank(metric, segment, scratch, *own, *found, units[query], out_ids[query])
                else:
                    sizes[query] = _offer(
                        metric, segment, tile, scratch, *own, *found, units[query], out_ids[query], sizes[query]
                    )
    resolution = _resolution(metric)
    for query in range(n_queries):
        if not is_one_tile:
            drain(units[query], out_ids[query], k)
        for place in range(k):
            out_distances[query, place] = units[query, place] * resolution
    return -1, 0


@inner
def _keys(
    segment: Any,
    tile: Any,
    scratch: Any,
    query: Any,
    features: Any,
    values: Any,
    notes: Any,
    n_bytes: Any,
    room: Any,
) -> Any:
    """Write the keys of a tile's documents for one query, alone or after `add_pieces`; return as `tile_keys`."""
    if is_batched(segment, notes):
        return batch_keys(segment, tile, scratch, query, features.size, notes, n_bytes, room)
    return tile_keys(segment, tile, scratch, features, values)


@inner
def _rank(
    metric: Any,
    segment: Any,
    scratch: Any,
    features: Any,
    values: Any,
    norm: Any,
    n_keys: Any,
    slack: Any,
    out_units: Any,
    out_ids: Any,
) -> None:
    """Write the nearest documents of an index that is one tile: ranked by their keys, or by a heap if they are many."""
    k = out_ids.size
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    found = array_at(scratch[FOUND], FOUND_ROOM, np.int64)
    count = gather(keys, n_keys, np.int32(min(key_bound(keys, n_keys, k, _classes(scratch)) + slack, _MOST)), found)
    if count > FOUND_ROOM:
        size = _offer(metric, segment, 0, scratch, features, values, norm, n_keys, slack, out_units, out_ids, 0)
        drain(out_units, out_ids, size)
        return
    if slack > 0:
        spread_query(scratch, metric[N_FEATURES], features, values, True)
        count = _refine(metric, segment, scratch, slack, k, found, count)
        spread_query(scratch, metric[N_FEATURES], features, values, False)
    ids = array_at(segment[IDS], segment[N_DOCUMENTS], np.int64)
    for one in range(count):
        before = rank(found, count, one)
        if before < k:
            out_units[before] = (found[one] >> np.int64(32)) + norm
            out_ids[before] = ids[found[one] & np.int64(0xFFFFFFFF)]


@inner
def _refine(metric: Any, segment: Any, scratch: Any, slack: Any, k: Any, found: Any, count: Any) -> Any:
    """Make the keys found exact, but for those that are too large to be among the k smallest; return how many stay."""
    limit = np.int64(_MOST)
    for one in range(count):
        if rank(found, count, one) == k - 1:
            limit = (found[one] >> np.int64(32)) + slack
    stay = 0
    for one in range(count):
        if found[one] >> np.int64(32) <= limit:
            place = found[one] & np.int64(0xFFFFFFFF)
            found[stay] = pack(exact_distance(metric, segment, scratch, place, 0), place)
            stay += 1
    return stay


@inner
def _offer(
    metric: Any,
    segment: Any,
    tile: Any,
    scratch: Any,
    features: Any,
    values: Any,
    norm: Any,
    n_keys: Any,
    slack: Any,
    heap_units: Any,
    heap_ids: Any,
    size: Any,
) -> Any:
    """Offer a heap every document of a tile whose key says that it may be near; return the heap's size."""
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    ids = array_at(segment[IDS], segment[N_DOCUMENTS], np.int64)
    k = heap_units.size
    limit = heap_units[0] - norm if size == k else key_bound(keys, n_keys, k, _classes(scratch))
    limit = min(limit + slack, _MOST)
    is_spread = False
    for start in range(0, n_keys, BLOCK):
        near = marked_at_most(scratch[KEYS] + 4 * start, np.int32(limit))
        while near != np.uint64(0):
            place = start + np.int64(first_bit(near))
            near &= near - np.uint64(1)
            if keys[place] > limit:
                continue
            document, distance = tile * segment[TILE_SIZE] + place, keys[place] + norm
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
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    radius: int,
    out_units: NDArray[np.int64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the documents whose distance to the first query is at most `radius` units, in any order.

    Returns how many there are and 0, or -1 and why the query cannot be embedded.
    """
    metric, scratch, segments = _parts(plan)
    bad_row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr[:2], words, weights)
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
    n_keys, slack = tile_keys(segment, tile, scratch, features, values)
    keys = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32)
    ids = array_at(segment[IDS], segment[N_DOCUMENTS], np.int64)
    limit = min(radius - norm + slack, _MOST)
    if segment[IS_NARROW]:
        spread_query(scratch, metric[N_FEATURES], features, values, True)
    for place in range(n_keys):
        if keys[place] > limit:
            continue
        document, distance = tile * segment[TILE_SIZE] + place, keys[place] + norm
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
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the distances of all queries to every document of one segment that holds values whole.

    What stands for a document that is no neighbour means nothing. Returns as `search_rows` does.
    """
    metric, scratch, segments = _parts(plan)
    segment = segments[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr, words, weights)
    if row >= 0:
        return row, reason
    keys, resolution = array_at(scratch[KEYS], scratch[TILE_ROOM], np.int32), _resolution(metric)
    for tile in range(segment[N_TILES]):
        start = tile * segment[TILE_SIZE]
        for query in range(indptr.size - 1):
            span = slice(bounds[query], bounds[query + 1])
            n_keys, _ = tile_keys(segment, tile, scratch, features[span], values[span])
            for place in range(min(n_keys, segment[N_DOCUMENTS] - start)):
                out[query, start + place] = (keys[place] + norms[query]) * resolution
    return -1, 0


@compiled
def chosen_distances(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    positions: NDArray[np.int64],
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the distances of the first query to the documents at some positions of one segment.

    Returns as `search_rows` does.
    """
    metric, scratch, segments = _parts(plan)
    row, reason, bounds, features, values, norms = embed_queries(metric, scratch, indptr[:2], words, weights)
    if row >= 0:
        return row, reason
    features, values, resolution = features[: bounds[1]], values[: bounds[1]], _resolution(metric)
    spread_query(scratch, metric[N_FEATURES], features, values, True)
    for number in range(positions.size):
        out[number] = exact_distance(metric, segments[0], scratch, positions[number], norms[0]) * resolution
    spread_query(scratch, metric[N_FEATURES], features, values, False)
    return -1, 0
