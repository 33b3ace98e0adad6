"""Lengths without labels or vectors: distances between words and between documents that make each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from treewass.compute.arguments import check_integer, check_positive
from treewass.documents.estimator_inputs import check_documents
from treewass.documents.histograms import empty_rows, to_histograms, warn_about_empty_rows
from treewass.documents.word_vectors import svd_vectors
from treewass.learners.base import TreeTransformer
from treewass.trees.clusters import cluster_tree
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["SingularTreeWasserstein"]

_SHIFTS = 5  # pairs that each word and each document starts
_STEPS = 10  # towards the lengths that fit best, in each iteration


class SingularTreeWasserstein(TreeTransformer):
    r"""Learn lengths of a tree over words from the documents alone, by tree-Wasserstein singular vectors.

    Documents are distributions over words, and words are distributions over the documents that hold them. So
    distances between words give distances between documents, by transport, and these give distances between words.
    Wasserstein singular vectors are a pair of distances that give each other up to a factor. Here both are distances
    along trees: a tree of clusters over words and one over documents, whose lengths are fitted in turn.

    Parameters
    ----------
    arity : int, default=5
        Clusters that a cluster is divided into.
    depth : int, default=6
        The deepest level of both trees.
    n_dimensions : int, default=100
        Dimensions of the latent vectors that the shapes of the trees are made from.
    max_iter : int, default=300
        Iterations: each fits the lengths of both trees.
    tol : float, default=0.0001
        Stop when no distance between words of a pair changed by more than this share of the largest.
    random_state : int, RandomState instance or None, default=0
        Makes the trees, and draws the pairs that lengths are fitted to.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree over words. The largest distance between two words of a pair is one.
    changes_ : ndarray of shape (n_iterations,)
        The largest change of a distance in each iteration.
    n_iter_ : int
        Iterations that were made.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    TopicTreeWasserstein : What `treewass.DocumentModel` uses without labels.

    Notes
    -----
    The shapes of the trees stay as they are; the authors also make new ones from the distances. Lengths are fitted by
    least squares without negative ones, on five pairs for each word and each document, all pairs where there are fewer;
    the authors solve for as many pairs as a tree has edges.

    References
    ----------
    Düsterwald, Hromadka and Yamada, Fast unsupervised ground metric learning with tree-Wasserstein distance, ICLR 2025.
    Huizing, Cantini and Peyré, Unsupervised ground metric learning using Wasserstein singular vectors, ICML 2022.

    Examples
    --------
    >>> X = [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 2]]
    >>> learner = SingularTreeWasserstein(arity=2).fit(X)
    >>> near, far = learner.metric_.trees[0].word_distances([0, 0], [1, 2])
    >>> bool(near < far)
    True
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        arity: int = 5,
        depth: int = 6,
        n_dimensions: int = 100,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.arity = arity
        self.depth = depth
        self.n_dimensions = n_dimensions
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SingularTreeWasserstein:  # noqa: ARG002 - as every estimator
        """Build both trees, and let their lengths make each other.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : None
            Not used.

        Returns
        -------
        SingularTreeWasserstein
            Itself.
        """
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        counts = check_documents(self, X, reset=True)
        random = check_random_state(self.random_state)
        empty = empty_rows(counts)
        warn_about_empty_rows(empty, "nothing is learned from them.")
        held = np.bincount(counts.indices, minlength=counts.shape[1]) > 0
        words = np.flatnonzero(held)
        if not words.size:
            raise ValueError("Expected at least one document with a word to learn from, got only empty ones.")
        known = counts[np.setdiff1d(np.arange(counts.shape[0]), empty)][:, words]
        tree = self._learned(to_histograms(known), to_histograms(known.T.tocsr()), random)
        nodes, lengths = np.zeros(held.size, dtype=np.int64), np.zeros(held.size)
        nodes[words], lengths[words] = tree.word_nodes, tree.leaf_lengths
        self.metric_ = TreeMetric(tree.with_words(nodes, lengths), held.astype(np.float64))
        return self

    def _learned(self, documents: csr_array, words: csr_array, random: np.random.RandomState) -> Tree:
        """Fit the tree over words: the columns of `documents`, the rows of `words`."""
        over_words, over_documents = self._tree(documents, random), self._tree(words, random)
        between_documents = _Fit(over_documents, documents @ _edges(over_words), random)
        between_words = _Fit(over_words, words @ _edges(over_documents), random)
        own = _lengths(over_words)
        other = _lengths(over_documents)
        changes: list[float] = []
        before = between_words.distances(own)
        while len(changes) < self.max_iter and (not changes or changes[-1] > self.tol):
            other = between_documents.closer(other, own)
            own = between_words.closer(own, other)
            found = between_words.distances(own)
            changes.append(float(abs(found - before).max(initial=0.0)))
            before = found
        self.changes_, self.n_iter_ = np.array(changes), len(changes)
        n_inner = over_words.n_nodes - 1
        edges = np.append(over_words.edge_lengths[0], own[:n_inner])
        return Tree(over_words.parents, edges, over_words.word_nodes, own[n_inner:])

    def _tree(self, histograms: csr_array, random: np.random.RandomState) -> Tree:
        """Build a tree over the columns of histograms, by which rows they share."""
        vectors = svd_vectors(histograms, n_dimensions=self.n_dimensions, random_state=random).vectors
        return cluster_tree(vectors, arity=self.arity, depth=self.depth, random_state=random)


class _Fit:
    """Pairs of a tree's leaves, whose distances along that tree are to be those of transport along the other tree."""

    def __init__(self, tree: Tree, masses: csr_array, random: np.random.RandomState) -> None:
        n_leaves = tree.n_words
        order = random.permutation(n_leaves)
        shifts = range(1, min(_SHIFTS, n_leaves // 2) + 1)
        first = np.tile(order, len(shifts))
        second = np.concatenate([np.roll(order, shift) for shift in shifts]) if shifts else order[:0]
        edges = _edges(tree)
        self._paths = abs(edges[first] - edges[second]).tocsr()
        self._flows = abs(masses[first] - masses[second]).tocsr()

    def distances(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances of the pairs along the tree, the largest of them one."""
        return _scaled(self._paths @ lengths)

    def closer(self, lengths: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring lengths closer to what the lengths of the other tree want, by multiplicative steps."""
        wanted = self._paths.T @ _scaled(self._flows @ others)
        for _ in range(_STEPS):
            got = self._paths.T @ (self._paths @ lengths)
            lengths = lengths * np.divide(wanted, got, out=np.ones_like(got), where=got > 0)
        largest = float((self._paths @ lengths).max(initial=0.0)) or 1.0
        return np.asarray(lengths / largest)


def _edges(tree: Tree) -> csr_array:
    """Say which edges are above each word, shape (n_words, n_edges): of inner nodes but the root, then of words."""
    return TreeMetric(tree).word_features[0]


def _lengths(tree: Tree) -> NDArray[np.float64]:
    """Return where the lengths of a tree's edges start: all of them equal."""
    return np.ones(tree.n_nodes - 1 + tree.n_words)


def _scaled(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = float(distances.max(initial=0.0))
    return distances / largest if largest > 0 else distances
