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
from treewass.search.scratch import CLASSES, FOUND_ROOM
from treewass.search.segments import WEIGHT_KINDS
from treewass.trees.column_kernels import add_lists, add_rows, look_up, tile_room
from treewass.trees.columns import ABSENT, GROUP
from treewass.trees.embedding_kernels import spread_document, touched_in

__all__ = ["narrow_distances", "narrow_within", "search_narrow"]

_ABSENT = np.int32(ABSENT)
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
    """Find the nearest documents of all queries, at most BATCH, as `search_wide` does.

    The dense rows of a tile do not fit the nearest caches, but those of a piece do. All queries go through one piece
    before the next, so that each number is fetched once for all of them.
    """
    metrics, rooms, scratches, segments = parts(plan)
    metric, room, scratch = metrics[0], rooms[0], scratches[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, room, indptr, words, weights)
    if row >= 0:
        return row, reason
    n_queries = out_ids.shape[0]
    sizes, resolution = np.empty(n_queries, np.int64), math.ldexp(1.0, -metric.fraction_bits)
    for query in range(n_queries):
        sizes[query] = n_before
    notes = _make_notes(bounds)
    for number in range(segments.size):
        segment = segments[number]
        for tile in range(segment.n_tiles):
            _add_up(segment, tile, scratch, bounds, features, values, notes)
            for query in range(n_queries):
                own = slice(bounds[query], bounds[query + 1])
                slack = _write_keys(segment, tile, scratch, query, own.stop - own.start, notes)
                sizes[query] = _select(
                    metric, room, segment, tile, scratch, features[own], values[own], norms[query], slack, resolution,
                    out_distances[query], out_ids[query], sizes[query],
                )  # fmt: skip
    return -1, 0


@inlined
def _make_notes(bounds: Any) -> Any:
    """Make room to write down the rows and lists of each query: how many, where they are, and the query's values."""
    n_queries, room = bounds.size - 1, 0
    for query in range(n_queries):
        room = max(room, bounds[query + 1] - bounds[query])
    shape = (n_queries, room + GROUP)
    return (
        np.empty((n_queries, 2), np.int64),
        np.empty(shape, np.uint64),
        np.empty(shape, np.uint16),
        np.empty(shape, np.int64),
        np.empty(shape, np.uint16),
    )


@inlined
def _sums(scratch: Any, query: Any) -> Any:
    """View the sums of a query."""
    return array_at(scratch.narrow_sums + 2 * scratch.stride * query, scratch.places, np.uint16)


@inner
def _add_up(segment: Any, tile: Any, scratch: Any, bounds: Any, features: Any, values: Any, notes: Any) -> None:
    """Write down the rows and lists of all queries, and add up the dense rows, piece after piece."""
    counts, rows, row_values, lists, list_values = notes
    size = tile_room(segment, tile)
    for query in range(bounds.size - 1):
        own = slice(bounds[query], bounds[query + 1])
        counts[query, 0], counts[query, 1] = look_up(
            segment, tile, features[own], values[own], rows[query], row_values[query], lists[query], list_values[query]
        )
        _sums(scratch, query)[:size] = 0
    n_numbers = segment.n_rows * segment.piece
    for start in range(0, size, segment.piece):
        dense = array_at(segment.dense + 2 * segment.n_rows * (tile * segment.tile + start), n_numbers, np.uint16)
        for query in range(bounds.size - 1):
            sums = _sums(scratch, query)[start:]
            add_rows(dense, rows[query], row_values[query], counts[query, 0], sums, min(segment.piece, size - start))


@inner
def _write_keys(segment: Any, tile: Any, scratch: Any, query: Any, n_features: Any, notes: Any) -> Any:
    """Add what postings share to the sums of a query's dense rows, and write the keys; return the slack.

    Key + norm of the query exceeds the distance by less than the slack.
    """
    counts, _, _, lists, list_values = notes
    sums, keys = _sums(scratch, query), array_at(scratch.keys, scratch.tile, np.int32)
    postings = array_at(segment.postings, segment.n_postings, np.uint32)
    add_lists(postings, lists[query], list_values[query], counts[query, 1], sums)
    size, first, unit = tile_room(segment, tile), tile * segment.tile, np.int32(2 << segment.shift)
    norms = array_at(segment.norms + 4 * first, segment.tile, np.int32)
    for place in range(size):
        norm = norms[place]
        keys[place] = _ABSENT if norm == _ABSENT else np.int32(norm - unit * np.int32(sums[place]))
    for place in range(segment.n_documents - first, size):
        keys[place] = _ABSENT
    return n_features << (segment.shift + 1)


@inner
def _select(
    metric: Any,
    room: Any,
    segment: Any,
    tile: Any,
    scratch: Any,
    features: Any,
    values: Any,
    norm: Any,
    slack: Any,
    resolution: Any,
    out_distances: Any,
    out_ids: Any,
    size: Any,
) -> Any:
    """Merge the nearest documents of a tile, by exact distances, into those so far; return how many there are."""
    k, n_keys, first, start = out_ids.size, tile_room(segment, tile), tile * segment.tile, np.int64(0)
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
    segment, notes, features, values = segments[0], _make_notes(bounds), features[: bounds[1]], values[: bounds[1]]
    ids, count = array_at(segment.ids, segment.n_documents, np.int64), 0
    keys = array_at(scratch.keys, scratch.tile, np.int32)
    _spread_query(scratch, features, values, True)
    for tile in range(segment.n_tiles):
        _add_up(segment, tile, scratch, bounds, features, values, notes)
        slack = _write_keys(segment, tile, scratch, 0, features.size, notes)
        limit = min(radius - norms[0] + slack, MOST)
        for place in range(tile_room(segment, tile)):
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
