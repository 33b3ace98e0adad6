"""Compiled loops of the unbalanced distance; imported on first use, since importing numba takes a moment.

Let f(t) be the least cost within a subtree when the mass t goes up from it (down to it, where t is negative): convex
and piecewise linear. It is held as its pieces, each a length and a slope, in a treap ordered by slope, and its value
at the left end. Joining subtrees joins their pieces, the smaller treap's one by one into the larger; an edge of length
w adds w |t|, that is, −w to all slopes left of zero and +w to all right of it, which a treap does by two cuts and two
notes to hand down. So a pair of documents takes O(n log² n), n being its words and the nodes above them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.compiling import compiled, inner

__all__ = ["unbalanced_costs"]

_NONE, _UNLISTED = -1, -2
_LEFT, _RIGHT = 0, 1
_SLOPE, _LENGTH, _TOTAL, _NOTE = 0, 1, 2, 3  # columns: of a piece, of all below it, what to add to slopes below
Pool = Any  # (links, values, used): all pieces of a pair of documents, and how many there are


@inner
def _new_piece(pool: Pool, slope: float, length: float) -> int:
    """Take the next free place for a piece."""
    links, values, used = pool
    piece = used[0]
    used[0] += 1
    links[piece, _LEFT], links[piece, _RIGHT] = _NONE, _NONE
    values[piece, _SLOPE], values[piece, _LENGTH] = slope, length
    values[piece, _TOTAL], values[piece, _NOTE] = length, 0.0
    return piece


@inner
def _rank(piece: int) -> Any:
    """Scramble a number: the higher of two pieces by this rank is the one above."""
    mixed = np.uint64(piece + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


@inner
def _refresh(pool: Pool, piece: int) -> None:
    """Sum the lengths of a piece and of those below it."""
    links, values, _ = pool
    total = values[piece, _LENGTH]
    for side in range(2):
        if links[piece, side] != _NONE:
            total += values[links[piece, side], _TOTAL]
    values[piece, _TOTAL] = total


@inner
def _add_slope(pool: Pool, piece: int, slope: float) -> None:
    """Add to the slope of a piece, and note the same for those below it."""
    _, values, _ = pool
    if piece != _NONE:
        values[piece, _SLOPE] += slope
        values[piece, _NOTE] += slope


@inner
def _hand_down(pool: Pool, piece: int) -> None:
    """Pass the note of a piece on to the two below it."""
    links, values, _ = pool
    note = values[piece, _NOTE]
    if note != 0.0:
        _add_slope(pool, links[piece, _LEFT], note)
        _add_slope(pool, links[piece, _RIGHT], note)
        values[piece, _NOTE] = 0.0


@inner
def _joined(pool: Pool, low: int, high: int) -> int:
    """Join two treaps, all slopes of the one at most those of the other."""
    links = pool[0]
    if low == _NONE:
        return high
    if high == _NONE:
        return low
    if _rank(low) > _rank(high):
        _hand_down(pool, low)
        links[low, _RIGHT] = _joined(pool, links[low, _RIGHT], high)
        _refresh(pool, low)
        return low
    _hand_down(pool, high)
    links[high, _LEFT] = _joined(pool, low, links[high, _LEFT])
    _refresh(pool, high)
    return high


@inner
def _cut_at_slope(pool: Pool, top: int, slope: float) -> Any:
    """Divide a treap into the pieces up to a slope and those above."""
    links, values, _ = pool
    if top == _NONE:
        return _NONE, _NONE
    _hand_down(pool, top)
    if values[top, _SLOPE] <= slope:
        low, high = _cut_at_slope(pool, links[top, _RIGHT], slope)
        links[top, _RIGHT] = low
        _refresh(pool, top)
        return top, high
    low, high = _cut_at_slope(pool, links[top, _LEFT], slope)
    links[top, _LEFT] = high
    _refresh(pool, top)
    return low, top


@inner
def _cut_at_length(pool: Pool, top: int, length: float) -> Any:
    """Divide a treap so that the left part is so long, which may cut a piece in two."""
    links, values, _ = pool
    if top == _NONE:
        return _NONE, _NONE
    _hand_down(pool, top)
    before = values[links[top, _LEFT], _TOTAL] if links[top, _LEFT] != _NONE else 0.0
    if length <= before:
        low, high = _cut_at_length(pool, links[top, _LEFT], length)
        links[top, _LEFT] = high
        _refresh(pool, top)
        return low, top
    rest = length - before - values[top, _LENGTH]
    if rest >= 0.0:
        low, high = _cut_at_length(pool, links[top, _RIGHT], rest)
        links[top, _RIGHT] = low
        _refresh(pool, top)
        return top, high
    second = _new_piece(pool, values[top, _SLOPE], -rest)
    high = _joined(pool, second, links[top, _RIGHT])
    values[top, _LENGTH] += rest
    links[top, _RIGHT] = _NONE
    _refresh(pool, top)
    return top, high


@inner
def _lengthen(pool: Pool, top: int, zero: float, length: float) -> int:
    """Add ``length * abs(t)`` to a function whose left end is `zero` below t = 0."""
    if length == 0.0:
        return top
    low, high = _cut_at_length(pool, top, zero)
    _add_slope(pool, low, -length)
    _add_slope(pool, high, length)
    return _joined(pool, low, high)


@inner
def _insert_all(pool: Pool, into: int, top: int, waiting: NDArray[np.int32]) -> int:
    """Put the pieces of one treap into another, one by one."""
    links, values, _ = pool
    waiting[0], count = top, 1
    while count:
        count -= 1
        piece = waiting[count]
        _hand_down(pool, piece)
        for side in range(2):
            if links[piece, side] != _NONE:
                waiting[count] = links[piece, side]
                count += 1
            links[piece, side] = _NONE
        values[piece, _TOTAL] = values[piece, _LENGTH]
        low, high = _cut_at_slope(pool, into, values[piece, _SLOPE])
        into = _joined(pool, _joined(pool, low, piece), high)
    return into


@inner
def _integral(pool: Pool, top: int, waiting: NDArray[np.int32]) -> float:
    """Sum slope times length over all pieces."""
    links, values, _ = pool
    total, count = 0.0, 0
    if top != _NONE:
        waiting[0], count = top, 1
    while count:
        count -= 1
        piece = waiting[count]
        _hand_down(pool, piece)
        total += values[piece, _SLOPE] * values[piece, _LENGTH]
        for side in range(2):
            if links[piece, side] != _NONE:
                waiting[count] = links[piece, side]
                count += 1
    return total


@inner
def _join_at(
    pool: Pool, nodes: Any, node: int, top: int, size: int, zero: float, value: float, waiting: NDArray[np.int32]
) -> None:
    """Join a function to that of a node: the pieces of the smaller one go into the larger."""
    tops, sizes, zeros, ends = nodes
    if top != _NONE:
        if tops[node] == _NONE:
            tops[node] = top
        elif sizes[node] >= size:
            tops[node] = _insert_all(pool, tops[node], top, waiting)
        else:
            tops[node] = _insert_all(pool, top, tops[node], waiting)
    sizes[node] += size
    zeros[node] += zero
    ends[node] += value


@inner
def _hang_word(
    pool: Pool,
    nodes: Any,
    node: int,
    given: float,
    taken: float,
    destruction: float,
    creation: float,
    length: float,
    waiting: NDArray[np.int32],
) -> None:
    """Add a word to its node: with nothing sent up, what it has too much is destroyed, what it lacks created."""
    low = _new_piece(pool, -destruction, given) if given > 0.0 else _NONE
    high = _new_piece(pool, creation, taken) if taken > 0.0 else _NONE
    top = _lengthen(pool, _joined(pool, low, high), taken, length)
    _join_at(pool, nodes, node, top, 3, taken, destruction * given + length * taken, waiting)


@inner
def _mark_above(parents: NDArray[np.int32], node: int, touched: NDArray[np.int32], count: int, tops: Any) -> int:
    """List a node and all above it that are not listed yet."""
    while node >= 0 and tops[node] == _UNLISTED:
        tops[node] = _NONE
        touched[count] = node
        count += 1
        node = parents[node]
    return count


@compiled
def unbalanced_costs(
    parents: NDArray[np.int32],
    edge_lengths: NDArray[np.float64],
    word_nodes: NDArray[np.int32],
    leaf_lengths: NDArray[np.float64],
    creation: NDArray[np.float64],
    destruction: NDArray[np.float64],
    x_bounds: NDArray[np.int32],
    x_words: NDArray[np.int32],
    x_masses: NDArray[np.float64],
    y_bounds: NDArray[np.int32],
    y_words: NDArray[np.int32],
    y_masses: NDArray[np.float64],
    start: int,
    stop: int,
    costs: NDArray[np.float64],
) -> None:
    """Add the cost between the rows from `start` to `stop` and all others to `costs`."""
    n_nodes = parents.size
    most_words = np.diff(x_bounds).max() + np.diff(y_bounds).max()
    room = 3 * most_words + n_nodes + 1
    pool = (np.empty((room, 2), np.int32), np.empty((room, 4), np.float64), np.zeros(1, np.int64))
    nodes = (np.full(n_nodes, _UNLISTED, np.int32), np.zeros(n_nodes, np.int64), np.zeros(n_nodes), np.zeros(n_nodes))
    touched, waiting = np.empty(n_nodes, np.int32), np.empty(room, np.int32)
    tops, sizes, zeros, ends = nodes
    for row in range(start, stop):
        for other in range(y_bounds.size - 1):
            pool[2][0] = 0
            i, j, count = x_bounds[row], y_bounds[other], 0
            while i < x_bounds[row + 1] or j < y_bounds[other + 1]:
                mine = x_words[i] if i < x_bounds[row + 1] else word_nodes.size
                its = y_words[j] if j < y_bounds[other + 1] else word_nodes.size
                word = min(mine, its)
                given = x_masses[i] if mine == word else 0.0
                taken = y_masses[j] if its == word else 0.0
                i += mine == word
                j += its == word
                node = word_nodes[word]
                count = _mark_above(parents, node, touched, count, tops)
                _hang_word(
                    pool, nodes, node, given, taken, destruction[word], creation[word], leaf_lengths[word], waiting
                )  # fmt: skip
            for node in -np.sort(-touched[:count]):
                if node > 0:
                    length, zero = edge_lengths[node], zeros[node]
                    top = _lengthen(pool, tops[node], zero, length)
                    _join_at(
                        pool, nodes, parents[node], top, sizes[node] + 1, zero, ends[node] + length * zero, waiting
                    )  # fmt: skip
                else:
                    low, _ = _cut_at_length(pool, tops[0], zeros[0])
                    costs[row, other] += max(ends[0] + _integral(pool, low, waiting), 0.0)
                tops[node], sizes[node], zeros[node], ends[node] = _UNLISTED, 0, 0.0, 0.0
