"""Compiled loops that embed queries for a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.compute.compiling import array_at, inlined
from treewass.search.scratch import SCRATCH
from treewass.search.segments import SEGMENT
from treewass.trees.embedding_kernels import INVALID, spread_document, touched_in
from treewass.trees.layout import METRIC, ROOM

__all__ = ["embed_queries", "parts"]

_ROOM_AT = METRIC.itemsize
_SCRATCH_AT = _ROOM_AT + ROOM.itemsize
_SEGMENTS_AT = _SCRATCH_AT + SCRATCH.itemsize
_SEGMENT_BYTES = SEGMENT.itemsize


@inlined
def parts(plan: Any) -> Any:
    """Take a plan (see `make_plan`) apart: arrays of one METRIC, one ROOM, one SCRATCH, and of all SEGMENTs."""
    address = plan.ctypes.data
    n_segments = (8 * plan.size - _SEGMENTS_AT) // _SEGMENT_BYTES
    return (
        array_at(address, 1, METRIC),
        array_at(address + _ROOM_AT, 1, ROOM),
        array_at(address + _SCRATCH_AT, 1, SCRATCH),
        array_at(address + _SEGMENTS_AT, n_segments, SEGMENT),
    )


@inlined
def embed_queries(metric: Any, room: Any, indptr: Any, words: Any, weights: Any) -> Any:
    """Embed all queries.

    Returns the number of the first row that cannot be embedded and why (INVALID, OVERFLOW or 0 for one without a
    known word), -1 if there is none; then where each query begins, its features, values and norm.
    """
    n_queries, n_entries = indptr.size - 1, min(words.size, weights.size)
    capacity = np.int64(0)
    for query in range(n_queries):
        capacity += max(0, min(indptr[query + 1] - indptr[query], n_entries, metric.n_words)) * metric.longest
    numbers, entries = np.empty(2 * n_queries + 1, np.int64), np.empty(2 * capacity, np.int32)
    bounds, norms = numbers[: n_queries + 1], numbers[n_queries + 1 :]
    features, values = entries[:capacity], entries[capacity:]
    touched, amounts = touched_in(room)
    bounds[0] = filled = np.int64(0)
    for query in range(n_queries):
        start, stop = np.int64(indptr[query]), np.int64(indptr[query + 1])
        if not (0 <= start <= stop <= n_entries and stop - start <= metric.n_words):
            return query, INVALID, bounds, features, values, norms
        count = spread_document(metric, room, words[start:stop], weights[start:stop])
        if count <= 0:
            return query, count, bounds, features, values, norms
        norm = np.int64(0)
        for position in range(count):
            value = np.int32(np.rint(amounts[position]))
            features[filled], values[filled] = touched[position], value
            filled += value > 0
            norm += value
        bounds[query + 1], norms[query] = filled, norm
    return -1, 0, bounds, features, values, norms
