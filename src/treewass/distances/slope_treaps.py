"""Compiled loops of the unbalanced distance, on convex piecewise linear functions held as treaps of slopes.

Let f(t) be the least cost within a subtree when the mass t goes up from it (down to it, if t is negative). It is convex
and piecewise linear, and is held as its pieces, each a length and a slope, and its value at the left end. Pieces are in
a treap ordered by slope. Joining subtrees joins their pieces: those of the smaller function go one by one into the
larger. An edge of length w adds w |t|, that is, −w to all slopes left of zero and +w to all slopes right of it, which
takes two cuts and two notes to hand down. So a pair of documents takes O(n log² n), n being its words and the nodes
above them.

All treaps share one pool of pieces. Walks go down and come back by a list of the pieces passed, because no compiled
function may call itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.compute.compiling import compiled, inner
from treewass.distances.document_pairs import Documents, Floats, Integers

__all__ = ["unbalanced_costs"]

_NONE, _UNLISTED = -1, -2
_LEFT, _RIGHT = 0, 1
_SLOPE, _LENGTH, _TOTAL, _NOTE = 0, 1, 2, 3  # columns: of a piece, of all below it, what to add to slopes below
# All pieces of two documents: links, values, their number, room for two walks, and top and last piece of either part of
# a cut.
Pool = Any


@inner
def _new_pool(room: int) -> Any:
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
def _new_piece(pool: Pool, slope: float, length: float) -> Any:
    """Take the next free place for a piece."""
    links, values, used, _, _, _ = pool
    piece = used[0]
    used[0] += 1
    links[piece, _LEFT], links[piece, _RIGHT] = _NONE, _NONE
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
        if links[piece, side] != _NONE:
            total += values[links[piece, side], _TOTAL]
    values[piece, _TOTAL] = total


@inner
def _add_slope(pool: Pool, piece: int, slope: float) -> None:
    """Add to the slope of a piece, and note the same for those below it."""
    _, values, _, _, _, _ = pool
    if piece != _NONE:
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
def _refresh_path(pool: Pool, count: int) -> None:
    """Sum lengths again along the path walked down, from its end."""
    path = pool[3]
    for step in range(count - 1, -1, -1):
        _refresh(pool, path[step])


@inner
def _joined(pool: Pool, low: int, high: int) -> Any:
    """Join two treaps, all slopes of the one at most those of the other."""
    links, _, _, path, _, _ = pool
    top, above, side, count = _NONE, _NONE, _LEFT, 0
    while low != _NONE or high != _NONE:
        whole = low == _NONE or high == _NONE
        from_low = high == _NONE or (low != _NONE and _rank(low) > _rank(high))
        piece = low if from_low else high
        if above == _NONE:
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
    if ends[part, 1] == _NONE:
        ends[part, 0] = piece
    else:
        links[ends[part, 1], _RIGHT - part] = piece
    if piece != _NONE:
        ends[part, 1] = piece


@inner
def _cut_at_slope(pool: Pool, top: int, slope: float) -> Any:
    """Divide a treap into the pieces up to a slope and those above."""
    links, values, _, path, _, ends = pool
    count = 0
    ends[:] = _NONE
    while top != _NONE:
        _hand_down(pool, top)
        path[count] = top
        count += 1
        part = 0 if values[top, _SLOPE] <= slope else 1
        _hang(pool, part, top)
        top = links[top, _RIGHT - part]
    _hang(pool, 0, _NONE)
    _hang(pool, 1, _NONE)
    _refresh_path(pool, count)
    return ends[0, 0], ends[1, 0]


@inner
def _cut_at_length(pool: Pool, top: int, length: float) -> Any:
    """Divide a treap so that the low part is so long, which may cut a piece in two."""
    links, values, _, path, _, ends = pool
    count, second = 0, _NONE
    ends[:] = _NONE
    while top != _NONE:
        _hand_down(pool, top)
        path[count] = top
        count += 1
        before = values[links[top, _LEFT], _TOTAL] if links[top, _LEFT] != _NONE else 0.0
        rest = length - before - values[top, _LENGTH]
        part = 1 if length <= before else 0
        _hang(pool, part, top)
        if part == 0 and rest < 0.0:
            second = _new_piece(pool, values[top, _SLOPE], -rest)
            values[top, _LENGTH] += rest
            _hang(pool, 1, links[top, _RIGHT])
            break
        length = length if part else rest
        top = links[top, _RIGHT - part]
    _hang(pool, 0, _NONE)
    if second == _NONE:
        _hang(pool, 1, _NONE)
    _refresh_path(pool, count)
    low, high = ends[0, 0], ends[1, 0]
    return low, _joined(pool, second, high)


@inner
def _add_absolute(pool: Pool, top: int, zero: float, length: float) -> Any:
    """Add ``length * abs(t)`` to a function whose left end is `zero` below t = 0."""
    if length == 0.0:
        return top
    low, high = _cut_at_length(pool, top, zero)
    _add_slope(pool, low, -length)
    _add_slope(pool, high, length)
    return _joined(pool, low, high)


@inner
def _insert_all(pool: Pool, into: int, top: int) -> Any:
    """Put the pieces of one treap into another, one by one."""
    links, values, _, _, waiting, _ = pool
    count = 0
    if top != _NONE:
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
        into = low
        for part in (np.int64(piece), np.int64(high)):
            into = _joined(pool, into, part)
    return into


@inner
def _integral(pool: Pool, top: int, length: float) -> Any:
    """Sum slope times length over the lowest pieces, up to a length of all of them."""
    links, values, _, _, waiting, _ = pool
    total, count = 0.0, 0
    while (top != _NONE or count) and length > 0.0:
        if top != _NONE:
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


@inner
def _word_pieces(pool: Any, given: float, taken: float, destruction: float, creation: float) -> Any:
    """Make a word's function: with t sent up, what it has too much is destroyed, and what it lacks created."""
    low = _new_piece(pool, -destruction, given) if given > 0.0 else _NONE
    high = _new_piece(pool, creation, taken) if taken > 0.0 else _NONE
    if low == _NONE:
        return high
    pool[0][low, _RIGHT] = high
    _refresh(pool, low)
    return low


