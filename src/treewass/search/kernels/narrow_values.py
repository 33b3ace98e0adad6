"""Compiled searches among documents whose values are held in 16 bits.

Keys from such values are a little too large, by less than a known slack. So documents that may be near are compared
again, exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import array_at, compiled, inlined, inner
from treewass.search.kernels.query_embedding import embed_queries, parts
from treewass.search.kernels.selection import MOST, gather, key_bound, key_limit, merge, order
from treewass.search.kernels.tile_keys import write_keys
from treewass.search.scratch import CLASSES, FOUND_ROOM
from treewass.search.segments import WEIGHT_KINDS
from treewass.trees.embedding_kernels import spread_document, touched_in

__all__ = ["narrow_distances", "narrow_within", "search_narrow"]

_PLACE = np.int64(0xFFFFFFFF)
_SMALL, _SHORT, _SINGLE = (WEIGHT_KINDS.index(kind) for kind in ("uint8", "uint16", "float32"))


@compiled
def search_narrow(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    n_before: int,
    out_distances: NDArray[np.float64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the nearest documents of all queries, as `search_wide` does."""
    metrics, rooms, scratches, segments = parts(plan)
    metric, room, scratch = metrics[0], rooms[0], scratches[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, room, indptr, words, weights)
    if row >= 0:
        return row, reason
    n_queries = out_ids.shape[0]
    sizes, resolution = np.empty(n_queries, np.int64), math.ldexp(1.0, -metric.fraction_bits)
    for query in range(n_queries):
        sizes[query] = n_before
    for number in range(segments.size):
        segment = segments[number]
        for tile in range(segment.n_tiles):
            for query in range(n_queries):
                own = slice(bounds[query], bounds[query + 1])
                n_keys = write_keys(segment, tile, scratch, features[own], values[own], np.uint16, np.uint32)
                sizes[query] = _select(
                    metric, room, segment, tile, n_keys, scratch, features[own], values[own], norms[query], resolution,
                    out_distances[query], out_ids[query], sizes[query],
                )  # fmt: skip
    return -1, 0


@inner
def _select(
    metric: Any,
    room: Any,
    segment: Any,
    tile: Any,
    n_keys: Any,
    scratch: Any,
    features: Any,
    values: Any,
    norm: Any,
    resolution: Any,
    out_distances: Any,
    out_ids: Any,
    size: Any,
) -> Any:
    """Merge the nearest documents of a tile, by exact distances, into those so far; return how many there are."""
    k, slack, first, start = out_ids.size, _slack(segment, features), tile * segment.tile, np.int64(0)
    keys = array_at(scratch.keys, scratch.tile, np.int32)
    found, ranked = array_at(scratch.found, FOUND_ROOM, np.int64), array_at(scratch.ranked, FOUND_ROOM, np.int64)
    ids = array_at(segment.ids + 8 * first, segment.n_documents - first, np.int64)
    bound = np.int32(MOST)
    if size < k:
        bound = key_bound(keys, n_keys, k, array_at(scratch.classes, CLASSES, np.int32))
    while start < n_keys:
        limit = key_limit(bound, out_distances, size, norm, resolution) + slack
        start, count = gather(keys, start, n_keys, limit, found)
        if count == 0:
            continue
        if order(found, count, k, ranked) == k:
            limit = min(limit, (ranked[k - 1] >> 32) + slack)
        _spread_query(scratch, features, values, True)
        stay = 0
        for one in range(count):
            if found[one] >> 32 <= limit:
                place = found[one] & _PLACE
                key = _exact_distance(metric, room, segment, scratch, first + place, 0)
                found[stay] = (key << 32) | place
                stay += 1
        _spread_query(scratch, features, values, False)
        stay = order(found, stay, k, ranked)
        size = merge(ranked, stay, ids, norm, resolution, out_distances, out_ids, size)
    return size


@inlined
def _slack(segment: Any, features: Any) -> Any:
    """Return by how much keys may be too large."""
    return features.size << (segment.shift + 1)


