"""Compiled loops on convex piecewise linear functions; imported on first use, since importing numba takes a moment.

A function is held as its pieces, each a length and a slope, in a treap ordered by slope. All treaps share one pool of
pieces. Walks go down and come back by a list of the pieces passed: no function calls itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.search.kernels.compiling import inner

__all__ = ["NONE", "add_absolute", "insert_all", "integral", "link_pieces", "new_piece", "new_pool"]

NONE = -1
_LEFT, _RIGHT = 0, 1
_SLOPE, _LENGTH, _TOTAL, _NOTE = 0, 1, 2, 3  # columns: of a piece, of all below it, what to add to slopes below
# All pieces of two documents: links, values, their number, room for two walks, and top and last piece of either part of
# a cut.
Pool = Any


@inner
def new_pool(room: int) -> Any:
    """Make a pool with room for so many pieces."""
    return (
        np.empty((room, 2), np.int32),
        np.empty((room, 4), np.float64),
        np.zeros(1, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((2, 2), np.int64),
    )


@inner
def new_piece(pool: Pool, slope: float, length: float) -> Any:
    """Take the next free place for a piece."""
    links, values, used, _, _, _ = pool
    piece = used[0]
    used[0] += 1
    links[piece, _LEFT], links[piece, _RIGHT] = NONE, NONE
    values[piece, _SLOPE], values[piece, _LENGTH] = slope, length
    values[piece, _TOTAL], values[piece, _NOTE] = length, 0.0
    return piece


@inner
def _rank(piece: int) -> Any:
    """Scramble a number: the higher of two pieces by this rank is the one above."""
    mixed = np.uint64(piece + 1) * np.uint64(0x9E3779B97F4A7C15)  # wraps around
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


@inner
def _refresh(pool: Pool, piece: int) -> None:
    """Sum the lengths of a piece and of those below it."""
    links, values, _, _, _, _ = pool
    total = values[piece, _LENGTH]
    for side in range(2):
        if links[piece, side] != NONE:
            total += values[links[piece, side], _TOTAL]
    values[piece, _TOTAL] = total


@inner
def _add_slope(pool: Pool, piece: int, slope: float) -> None:
    """Add to the slope of a piece, and note the same for those below it."""
    _, values, _, _, _, _ = pool
    if piece != NONE:
        values[piece, _SLOPE] += slope
        values[piece, _NOTE] += slope


@inner
def _hand_down(pool: Pool, piece: int) -> None:
    """Pass the note of a piece on to the two below it."""
    links, values, _, _, _, _ = pool
    note = values[piece, _NOTE]
    if note != 0.0:
        _add_slope(pool, links[piece, _LEFT], note)
        _add_slope(pool, links[piece, _RIGHT], note)
        values[piece, _NOTE] = 0.0


@inner
def link_pieces(pool: Pool, low: int, high: int) -> Any:
    """Make a treap of up to two new pieces, the first of the lower slope."""
    if low == NONE:
        return high
    pool[0][low, _RIGHT] = high
    _refresh(pool, low)
    return low


@inner
def _refresh_path(pool: Pool, count: int) -> None:
    """Sum lengths again along the path walked down, from its end."""
    path = pool[3]
    for step in range(count - 1, -1, -1):
        _refresh(pool, path[step])


@inner
def _joined(pool: Pool, low: int, high: int) -> Any:
    """Join two treaps, all slopes of the one at most those of the other."""
    links, _, _, path, _, _ = pool
    top, above, side, count = NONE, NONE, _LEFT, 0
    while low != NONE or high != NONE:
        whole = low == NONE or high == NONE
        from_low = high == NONE or (low != NONE and _rank(low) > _rank(high))
        piece = low if from_low else high
        if above == NONE:
            top = piece
        else:
            links[above, side] = piece
        if whole:
            break
        _hand_down(pool, piece)
        path[count] = piece
        count += 1
        above, side = piece, _RIGHT if from_low else _LEFT
        if from_low:
            low = links[piece, _RIGHT]
        else:
            high = links[piece, _LEFT]
    _refresh_path(pool, count)
    return top


@inner
def _hang(pool: Pool, part: int, piece: int) -> None:
    """Hang a piece below the last one of a part: at its right in the low part, at its left in the high one."""
    links, _, _, _, _, ends = pool
    if ends[part, 1] == NONE:
        ends[part, 0] = piece
    else:
        links[ends[part, 1], _RIGHT - part] = piece
    if piece != NONE:
        ends[part, 1] = piece


@inner
def _cut_at_slope(pool: Pool, top: int, slope: float) -> Any:
    """Divide a treap into the pieces up to a slope and those above."""
    links, values, _, path, _, ends = pool
    count = 0
    ends[:] = NONE
    while top != NONE:
        _hand_down(pool, top)
        path[count] = top
        count += 1
        part = 0 if values[top, _SLOPE] <= slope else 1
        _hang(pool, part, top)
        top = links[top, _RIGHT - part]
    _hang(pool, 0, NONE)
    _hang(pool, 1, NONE)
    _refresh_path(pool, count)
    return ends[0, 0], ends[1, 0]


@inner
def _cut_at_length(pool: Pool, top: int, length: float) -> Any:
    """Divide a treap so that the low part is so long, which may cut a piece in two."""
    links, values, _, path, _, ends = pool
    count, second = 0, NONE
    ends[:] = NONE
    while top != NONE:
        _hand_down(pool, top)
        path[count] = top
        count += 1
        before = values[links[top, _LEFT], _TOTAL] if links[top, _LEFT] != NONE else 0.0
        rest = length - before - values[top, _LENGTH]
        part = 1 if length <= before else 0
        _hang(pool, part, top)
        if part == 0 and rest < 0.0:
            second = new_piece(pool, values[top, _SLOPE], -rest)
            values[top, _LENGTH] += rest
            _hang(pool, 1, links[top, _RIGHT])
            break
        length = length if part else rest
        top = links[top, _RIGHT - part]
    _hang(pool, 0, NONE)
    if second == NONE:
        _hang(pool, 1, NONE)
    _refresh_path(pool, count)
    low, high = ends[0, 0], ends[1, 0]
    return low, _joined(pool, second, high)


@inner
def add_absolute(pool: Pool, top: int, zero: float, length: float) -> Any:
    """Add ``length * abs(t)`` to a function whose left end is `zero` below t = 0."""
    if length == 0.0:
        return top
    low, high = _cut_at_length(pool, top, zero)
    _add_slope(pool, low, -length)
    _add_slope(pool, high, length)
    return _joined(pool, low, high)


@inner
def insert_all(pool: Pool, into: int, top: int) -> Any:
    """Put the pieces of one treap into another, one by one."""
    links, values, _, _, waiting, _ = pool
    count = 0
    if top != NONE:
        waiting[0], count = top, 1
    while count:
        count -= 1
        piece = waiting[count]
        _hand_down(pool, piece)
        for side in range(2):
            if links[piece, side] != NONE:
                waiting[count] = links[piece, side]
                count += 1
            links[piece, side] = NONE
        values[piece, _TOTAL] = values[piece, _LENGTH]
        low, high = _cut_at_slope(pool, into, values[piece, _SLOPE])
        into = low
        for part in (np.int64(piece), np.int64(high)):
            into = _joined(pool, into, part)
    return into


@inner
def integral(pool: Pool, top: int, length: float) -> Any:
    """Sum slope times length over the lowest pieces, up to a length of all of them."""
    links, values, _, _, waiting, _ = pool
    total, count = 0.0, 0
    while (top != NONE or count) and length > 0.0:
        if top != NONE:
            _hand_down(pool, top)
            waiting[count] = top
            count += 1
            top = links[top, _LEFT]
        else:
            count -= 1
            top = waiting[count]
            taken = min(values[top, _LENGTH], length)
            total += values[top, _SLOPE] * taken
            length -= taken
            top = links[top, _RIGHT]
    return total
