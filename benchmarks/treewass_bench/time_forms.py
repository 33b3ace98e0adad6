"""What is timed: every way of comparing one document with many, made ready to be asked."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import TreeIndex, TreeMetric
from treewass.compute.extras import require
from treewass.documents import to_histograms
from treewass_bench.depth import FULL_DEPTHS
from treewass_bench.methods import tree_learner
from treewass_bench.speed_rivals import merged_distances, scipy_distances, weighted_features
from treewass_bench.word_mover import load_word_mover_set

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.documents import AlignedVectors

__all__ = [
    "BLOCK",
    "FORMS",
    "PAIRED",
    "Answer",
    "TimedSet",
    "grown_tree",
    "learned_mover",
    "load_timed_set",
    "ready",
    "stacked",
]

Answer = Callable[[Any], Any]

BLOCK = 10  # queries that share a call where a function prepares the collection in every call
_QUERIES, _EPOCHS = 100, 2
_SINKHORN: dict[str, Any] = {"regularization": 0.1, "max_iter": 200, "device": "cpu"}


@dataclass(frozen=True, slots=True)
class TimedSet:
    """Documents to compare, in random order, and documents to compare them with.

    Parameters
    ----------
    documents : csr_array of shape (n_documents, n_words)
        Training documents, so that the first of them are a sample.
    labels : ndarray of str, shape (n_documents,)
        Their labels.
    queries : tuple of csr_array of shape (1, n_words)
        Test documents, a hundred or all.
    vectors : AlignedVectors
        The vector of each word. Words without one occur in no document, as in the paper's sets.
    """

    documents: csr_array
    labels: NDArray[np.str_]
    queries: tuple[csr_array, ...]
    vectors: AlignedVectors


@lru_cache(maxsize=1)
def load_timed_set(name: str, data: str | None) -> TimedSet:
    """Load the first split of a set, its documents in an order drawn with seed 0."""
    split, random = load_word_mover_set(name, 0, data), np.random.default_rng(0)
    order = random.permutation(split.X_train.shape[0])
    drawn = random.permutation(split.X_test.shape[0])[:_QUERIES]
    documents, others = split.X_train[order], split.X_test[drawn]
    for counts in (documents, others):
        counts.sum_duplicates()  # sorts the words of each
    queries = tuple(others[[row]] for row in range(drawn.size))
    return TimedSet(documents, split.y_train[order], queries, split.vectors)


def stacked(queries: tuple[csr_array, ...]) -> list[csr_array]:
    """Put queries together, `BLOCK` to a matrix; the last few that fill no block are left out, if there is a block.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> [block.shape for block in stacked((csr_array([[1, 2]]),) * 25)]
    [(10, 2), (10, 2)]
    """
    from scipy.sparse import csr_array, vstack

    whole = len(queries) // BLOCK
    return [csr_array(vstack(queries[BLOCK * place : BLOCK * (place + 1)])) for place in range(whole)]


@lru_cache(maxsize=16)
def grown_tree(name: str, data: str | None, method: str, depth: int | None) -> tuple[TreeMetric, float]:
    """Make the tree of a method on a set.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the sets.
    method : str
        ``"quadtree"``, ``"tsw-1"`` (or another number of trees), ``"stw"`` or ``"profile"``.
    depth : int, optional
        Of the tree of TSW or STW.

    Returns
    -------
    metric : TreeMetric
    seconds : float
        CPU time of growing a tree over word vectors; zero for what is learned from labels.
    """
    timed = load_timed_set(name, data)
    if method in ("stw", "profile"):
        return _learner(method, depth).fit(timed.documents, timed.labels).metric_, 0.0
    _learner(method, depth, np.eye(8)).fit(np.eye(8))  # compiles the loops
    start = time.process_time()
    metric = _learner(method, depth, timed.vectors).fit(timed.documents).metric_
    return metric, time.process_time() - start


def _learner(method: str, depth: int | None, vectors: Any = None) -> Any:
    """Make the unfitted learner of a method."""
    levels = FULL_DEPTHS.get(method) if depth is None else depth
    if method == "stw":
        return tree_learner(method, depth=levels, epochs=_EPOCHS, validation_fraction=0)
    return tree_learner(method, vectors, **({"depth": levels} if method.startswith("tsw") else {}))


@lru_cache(maxsize=1)
def learned_mover(name: str, data: str | None) -> Any:
    """Fit S-WMD by one step: whatever the map, distances take as long."""
    from treewass.distances import SupervisedWordMover

    timed = load_timed_set(name, data)
    return SupervisedWordMover(timed.vectors, max_iter=1).fit(timed.documents, timed.labels)


def ready(
    name: str, data: str | None, method: str, form: str, depth: int | None, documents: csr_array
) -> tuple[Answer, float]:
    """Prepare a method for comparing one document with all of some others.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the sets.
    method : str
        A name of `treewass_bench.methods.METHODS`.
    form : str
        How it is computed, among `FORMS`.
    depth : int, optional
        Of the tree of TSW or STW.
    documents : csr_array of shape (n_documents, n_words)
        Counts.

    Returns
    -------
    answer : callable
        Takes counts of shape (1, n_words) and returns the distances.
    seconds : float
        CPU time of what is done once for these documents, learning left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        held: Any = load_timed_set(name, data).vectors
        spent = 0.0
        if form in _OF_TREES:
            held, spent = grown_tree(name, data, method, depth)
        elif method == "swmd":
            held = learned_mover(name, data)
        start = time.process_time()
        answer = FORMS[form](held, documents)
    return answer, spent + time.process_time() - start


