"""Flowtree: the best flow along a quadtree, costed by the word vectors themselves.

The compiled loops at the end number words in the order of a depth-first walk, so that the words below a node have
consecutive numbers. Two documents are merged in that order. Mass that found no partner waits on a stack, in segments:
one for each node that is still open, from the root down. When a node closes, what waits there is paired off with what
waits at the next node above, if one is surplus and the other demand. So mass is matched as low as possible, which is
optimal along the tree.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.compiling import compiled, inner
from treewass.distances.document_pairs import Floats, Integers, rows_in_parts
from treewass.documents.word_vectors import check_vectors, covered_histograms
from treewass.trees.checks import frozen
from treewass.trees.embedding import MASS_BITS, mass_units
from treewass.trees.metric import TreeMetric
from treewass.trees.quadtrees import quadtree
from treewass.trees.shapes import star_tree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["Flowtree", "WordFlows", "flowtree", "flowtree_flows"]

_CALLER = "flowtree"
_ROWS_PER_PART = 16
_Units = tuple[Integers, Integers, Integers]  # documents: where each begins, its words, their whole masses
_LEAF = 2**31 - 1  # deeper than any node
_UNIT = 2.0**-MASS_BITS


@dataclass(frozen=True, slots=True, eq=False)
class WordFlows:
    """How mass moves from the words of one document to those of another.

    Parameters
    ----------
    sources, targets : ndarray of int64, shape (n_flows,)
        Words that give and receive mass; a word that both documents hold keeps what it can.
    masses : ndarray of float64, shape (n_flows,)
        Mass moved, as exact multiples of ``2**-50``: they add up to exactly one.
    distances : ndarray of float64, shape (n_flows,)
        Euclidean distance between the words' vectors.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    masses: NDArray[np.float64]
    distances: NDArray[np.float64]

    @property
    def cost(self) -> float:
        """What moving all of it costs."""
        return float((self.masses * self.distances).sum())


