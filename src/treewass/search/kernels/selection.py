"""Compiled loops that find the k nearest documents among the keys of a tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import inlined, inner
from treewass.search.scratch import BLOCK
from treewass.trees.columns import ABSENT

__all__ = ["MOST", "gather", "key_bound", "key_limit", "merge", "order"]

MOST = ABSENT - 1  # the largest key of a document
_LARGEST = np.int32(ABSENT)
_PLACE = np.int64(0xFFFFFFFF)


@inner
def key_bound(keys: NDArray[np.int32], size: int, k: int, numbers: NDArray[np.int32]) -> Any:
    """Bound the k-th smallest of the first `size` keys from above, at the price of reading them once.

    Keys fall into classes by their place; the k-th smallest of the classes' minima is the bound. Without a bound for
    large k. `numbers` has room for CLASSES.
    """
    if k > 64:
        return _LARGEST
    n_classes = 64 if k <= 32 else 128
    minima, ranks = numbers[:n_classes], numbers[128 : 128 + n_classes]
    minima[:] = _LARGEST
    for start in range(0, size - n_classes + 1, n_classes):
        block = keys[start : start + n_classes]
        for place in range(n_classes):
            minima[place] = min(minima[place], block[place])
    ranks[:] = 0
    for other in range(n_classes):
        key = minima[other]
        for one in range(n_classes):
            ranks[one] += np.int32(key <= minima[one])
    bound = _LARGEST
    for one in range(n_classes):
        bound = min(bound, minima[one] if ranks[one] >= k else _LARGEST)
    return bound


@inlined
def key_limit(bound: Any, distances: Any, size: Any, norm: Any, resolution: Any) -> Any:
    """Return the largest key that may be among the nearest: a tile's bound, or that of the k-th nearest so far."""
    if size < distances.size:
        return np.int64(bound)
    return min(np.int64(bound), np.int64(distances[size - 1] / resolution) - norm)


@inner
def gather(keys: NDArray[np.int32], start: int, size: int, limit: int, found: NDArray[np.int64]) -> Any:
    """Write the keys of at most `limit` and their places, packed into one number each that sorts alike.

    Begins at a place and stops where `found` has no room for another block. Returns where to go on, and how many
    there are.
    """
    count, most = 0, np.int32(min(limit, MOST))
    while start < size and count + BLOCK <= found.size:
        block = keys[start : start + BLOCK]
        n_near = np.int32(0)
        for place in range(BLOCK):
            n_near += np.int32(block[place] <= most)
        if n_near:
            for place in range(BLOCK):
                found[count] = (np.int64(block[place]) << 32) | (start + place)
                count += block[place] <= most
        start += BLOCK
    return start, count


@inner
def order(found: NDArray[np.int64], count: int, k: int, ranked: NDArray[np.int64]) -> Any:
    """Write the k smallest packed keys in ascending order; return how many there are."""
    for one in range(count):
        before, packed = 0, found[one]
        for other in range(count):
            before += found[other] < packed
        if before < k:
            ranked[before] = packed
    return min(count, k)


@inner
def merge(
    ranked: Any, count: Any, ids: Any, norm: Any, resolution: Any, out_distances: Any, out_ids: Any, size: Any
) -> Any:
    """Merge documents in order, packed with their places, into the nearest so far; return how many there are now.

    Equal distances come in the order of ids.
    """
    k, old, new = out_ids.size, size - 1, count - 1
    while new >= 0:
        target = old + new + 1
        distance = ((ranked[new] >> 32) + norm) * resolution
        number = ids[ranked[new] & _PLACE]
        if old >= 0 and (out_distances[old] > distance or (out_distances[old] == distance and out_ids[old] > number)):
            if target < k:
                out_distances[target], out_ids[target] = out_distances[old], out_ids[old]
            old -= 1
        else:
            if target < k:
                out_distances[target], out_ids[target] = distance, number
            new -= 1
    return min(k, size + count)