def _indexed(metric: TreeMetric, documents: csr_array) -> Answer:
    index = TreeIndex(metric)
    index.add(documents)
    return index.distances


def _merged(metric: TreeMetric, documents: csr_array) -> Answer:
    prepare, distances = merged_distances(metric, documents)
    return lambda query: distances(prepare(query))


def _sparse(metric: TreeMetric, documents: csr_array) -> Answer:
    prepare, distances = scipy_distances(metric, documents)
    return lambda query: distances(prepare(query))


def _dense(metric: TreeMetric, documents: csr_array) -> Answer:
    """Compute algorithm 1 for a batch: line 7 once, then a dense product of the differences and its L1 norm, line 8."""
    torch = require("torch", purpose="python -m treewass_bench batch", extra="train")
    n_nodes = metric.trees[0].n_nodes - 1  # the root adds nothing
    above = _tensor(torch, weighted_features(metric)[:, :n_nodes].T)  # C
    lengths = torch.tensor(metric.trees[0].leaf_lengths.tolist(), dtype=torch.float32)[:, None]
    held = _tensor(torch, to_histograms(documents).T)

    def distances(query: csr_array) -> Any:
        differences = held - _tensor(torch, to_histograms(query).T)
        nodes = torch.mm(above, differences).abs_().sum(dim=0)
        return nodes + differences.mul_(lengths).abs_().sum(dim=0)

    return distances


def _tensor(torch: Any, matrix: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(matrix.astype(np.float32).toarray()))


def _exact(vectors: AlignedVectors, documents: csr_array) -> Answer:
    from treewass.distances import wmd

    return lambda query: wmd(query, documents, word_vectors=vectors)


def _entropic(vectors: AlignedVectors, documents: csr_array) -> Answer:
    from treewass.distances import sinkhorn

    def distances(query: csr_array) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # pairs that the last iteration finds unfinished
            return sinkhorn(query, documents, word_vectors=vectors, **_SINKHORN)

    return distances


def _learned(mover: Any, documents: csr_array) -> Answer:
    return lambda query: mover.pairwise(query, documents)


def _flows(vectors: AlignedVectors, documents: csr_array) -> Answer:
    from treewass.distances import Flowtree

    prepared = Flowtree(vectors)
    return lambda query: prepared.pairwise(query, documents)


_OF_TREES: dict[str, Callable[[Any, csr_array], Answer]] = {
    "index": _indexed,
    "compiled merge": _merged,
    "SciPy": _sparse,
    "dense torch": _dense,
}
FORMS = {
    **_OF_TREES,
    "exact": _exact,
    "Sinkhorn": _entropic,
    "exact, learned": _learned,
    "flows": _flows,
}
PAIRED = ("exact", "Sinkhorn", "exact, learned", "flows")  # functions that prepare the collection in every call