def flowtree(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: AlignedVectors | ArrayLike,
    tree: Tree | None = None,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Compute Flowtree between each row of `X` and each row of `Y`: an upper bound of the word mover's distance.

    The flow between two documents is optimal along a tree over the words; its cost is counted on the Euclidean
    distances between the words' vectors. The time is linear in the number of words of the two documents.

    Parameters
    ----------
    X, Y : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights; `Y` defaults to `X`. Words without a vector are left out.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each column of the counts.
    tree : Tree, optional
        A tree over all words; by default `treewass.trees.quadtree` over the vectors.
    random_state : int, RandomState instance or None, default=0
        Chooses the shift of the quadtree.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    checkpoint : path-like, optional
        A folder that keeps finished parts. The same call with the same folder resumes where an earlier one ended.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Symmetric, zero between equal documents, and no less than the word mover's distance.

    Raises
    ------
    ValueError
        If a document holds no word with a vector: it has no transport distance.

    References
    ----------
    Backurs, Dong, Indyk, Razenshteyn and Wagner, Scalable nearest neighbor search for optimal transport, ICML 2020.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]]
    >>> flowtree([[1, 1, 0]], [[0, 1, 1], [1, 0, 0]], word_vectors=vectors)
    array([[2.91547595, 2.5       ]])
    """
    prepared = Flowtree(word_vectors, tree=tree, random_state=random_state)
    return prepared.pairwise(X, Y, n_jobs=n_jobs, verbose=verbose, checkpoint=checkpoint)


def flowtree_flows(
    first: Any,
    second: Any,
    *,
    word_vectors: AlignedVectors | ArrayLike,
    tree: Tree | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> WordFlows:
    """List the flows between two documents that `flowtree` costs.

    Parameters
    ----------
    first, second : sparse matrix or array-like of shape (1, n_words)
        One document each.
    word_vectors, tree, random_state
        As in `flowtree`.

    Returns
    -------
    WordFlows
        In the order of source, then target.

    Examples
    --------
    >>> flows = flowtree_flows([[1, 1, 0]], [[0, 1, 1]], word_vectors=[[0.0], [3.0], [5.0]])
    >>> flows.sources.tolist(), flows.targets.tolist(), flows.masses.tolist(), flows.cost
    ([0, 1], [2, 1], [0.5, 0.5], 2.5)
    """
    return Flowtree(word_vectors, tree=tree, random_state=random_state).flows(first, second)


class Flowtree:
    """A tree over words prepared for `flowtree`, for repeated calls.

    Parameters
    ----------
    word_vectors, tree, random_state
        As in `flowtree`.

    Examples
    --------
    >>> prepared = Flowtree([[0.0], [3.0], [5.0]])
    >>> prepared.pairwise([[1, 1, 0]], [[0, 1, 1]]), prepared.pairwise([[1, 0, 0]], [[0, 1, 0]])
    (array([[2.5]]), array([[3.]]))
    """

    def __init__(
        self,
        word_vectors: AlignedVectors | ArrayLike,
        *,
        tree: Tree | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        vectors, self._covered = check_vectors(word_vectors, caller=_CALLER)
        words = np.flatnonzero(self._covered)
        if tree is None:
            tree = quadtree(vectors[words], random_state=random_state)
            nodes = tree.word_nodes
        elif tree.n_words != self._covered.size:
            raise ValueError(
                f"Expected a tree over {self._covered.size} words, as many as vectors, got {tree.n_words}."
            )
        else:
            nodes = tree.word_nodes[words]
        order = np.argsort(tree.subtree_intervals[0][nodes], kind="stable")  # of a depth-first walk
        self._words = words[order]
        self._vectors = vectors[self._words]
        ordered = nodes[order]
        self._minima = _range_minima(tree.depths[tree.lowest_common_ancestors(ordered[:-1], ordered[1:])])
        self._places = np.zeros(self._covered.size, dtype=np.int32)
        self._places[self._words] = np.arange(words.size)
        self._whole = TreeMetric(star_tree(self._covered.size))

    def pairwise(
        self,
        X: Any,
        Y: Any = None,
        *,
        n_jobs: int | None = None,
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> NDArray[np.float64]:
        """Compute Flowtree between each row of `X` and each row of `Y`; parameters as in `flowtree`."""
        rows = self._rows(X, "X")
        others = rows if Y is None else self._rows(Y, "Y")
        shape = (rows[0].size - 1, others[0].size - 1)
        if not all(shape):
            return np.zeros(shape)
        used = np.unique(np.concatenate([rows[1], others[1]]))  # their vectors fit a cache, where all would not
        arrays: list[NDArray[Any]] = [_range_minima(_minima_between(self._minima, used)), self._vectors[used]]
        for bounds, places, units in (rows, others):
            arrays += [bounds, np.searchsorted(used, places).astype(np.int32), units]
        options: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose, "checkpoint": checkpoint}
        work = partial(_costs_of_rows, arrays, Y is None)
        parts = rows_in_parts(work, shape[0], _ROWS_PER_PART, arrays, {"same": Y is None}, name=_CALLER, **options)
        costs = np.asarray(parts["distances"])
        return costs + costs.T if Y is None else costs

    def flows(self, first: Any, second: Any) -> WordFlows:
        """List the flows between two documents; parameters as in `flowtree_flows`."""
        pair = []
        for document, name in ((first, "first"), (second, "second")):
            bounds, places, units = self._rows(document, name)
            if bounds.size != 2:
                raise ValueError(
                    f"Expected {name} to be one document, of shape (1, n_words), got {bounds.size - 1} rows."
                )
            pair.append((places, units))
        (places, units), (other_places, other_units) = pair
        kept, own, its = np.intersect1d(places, other_places, assume_unique=True, return_indices=True)
        staying = np.stack([kept, kept, np.minimum(units[own], other_units[its])], axis=1)
        moving = flows_of_pair(self._minima, places, units, other_places, other_units)
        sources, targets, masses = np.concatenate([staying, moving]).astype(np.int64).T
        order = np.lexsort((self._words[targets], self._words[sources]))
        sources, targets = sources[order], targets[order]
        distances = np.linalg.norm(self._vectors[sources] - self._vectors[targets], axis=1)
        shares = np.ldexp(masses[order].astype(np.float64), -MASS_BITS)
        return WordFlows(*map(frozen, (self._words[sources], self._words[targets], shares, distances)))

    def _rows(self, X: Any, name: str) -> _Units:
        """Return documents as bounds, places of words in the walk, and whole masses."""
        masses = mass_units(self._whole, covered_histograms(X, self._covered, caller=_CALLER, name=name))
        masses.indices, masses.indptr = self._places[masses.indices], masses.indptr.astype(np.int32)
        masses.has_sorted_indices = False
        masses.sort_indices()
        return masses.indptr, masses.indices, masses.data.astype(np.int64)


def _costs_of_rows(arrays: list[NDArray[Any]], same: bool, start: int, stop: int) -> dict[str, Floats]:
    """Compute some rows; of two equal sets only what lies right of the diagonal."""
    minima, vectors, *documents = arrays
    costs = np.zeros((stop - start, documents[3].size - 1))
    flow_costs(minima, vectors, tuple(documents[:3]), tuple(documents[3:]), start, stop, same, costs)
    return {"distances": costs}


def _range_minima(depths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Find the least of ``2**row`` depths from a place on, that of a word being the one at which it meets the next."""
    minima = [depths]
    while 2 ** len(minima) <= depths.size:
        shorter, half = minima[-1], 2 ** (len(minima) - 1)
        following = np.append(shorter[half:], np.zeros(half, dtype=np.int32))[: shorter.size]
        minima.append(np.minimum(shorter, following))
    return np.ascontiguousarray(np.array(minima, dtype=np.int32).reshape(len(minima), -1))