@inner
def _list_words(
    x_words: Integers, x_masses: Floats, y_words: Integers, y_masses: Floats, words: Integers, masses: Floats
) -> int:
    """List the words of two documents, with the mass of either; return how many there are."""
    i, j, count = 0, 0, 0
    while i < x_words.size or j < y_words.size:
        from_x = j == y_words.size or (i < x_words.size and x_words[i] <= y_words[j])
        from_y = i == x_words.size or (j < y_words.size and y_words[j] <= x_words[i])
        words[count] = x_words[i] if from_x else y_words[j]
        masses[count, 0] = x_masses[i] if from_x else 0.0
        masses[count, 1] = y_masses[j] if from_y else 0.0
        i += from_x
        j += from_y
        count += 1
    return count


@inner
def _nodes_above(parents: Integers, word_nodes: Integers, words: Integers, tops: Integers, nodes: Integers) -> int:
    """List the nodes above words at the end of `nodes`, children before parents, and mark them; return the first place.

    Each word adds its path up to the first node that is listed already, in front of all others.
    """
    first = nodes.size
    for word in words:
        length, node = 0, word_nodes[word]
        while node >= 0 and tops[node] == _UNLISTED:
            tops[node] = _NONE
            length += 1
            node = parents[node]
        first -= length
        node = word_nodes[word]
        for place in range(length):
            nodes[first + place] = node
            node = parents[node]
    return first


@compiled
def unbalanced_costs(
    tree: tuple[Integers, Floats, Integers, Floats],
    prices: tuple[Floats, Floats],
    documents: Documents,
    others: Documents,
    start: int,
    stop: int,
    costs: Floats,
) -> None:
    """Add the cost between the rows from `start` to `stop` and all others to `costs`.

    A tree is its parents, edge lengths, nodes of words and leaf lengths. Prices are for creation and destruction.
    """
    parents, edge_lengths, word_nodes, leaf_lengths = tree
    creation, destruction = prices
    x_bounds, x_words, x_masses = documents
    y_bounds, y_words, y_masses = others
    most_words = np.diff(x_bounds).max() + np.diff(y_bounds).max()  # of two documents, each word counted in both
    n_nodes = parents.size
    room = 3 * most_words + n_nodes
    pool = _new_pool(room)
    tops, sizes = np.zeros(n_nodes, np.int64) + _UNLISTED, np.zeros(n_nodes, np.int64)
    zeros, ends = np.zeros(n_nodes), np.zeros(n_nodes)  # how far t = 0 is from the left end, and the value there
    nodes, words, masses = np.empty(n_nodes, np.int64), np.empty(most_words, np.int64), np.empty((most_words, 2))
    for row in range(start, stop):
        own = slice(x_bounds[row], x_bounds[row + 1])
        for other in range(y_bounds.size - 1):
            its = slice(y_bounds[other], y_bounds[other + 1])
            n_words = _list_words(x_words[own], x_masses[own], y_words[its], y_masses[its], words, masses)
            first = _nodes_above(parents, word_nodes, words[:n_words], tops, nodes)
            pool[2][0] = 0
            for item in range(n_words + n_nodes - first):
                if item < n_words:  # words come first, then the nodes that they hang from
                    word = words[item]
                    given, zero = masses[item]
                    top = _word_pieces(pool, given, zero, destruction[word], creation[word])
                    size, end, length, parent = 2, destruction[word] * given, leaf_lengths[word], word_nodes[word]
                else:
                    node = nodes[first + item - n_words]
                    top, size, zero, end = tops[node], sizes[node], zeros[node], ends[node]
                    length, parent = edge_lengths[node], parents[node]
                    tops[node], sizes[node], zeros[node], ends[node] = _UNLISTED, 0, 0.0, 0.0
                    if parent < 0:
                        costs[row, other] += max(end + _integral(pool, top, zero), 0.0)
                        break
                top = _add_absolute(pool, top, zero, length)
                small, large = (top, tops[parent]) if size < sizes[parent] else (tops[parent], top)
                tops[parent] = _insert_all(pool, large, small)
                sizes[parent] += size + 1
                zeros[parent] += zero
                ends[parent] += end + length * zero
