"""Compiled loops of the unbalanced distance; imported on first use, since importing numba takes a moment.

Let f(t) be the least cost within a subtree when the mass t goes up from it (down to it, where t is negative): convex
and piecewise linear, held as its pieces and its value at the left end. Joining subtrees joins their pieces, the smaller
function's one by one into the larger; an edge of length w adds w |t|, that is, −w to all slopes left of zero and +w to
all right of it, which two cuts and two notes to hand down do. So a pair of documents takes O(n log² n), n being its
words and the nodes above them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.distances.pieces import NONE, add_absolute, insert_all, integral, link_pieces, new_piece, new_pool
from treewass.search.kernels.compiling import compiled, inner

__all__ = ["unbalanced_costs"]

_UNLISTED = -2


@inner
def _word_pieces(pool: Any, given: float, taken: float, destruction: float, creation: float) -> Any:
    """Make a word's function: with t sent up, what it has too much is destroyed, and what it lacks created."""
    low = new_piece(pool, -destruction, given) if given > 0.0 else NONE
    high = new_piece(pool, creation, taken) if taken > 0.0 else NONE
    return link_pieces(pool, low, high)


@inner
def _list_words(
    x_words: NDArray[np.int32],
    x_masses: NDArray[np.float64],
    y_words: NDArray[np.int32],
    y_masses: NDArray[np.float64],
    words: NDArray[np.int64],
    masses: NDArray[np.float64],
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
def _nodes_above(
    parents: NDArray[np.int32],
    word_nodes: NDArray[np.int32],
    words: NDArray[np.int64],
    tops: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> int:
    """List the nodes above words at the end of `nodes`, children before parents, and mark them; return the first place.

    Each word adds its path up to the first node that is listed already, in front of all others.
    """
    first = nodes.size
    for word in words:
        length, node = 0, word_nodes[word]
        while node >= 0 and tops[node] == _UNLISTED:
            tops[node] = NONE
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
    most_words: int,
    start: int,
    stop: int,
    costs: NDArray[np.float64],
) -> None:
    """Add the cost between the rows from `start` to `stop` and all others to `costs`.

    No two documents hold more than `most_words` words together, each word counted in both.
    """
    n_nodes = parents.size
    room = 3 * most_words + n_nodes
    pool = new_pool(room)
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
                        costs[row, other] += max(end + integral(pool, top, zero), 0.0)
                        break
                top = add_absolute(pool, top, zero, length)
                small, large = (top, tops[parent]) if size < sizes[parent] else (tops[parent], top)
                tops[parent] = insert_all(pool, large, small)
                sizes[parent] += size + 1
                zeros[parent] += zero
                ends[parent] += end + length * zero
