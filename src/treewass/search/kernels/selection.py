"""Compiled loops that keep the k nearest documents: a heap ordered by distance, then id, the worst on top."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.compiling import inner

__all__ = ["drain", "key_bound", "offer"]

_MOST = np.int32(2**31 - 1)


@inner
def key_bound(keys: NDArray[np.int32], size: int, k: int) -> np.int32:
    """Bound the k-th smallest of the first `size` keys from above, at the price of reading them once.

    Keys fall into classes by their place; the k-th smallest of the classes' minima is the bound. Without a bound for
    large k.
    """
    if k > 64:
        return _MOST
    n_classes = 64 if k <= 32 else 128
    minima = np.empty(128, np.int32)
    minima[:] = _MOST
    for start in range(0, size - n_classes + 1, n_classes):
        block = keys[start : start + n_classes]
        for place in range(n_classes):
            minima[place] = min(minima[place], block[place])
    bound = _MOST
    for one in range(n_classes):
        key = minima[one]
        rank = np.int32(0)
        for other in range(n_classes):
            rank += np.int32(minima[other] <= key)
        if rank >= k:
            bound = min(bound, key)
    return bound


@inner
def offer(units: NDArray[np.int64], ids: NDArray[np.int64], size: int, distance: int, number: int) -> int:
    """Offer a document to a heap that holds `size` of at most `units.size`; return how many it holds now."""
    if size < units.size:
        place = size
        while place > 0:
            above = (place - 1) >> 1
            if units[above] > distance or (units[above] == distance and ids[above] > number):
                break
            units[place], ids[place] = units[above], ids[above]
            place = above
        units[place], ids[place] = distance, number
        return size + 1
    if units[0] > distance or (units[0] == distance and ids[0] > number):
        _sink(units, ids, size, distance, number)
    return size


@inner
def _sink(units: NDArray[np.int64], ids: NDArray[np.int64], size: int, distance: int, number: int) -> None:
    """Replace the top of a heap by a document and let it sink to its place."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        right = below + 1
        if right < size and (units[right] > units[below] or (units[right] == units[below] and ids[right] > ids[below])):
            below = right
        if units[below] < distance or (units[below] == distance and ids[below] < number):
            break
        units[place], ids[place] = units[below], ids[below]
        place = below
    units[place], ids[place] = distance, number


@inner
def drain(units: NDArray[np.int64], ids: NDArray[np.int64], size: int) -> None:
    """Turn a heap into a list in ascending order, in place."""
    for last in range(size - 1, 0, -1):
        distance, number = units[last], ids[last]
        units[last], ids[last] = units[0], ids[0]
        _sink(units, ids, last, distance, number)
