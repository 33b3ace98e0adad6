"""The compiled search among documents whose values are held whole."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import array_at, compiled
from treewass.search.kernels.query_embedding import embed_queries, parts
from treewass.search.kernels.selection import gather, key_bound, key_limit, merge, order
from treewass.search.kernels.tile_keys import write_keys
from treewass.search.scratch import CLASSES, FOUND_ROOM

__all__ = ["search_wide", "wide_distances"]


@compiled
def search_wide(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    n_before: int,
    out_distances: NDArray[np.float64],
    out_ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the nearest documents of all queries, as many as the results have columns.

    The results hold `n_before` documents already, in order. Returns the first row that cannot be embedded and why, as
    `embed_queries` does.
    """
    metrics, rooms, scratches, segments = parts(plan)
    metric, room, scratch = metrics[0], rooms[0], scratches[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, room, indptr, words, weights)
    if row >= 0:
        return row, reason
    n_queries, k = out_ids.shape
    sizes, resolution = np.empty(n_queries, np.int64), math.ldexp(1.0, -metric.fraction_bits)
    for query in range(n_queries):
        sizes[query] = n_before
    keys = array_at(scratch.keys, scratch.tile, np.int32)
    classes = array_at(scratch.classes, CLASSES, np.int32)
    found, ranked = array_at(scratch.found, FOUND_ROOM, np.int64), array_at(scratch.ranked, FOUND_ROOM, np.int64)
    for number in range(segments.size):
        segment = segments[number]
        for tile in range(segment.n_tiles):
            first = tile * segment.tile
            ids = array_at(segment.ids + 8 * first, segment.n_documents - first, np.int64)
            for query in range(n_queries):
                own = slice(bounds[query], bounds[query + 1])
                n_keys = write_keys(segment, tile, scratch, features[own], values[own], np.int32, np.uint64)
                size, norm, start = sizes[query], norms[query], np.int64(0)
                bound = key_bound(keys, n_keys, k, classes)
                while start < n_keys:
                    limit = key_limit(bound, out_distances[query], size, norm, resolution)
                    start, count = gather(keys, start, n_keys, limit, found)
                    count = order(found, count, k, ranked)
                    size = merge(ranked, count, ids, norm, resolution, out_distances[query], out_ids[query], size)
                sizes[query] = size
    return -1, 0


@compiled
def wide_distances(
    plan: NDArray[np.int64],
    indptr: NDArray[np.int32],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    positions: NDArray[np.int64],
    out: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the distances of the one query to the documents at some positions of one segment.

    Returns as `search_wide` does.
    """
    metrics, rooms, scratches, segments = parts(plan)
    metric, room, scratch, segment = metrics[0], rooms[0], scratches[0], segments[0]
    row, reason, bounds, features, values, norms = embed_queries(metric, room, indptr, words, weights)
    if row >= 0:
        return row, reason
    resolution, keys = math.ldexp(1.0, -metric.fraction_bits), array_at(scratch.keys, scratch.tile, np.int32)
    features, values = features[: bounds[1]], values[: bounds[1]]
    for tile in range(segment.n_tiles):
        n_keys = write_keys(segment, tile, scratch, features, values, np.int32, np.uint64)
        for number in range(positions.size):
            place = positions[number] - tile * segment.tile
            if 0 <= place < n_keys:
                out[number] = (norms[0] + keys[place]) * resolution
    return -1, 0
