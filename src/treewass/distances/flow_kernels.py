"""Compiled loops of Flowtree; imported on first use, since importing numba takes a moment.

Words are numbered in the order of a depth-first walk, so that the words below a node stand side by side. Two documents
are merged in that order; mass that found no partner waits on a stack, in segments: one for each node that is still
open, from the root down. When a node closes, what waits there is paired off with what waits at the next node above,
if the one is surplus and the other demand. So mass is matched as low as possible, which is optimal along the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treewass.search.kernels.compiling import compiled, inner

__all__ = ["flow_costs", "flows_of_pair"]

_LEAF = 2**31 - 1  # deeper than any node
_UNIT = 2.0**-50


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})  # sums in the processor's own lanes
def _distance(vectors: NDArray[np.float64], first: int, second: int) -> Any:
    """Measure how far two words are from each other."""
    one, other = vectors[first], vectors[second]
    total = 0.0
    for place in range(one.size):
        apart = one[place] - other[place]
        total += apart * apart
    return np.sqrt(total)


@inner
def _meeting_depth(minima: NDArray[np.int32], first: int, second: int) -> Any:
    """Return the depth of the lowest node above two words: the least over all neighbours between them."""
    level = 0
    while (2 << level) <= second - first:
        level += 1
    return min(minima[level, first], minima[level, second - (1 << level)])


@inner
def _differences(
    x_words: NDArray[np.int32],
    x_masses: NDArray[np.int64],
    y_words: NDArray[np.int32],
    y_masses: NDArray[np.int64],
    words: NDArray[np.int32],
    masses: NDArray[np.int64],
) -> int:
    """List the words of which one document holds more, and how much more; return their number."""
    count, i, j = 0, 0, 0
    while i < x_words.size or j < y_words.size:
        if j == y_words.size or (i < x_words.size and x_words[i] < y_words[j]):
            words[count], masses[count] = x_words[i], x_masses[i]
            i += 1
        elif i == x_words.size or y_words[j] < x_words[i]:
            words[count], masses[count] = y_words[j], -y_masses[j]
            j += 1
        else:
            words[count], masses[count] = x_words[i], x_masses[i] - y_masses[j]
            i += 1
            j += 1
        count += masses[count] != 0
    return count


@inner
def _pair_off(
    low: int,
    middle: int,
    top: int,
    words: NDArray[np.int32],
    masses: NDArray[np.int64],
    flows: NDArray[np.int64],
    n_flows: int,
) -> Any:
    """Move mass between two segments of the stack; return the stack's new top and the number of flows."""
    if low == middle or middle == top or (masses[low] > 0) == (masses[middle] > 0):
        return top, n_flows
    under, over = middle - 1, top - 1
    while under >= low and over >= middle:
        moved = min(abs(masses[under]), abs(masses[over]))
        giving = masses[under] > 0
        flows[n_flows, 0] = words[under] if giving else words[over]
        flows[n_flows, 1] = words[over] if giving else words[under]
        flows[n_flows, 2] = moved
        n_flows += 1
        masses[under] -= moved if giving else -moved
        masses[over] += moved if giving else -moved
        under -= masses[under] == 0
        over -= masses[over] == 0
    left = over - middle + 1
    for place in range(left):
        words[under + 1 + place], masses[under + 1 + place] = words[middle + place], masses[middle + place]
    return under + 1 + left, n_flows


@inner
def _match(
    minima: NDArray[np.int32],
    words: NDArray[np.int32],
    masses: NDArray[np.int64],
    count: int,
    depths: NDArray[np.int32],
    begins: NDArray[np.int32],
    flows: NDArray[np.int64],
) -> int:
    """Match the listed surplus and demand; return the number of flows. The list itself becomes the stack."""
    top, n_open, n_flows, previous = 0, 0, 0, 0
    for item in range(count):
        word, mass = words[item], masses[item]
        meeting = _meeting_depth(minima, previous, word) if item else 0
        while n_open and depths[n_open - 1] > meeting:
            if n_open == 1 or depths[n_open - 2] < meeting:
                depths[n_open - 1] = meeting
                break
            top, n_flows = _pair_off(begins[n_open - 2], begins[n_open - 1], top, words, masses, flows, n_flows)
            n_open -= 1
        depths[n_open], begins[n_open] = _LEAF, top
        n_open += 1
        words[top], masses[top] = word, mass
        top += 1
        previous = word
    while n_open > 1:
        top, n_flows = _pair_off(begins[n_open - 2], begins[n_open - 1], top, words, masses, flows, n_flows)
        n_open -= 1
    return n_flows


@compiled
def flows_of_pair(
    minima: NDArray[np.int32],
    x_words: NDArray[np.int32],
    x_masses: NDArray[np.int64],
    y_words: NDArray[np.int32],
    y_masses: NDArray[np.int64],
) -> NDArray[np.int64]:
    """List the flows between two documents: source, target and mass. Mass that stays is not among them."""
    size = x_words.size + y_words.size
    words, masses = np.empty(size, np.int32), np.empty(size, np.int64)
    depths, begins, flows = np.empty(size, np.int32), np.empty(size, np.int32), np.empty((size, 3), np.int64)
    count = _differences(x_words, x_masses, y_words, y_masses, words, masses)
    return flows[: _match(minima, words, masses, count, depths, begins, flows)]


@compiled
def flow_costs(
    minima: NDArray[np.int32],
    vectors: NDArray[np.float64],
    x_bounds: NDArray[np.int32],
    x_words: NDArray[np.int32],
    x_masses: NDArray[np.int64],
    y_bounds: NDArray[np.int32],
    y_words: NDArray[np.int32],
    y_masses: NDArray[np.int64],
    most_words: int,
    start: int,
    stop: int,
    same: bool,
    costs: NDArray[np.float64],
) -> None:
    """Cost the flows of the rows from `start` to `stop` to all others, each pair once where both are the same.

    The first row of `costs` is that of `start`; of two equal sets only what lies right of the diagonal is written.
    No two documents hold more than `most_words` words together, each word counted in both.
    """
    words, masses = np.empty(most_words, np.int32), np.empty(most_words, np.int64)
    depths, begins = np.empty(most_words, np.int32), np.empty(most_words, np.int32)
    flows = np.empty((most_words, 3), np.int64)
    for other in range(y_bounds.size - 1):  # whose vectors stay in a cache meanwhile
        its = slice(y_bounds[other], y_bounds[other + 1])
        for row in range(start, min(stop, other) if same else stop):
            own = slice(x_bounds[row], x_bounds[row + 1])
            count = _differences(x_words[own], x_masses[own], y_words[its], y_masses[its], words, masses)
            cost = 0.0
            for flow in range(_match(minima, words, masses, count, depths, begins, flows)):
                cost += flows[flow, 2] * _distance(vectors, flows[flow, 0], flows[flow, 1])
            costs[row - start, other] = cost * _UNIT
