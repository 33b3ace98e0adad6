"""Flowtree: the best flow along a quadtree, costed by the word vectors themselves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.inputs import check_vectors, covered_histograms
from treewass.distances.parts import Arrays, PartStore, compute_in_parts, fingerprint, show_progress
from treewass.search.embedding import MASS_BITS, mass_units
from treewass.trees.checks import frozen
from treewass.trees.metric import TreeMetric
from treewass.trees.quadtrees import quadtree
from treewass.trees.shapes import star_tree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["Flowtree", "WordFlows", "flowtree", "flowtree_flows"]

_CALLER = "flowtree"
_ROWS_A_PART = 16


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
    store: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Compute Flowtree between each row of `X` and each row of `Y`: an upper bound of the word mover's distance.

    The flow between two documents is optimal along a tree over the words; its cost is counted on the Euclidean
    distances between the words' vectors. The flow takes time linear in the number of words of the two documents, and
    the costs as many distances between vectors.

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
    store : path-like, optional
        A folder that keeps finished parts: the same call with the same folder resumes where an earlier one ended.

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
    return prepared.pairwise(X, Y, n_jobs=n_jobs, verbose=verbose, store=store)


def flowtree_flows(
    x: Any,
    y: Any,
    *,
    word_vectors: AlignedVectors | ArrayLike,
    tree: Tree | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> WordFlows:
    """List the flows between two documents that `flowtree` costs.

    Parameters
    ----------
    x, y : sparse matrix or array-like of shape (1, n_words)
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
    return Flowtree(word_vectors, tree=tree, random_state=random_state).flows(x, y)


class Flowtree:
    """A tree over words prepared for `flowtree`, for those who call it more than once.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each column of the counts.
    tree : Tree, optional
        A tree over all words; by default `treewass.trees.quadtree` over the vectors.
    random_state : int, RandomState instance or None, default=0
        Chooses the shift of the quadtree.

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
        store: str | os.PathLike[str] | None = None,
    ) -> NDArray[np.float64]:
        """Compute what `flowtree` does.

        Parameters
        ----------
        X, Y, n_jobs, verbose, store
            As in `flowtree`.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        rows = self._rows(X, "X")
        others = rows if Y is None else self._rows(Y, "Y")
        shape = (rows[0].size - 1, others[0].size - 1)
        if not all(shape):
            return np.zeros(shape)
        used = np.unique(np.concatenate([rows[1], others[1]]))  # their vectors fit a cache, where all would not
        arrays: list[NDArray[Any]] = [_range_minima(_minima_between(self._minima, used)), self._vectors[used]]
        for bounds, places, units in (rows, others):
            arrays += [bounds, np.searchsorted(used, places).astype(np.int32), units]
        identity = "" if store is None else fingerprint({"name": _CALLER, "same": Y is None}, *arrays)
        kept = None if store is None else PartStore(store, identity, _ROWS_A_PART)
        with show_progress("flowtree, documents", shape[0], verbose) as progress:
            options: dict[str, Any] = {"n_jobs": n_jobs, "processes": False, "progress": progress, "store": kept}
            work = partial(_costs_of_rows, arrays, Y is None)
            costs = np.asarray(compute_in_parts(work, shape[0], block=_ROWS_A_PART, **options)["distances"])
        return costs + costs.T if Y is None else costs

    def flows(self, x: Any, y: Any) -> WordFlows:
        """List what `flowtree_flows` does.

        Parameters
        ----------
        x, y
            As in `flowtree_flows`.

        Returns
        -------
        WordFlows
        """
        from treewass.distances.flow_kernels import flows_of_pair

        pair = [self._rows(document, name) for document, name in ((x, "x"), (y, "y"))]
        for (bounds, _, _), name in zip(pair, "xy", strict=True):
            if bounds.size != 2:
                raise ValueError(
                    f"Expected {name} to be one document, of shape (1, n_words), got {bounds.size - 1} rows."
                )
        (_, x_words, x_masses), (_, y_words, y_masses) = pair
        kept, in_x, in_y = np.intersect1d(x_words, y_words, assume_unique=True, return_indices=True)
        staying = np.stack([kept, kept, np.minimum(x_masses[in_x], y_masses[in_y])], axis=1)
        moving = flows_of_pair(self._minima, x_words, x_masses, y_words, y_masses)
        first, second, units = np.concatenate([staying, moving]).astype(np.int64).T
        sources, targets = self._words[first], self._words[second]
        order = np.lexsort((targets, sources))
        distances = np.linalg.norm(self._vectors[first] - self._vectors[second], axis=1)
        masses = np.ldexp(units.astype(np.float64), -MASS_BITS)
        return WordFlows(*(frozen(array[order]) for array in (sources, targets, masses, distances)))

    def _rows(self, X: Any, name: str) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Return documents as bounds, places of words in the walk, and whole masses."""
        masses = mass_units(self._whole, covered_histograms(X, self._covered, caller=_CALLER, name=name))
        masses.indices, masses.indptr = self._places[masses.indices], masses.indptr.astype(np.int32)
        masses.has_sorted_indices = False
        masses.sort_indices()
        return masses.indptr, masses.indices, masses.data.astype(np.int64)


def _costs_of_rows(arrays: list[NDArray[Any]], same: bool, start: int, stop: int) -> Arrays:
    """Compute some rows; of two equal sets only what lies right of the diagonal."""
    from treewass.distances.flow_kernels import flow_costs

    bounds, others = arrays[2], arrays[5]
    costs = np.zeros((stop - start, others.size - 1))
    most_words = int(np.diff(bounds).max() + np.diff(others).max())
    flow_costs(*arrays, most_words, start, stop, same, costs)
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