@inner
def _spread_query(scratch: Any, features: Any, values: Any, is_there: Any) -> None:
    """Write a query in full, or zeros in its place again."""
    query = array_at(scratch.query, scratch.room, np.int32)
    for position in range(features.size):
        query[np.uint64(features[position])] = values[position] if is_there else np.int32(0)


@inner
def _exact_distance(metric: Any, room: Any, segment: Any, scratch: Any, document: Any, norm: Any) -> Any:
    """Compare a document, embedded from its words, with the query in scratch, in units.

    A document that a damaged file places outside its own arrays has no words.
    """
    query = array_at(scratch.query, scratch.room, np.int32)
    document_bounds = array_at(segment.document_bounds, segment.n_documents + 1, np.int64)
    words = array_at(segment.words, segment.n_weights, np.int32)
    start, stop = document_bounds[document], document_bounds[document + 1]
    count = min(stop - start, metric.n_words) if 0 <= start <= stop <= segment.n_weights else 0
    weights = np.empty(count, np.float64)
    if segment.weight_kind == _SMALL:
        _copy_weights(array_at(segment.weights, segment.n_weights, np.uint8), start, weights)
    elif segment.weight_kind == _SHORT:
        _copy_weights(array_at(segment.weights, segment.n_weights, np.uint16), start, weights)
    elif segment.weight_kind == _SINGLE:
        _copy_weights(array_at(segment.weights, segment.n_weights, np.float32), start, weights)
    else:
        _copy_weights(array_at(segment.weights, segment.n_weights, np.float64), start, weights)
    n_touched = spread_document(metric, room, words[start : start + count], weights)
    touched, amounts = touched_in(room)
    distance = norm
    for position in range(n_touched):
        value = np.int64(np.rint(amounts[position]))
        distance += value - 2 * min(value, np.int64(query[np.uint64(touched[position])]))
    return distance


@inlined
def _copy_weights(held: Any, start: Any, weights: Any) -> None:
    for entry in range(weights.size):
        weights[entry] = held[start + entry]


@compiled
def narrow_within(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    radius: int,
    out_units: NDArray[np.int64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the documents of one segment whose distance to the one query is at most `radius` units, in any order.

    Returns how many there are and 0, or -1 and why the query cannot be embedded.
    """
    metrics, rooms, scratches, segments = parts(plan)
    metric, room, scratch = metrics[0], rooms[0], scratches[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, room, indptr, words, weights)
    if row >= 0:
        return -1, reason
    segment, features, values = segments[0], features[: bounds[1]], values[: bounds[1]]
    ids, count = array_at(segment.ids, segment.n_documents, np.int64), 0
    keys = array_at(scratch.keys, scratch.tile, np.int32)
    _spread_query(scratch, features, values, True)
    limit = min(radius - norms[0] + _slack(segment, features), MOST)
    for tile in range(segment.n_tiles):
        for place in range(write_keys(segment, tile, scratch, features, values, np.uint16, np.uint32)):
            if keys[place] <= limit:
                document = tile * segment.tile + place
                distance = _exact_distance(metric, room, segment, scratch, document, norms[0])
                if distance <= radius:
                    out_units[count], out_ids[count] = distance, ids[document]
                    count += 1
    _spread_query(scratch, features, values, False)
    return count, 0


@compiled
def narrow_distances(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    positions: NDArray[np.int64],
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the distances of the one query to the documents at some positions of one segment.

    Returns as `search_narrow` does.
    """
    metrics, rooms, scratches, segments = parts(plan)
    metric, room, scratch = metrics[0], rooms[0], scratches[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, room, indptr, words, weights)
    if row >= 0:
        return row, reason
    features, values, resolution = features[: bounds[1]], values[: bounds[1]], math.ldexp(1.0, -metric.fraction_bits)
    _spread_query(scratch, features, values, True)
    for number in range(positions.size):
        out[number] = _exact_distance(metric, room, segments[0], scratch, positions[number], norms[0]) * resolution
    _spread_query(scratch, features, values, False)
    return -1, 0
