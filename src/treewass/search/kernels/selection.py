"""Compiled loops that find the k nearest documents.

Few keys of one tile are ranked against each other; of many, or of several tiles, a heap keeps the best, ordered by
distance, then id, the worst on top.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.bits import first_bit, marked_at_most
from treewass.search.kernels.compiling import inner

__all__ = ["BLOCK", "CLASSES", "drain", "gather", "key_bound", "offer", "pack", "rank"]

BLOCK = 64  # documents looked at together
CLASSES = 256  # numbers that finding a bound takes
_NO_BOUND = np.int32(2**31 - 1)


@inner
def key_bound(keys: NDArray[np.int32], size: int, k: int, numbers: NDArray[np.int32]) -> np.int32:
    """Bound the k-th smallest of the first `size` keys from above, at the price of reading them once.

    Keys fall into classes by their place; the k-th smallest of the classes' minima is the bound. Without a bound for
    large k. `numbers` has room for CLASSES.
    """
    if k > 64:
        return _NO_BOUND
    n_classes = 64 if k <= 32 else 128
    minima, ranks = numbers[:n_classes], numbers[128 : 128 + n_classes]
    minima[:] = _NO_BOUND
    for start in range(0, size - n_classes + 1, n_classes):
        block = keys[start : start + n_classes]
        for place in range(n_classes):
            minima[place] = min(minima[place], block[place])
    ranks[:] = 0
    for other in range(n_classes):
        key = minima[other]
        for one in range(n_classes):
            ranks[one] += np.int32(key <= minima[one])
    bound = _NO_BOUND
    for one in range(n_classes):
        bound = min(bound, minima[one] if ranks[one] >= k else _NO_BOUND)
    return bound


@inner
def gather(keys: NDArray[np.int32], size: int, limit: np.int32, found: NDArray[np.int64]) -> int:
    """Write the keys of at most `limit` and their places, packed into one number each that sorts alike.

    Returns how many there are, or one more than `found` has room for if there are more.
    """
    count = 0
    for start in range(0, size, BLOCK):
        near = marked_at_most(keys.ctypes.data + 4 * start, limit)
        while near != np.uint64(0):
            if count == found.size:
                return count + 1
            place = start + np.int64(first_bit(near))
            found[count] = pack(keys[place], place)
            count += 1
            near &= near - np.uint64(1)
    return count


@inner
def pack(key: int, place: int) -> np.int64:
    """Pack a key and a place into a number that sorts by key, then by place."""
    return (np.int64(key) << np.int64(32)) | np.int64(place)


@inner
def rank(found: NDArray[np.int64], count: int, one: int) -> int:
    """Count the packed keys that sort before one of them."""
    before, packed = 0, found[one]
    for other in range(count):
        before += found[other] < packed
    return before


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