def _minima_between(minima: NDArray[np.int32], places: NDArray[np.int32]) -> NDArray[np.int32]:
    """Find the depth at which the words of ascending places meet the next one."""
    first, second = places[:-1].astype(np.int64), places[1:].astype(np.int64)
    rows = np.frexp((second - first).astype(np.float64))[1] - 1  # the whole part of the binary logarithm
    return np.asarray(np.minimum(minima[rows, first], minima[rows, second - 2**rows]))


@partial(inner, fastmath={"reassoc", "nsz", "contract"})  # sums in the processor's own lanes
def _distance(vectors: Floats, first: int, second: int) -> Any:
    """Measure how far two words are from each other."""
    one, other = vectors[first], vectors[second]
    total = 0.0
    for place in range(one.size):
        apart = one[place] - other[place]
        total += apart * apart
    return np.sqrt(total)


@inner
def _meeting_depth(minima: Integers, first: int, second: int) -> Any:
    """Return the depth of the lowest node above two words: the least over all neighbours between them."""
    level = 0
    while (2 << level) <= second - first:
        level += 1
    return min(minima[level, first], minima[level, second - (1 << level)])


@inner
def _differences(
    x_words: Integers, x_masses: Integers, y_words: Integers, y_masses: Integers, words: Integers, masses: Integers
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
def _pair_off(low: int, middle: int, top: int, words: Integers, masses: Integers, flows: Integers, n_flows: int) -> Any:
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
    minima: Integers, words: Integers, masses: Integers, count: int, depths: Integers, begins: Integers, flows: Integers
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
    minima: Integers, x_words: Integers, x_masses: Integers, y_words: Integers, y_masses: Integers
) -> Integers:
    """List the flows between two documents: source, target and mass. Mass that stays is not among them."""
    size = x_words.size + y_words.size
    words, masses = np.empty(size, np.int32), np.empty(size, np.int64)
    depths, begins, flows = np.empty(size, np.int32), np.empty(size, np.int32), np.empty((size, 3), np.int64)
    count = _differences(x_words, x_masses, y_words, y_masses, words, masses)
    return flows[: _match(minima, words, masses, count, depths, begins, flows)]


@compiled
def flow_costs(
    minima: Integers, vectors: Floats, own: _Units, others: _Units, start: int, stop: int, same: bool, costs: Floats
) -> None:
    """Cost the flows of the rows from `start` to `stop` to all others, each pair once where both are the same.

    The first row of `costs` is that of `start`; of two equal sets only what lies right of the diagonal is written.
    """
    x_bounds, x_words, x_masses = own
    y_bounds, y_words, y_masses = others
    most_words = np.diff(x_bounds).max() + np.diff(y_bounds).max()  # of two documents, each word counted in both
    words, masses = np.empty(most_words, np.int32), np.empty(most_words, np.int64)
    depths, begins = np.empty(most_words, np.int32), np.empty(most_words, np.int32)
    flows = np.empty((most_words, 3), np.int64)
    for other in range(y_bounds.size - 1):  # whose vectors stay in a cache meanwhile
        its = slice(y_bounds[other], y_bounds[other + 1])
        for row in range(start, min(stop, other) if same else stop):
            mine = slice(x_bounds[row], x_bounds[row + 1])
            count = _differences(x_words[mine], x_masses[mine], y_words[its], y_masses[its], words, masses)
            cost = 0.0
            for flow in range(_match(minima, words, masses, count, depths, begins, flows)):
                cost += flows[flow, 2] * _distance(vectors, flows[flow, 0], flows[flow, 1])
            costs[row - start, other] = cost * _UNIT
