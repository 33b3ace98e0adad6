"""Metrics that need no labels: plain L1 distances, the quadtree over word vectors, and averaged trees of clusters."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from treewass.compute.threads import run_in_blocks
from treewass.documents.estimator_inputs import check_documents, check_ranges, check_weights
from treewass.documents.histograms import check_counts
from treewass.documents.word_vectors import AlignedVectors, open_vectors, svd_vectors
from treewass.learners.base import TreeTransformer
from treewass.trees.clusters import cluster_tree
from treewass.trees.metric import TreeMetric
from treewass.trees.quadtrees import quadtree
from treewass.trees.shapes import star_tree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["QuadtreeWasserstein", "TreeSlicedWasserstein", "VectorTreeTransformer", "bow_metric", "tfidf_metric"]

_MOST_SEED = 2**31 - 1


def bow_metric(n_words: int) -> TreeMetric:
    """Make the L1 distance between bags of words.

    Parameters
    ----------
    n_words : int
        Number of words.

    Returns
    -------
    TreeMetric

    Examples
    --------
    >>> bow_metric(2).pairwise([[1, 1]], [[0, 2]])
    array([[1.]])
    """
    return TreeMetric(star_tree(n_words))


def tfidf_metric(X: Any, sample_weight: ArrayLike | None = None) -> TreeMetric:
    """Make the L1 distance between bags of words weighted by inverse document frequency.

    A word in d of n documents has the mass factor ``log((1 + n) / (1 + d)) + 1``, as in scikit-learn.

    Parameters
    ----------
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts of the documents that the frequencies are taken from.
    sample_weight : array-like of shape (n_documents,), optional
        Weight of each document; a document of weight two counts as two.

    Returns
    -------
    TreeMetric

    Examples
    --------
    >>> tfidf_metric([[1, 1], [1, 0], [1, 0]]).masses.round(2)
    array([[1.  , 1.69]])
    """
    counts = check_counts(X)
    n_words, weights = counts.shape[1], check_weights(sample_weight, counts.shape[0])
    frequencies = np.bincount(counts.indices, np.repeat(weights, np.diff(counts.indptr)), n_words)
    return TreeMetric(star_tree(n_words), np.log((1 + weights.sum()) / (1 + frequencies)) + 1)


class VectorTreeTransformer(TreeTransformer):
    """Base of the learners that build trees over word vectors and look at no label.

    A word without a vector carries no mass: it is unknown to the metric, and so is a document without any other.
    """

    word_vectors: AlignedVectors | ArrayLike | None
    n_dimensions: int
    random_state: int | np.random.RandomState | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def fit(self, X: Any, y: Any = None) -> VectorTreeTransformer:  # noqa: ARG002 - as every estimator
        """Build the trees.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. They matter only where vectors must be made from them.
        y : None
            Not used.

        Returns
        -------
        VectorTreeTransformer
            Itself.
        """
        counts = check_documents(self, X, reset=True)
        random = check_random_state(self.random_state)
        given = self.word_vectors
        if given is None:
            given = svd_vectors(counts, n_dimensions=self.n_dimensions, random_state=random.randint(_MOST_SEED))
        open_vectors(given, caller=type(self).__name__, n_words=counts.shape[1])  # numbers are checked below
        self.metric_ = TreeMetric.from_word_vectors(given, lambda points: self._grow(points, random))
        return self

    @abstractmethod
    def _grow(self, points: NDArray[np.float64], random: np.random.RandomState) -> list[Tree]:
        """Build trees over the vectors of the words that have one."""


class QuadtreeWasserstein(VectorTreeTransformer):
    """Compare documents along a quadtree over word vectors.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each column of the counts, such as ``WordVectors.align(words)``. By default vectors are made from
        the documents by `svd_vectors`. A word without a vector carries no mass.
    n_dimensions : int, default=100
        Dimensions of vectors made from the documents.
    convention : {"backurs", "indyk-thaper"}, default="backurs"
        Whether the edges of a word end with the first cell that holds it alone, or go on to the finest cells; see
        `treewass.trees.quadtree`.
    depth : int, default=32
        Levels of cells.
    random_state : int, RandomState instance or None, default=0
        Chooses the shift of the cells.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    TreeSlicedWasserstein : Trees of clusters, which stay deep where there are many dimensions.
    treewass.distances.flowtree : The flow along this tree, costed on the vectors.

    Notes
    -----
    With many dimensions nearly every word is alone in its cell at the first level or the second, and the distance is
    nearly that of bags of words: the paper's section 4.3 notes it.

    Examples
    --------
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> learner = QuadtreeWasserstein(word_vectors=[[0.0], [1.0], [10.0]]).fit(X)
    >>> distances = learner.pairwise(X)
    >>> bool(distances[0, 1] < distances[0, 2])
    True
    """

    def __init__(
        self,
        *,
        word_vectors: AlignedVectors | ArrayLike | None = None,
        n_dimensions: int = 100,
        convention: str = "backurs",
        depth: int = 32,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.word_vectors = word_vectors
        self.n_dimensions = n_dimensions
        self.convention = convention
        self.depth = depth
        self.random_state = random_state

    def _grow(self, points: NDArray[np.float64], random: np.random.RandomState) -> list[Tree]:
        return [quadtree(points, convention=self.convention, depth=self.depth, random_state=random)]


class TreeSlicedWasserstein(VectorTreeTransformer):
    """Compare documents along trees of clusters of word vectors, and average.

    The trees stand side by side in one metric, so that the distance of documents is the mean of the trees' distances.

    Parameters
    ----------
    n_trees : int, default=10
        Trees, each from other starting points.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each column of the counts, such as ``WordVectors.align(words)``. By default vectors are made from
        the documents by `svd_vectors`. A word without a vector carries no mass.
    n_dimensions : int, default=100
        Dimensions of vectors made from the documents.
    arity : int, default=5
        Clusters that a cluster is divided into.
    depth : int, default=6
        The deepest level, that of words or of clusters.
    words : {"leaves", "clusters"}, default="leaves"
        Whether each word has an edge of its own at the deepest level, or documents are held by the clusters of that
        level, as Le et al. published it; see `treewass.trees.cluster_tree`.
    n_jobs : int, optional
        Threads that build trees; -1 for all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Chooses the starting points.

    Attributes
    ----------
    metric_ : TreeMetric
        The trees, one component each.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    treewass.trees.cluster_tree : One such tree, and how its lengths are defined.

    Examples
    --------
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> learner = TreeSlicedWasserstein(n_trees=2, word_vectors=[[0.0], [1.0], [10.0]]).fit(X)
    >>> learner.metric_.n_components
    2
    >>> distances = learner.pairwise(X)
    >>> bool(distances[0, 1] < distances[0, 2])
    True
    """

    def __init__(
        self,
        *,
        n_trees: int = 10,
        word_vectors: AlignedVectors | ArrayLike | None = None,
        n_dimensions: int = 100,
        arity: int = 5,
        depth: int = 6,
        words: str = "leaves",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_trees = n_trees
        self.word_vectors = word_vectors
        self.n_dimensions = n_dimensions
        self.arity = arity
        self.depth = depth
        self.words = words
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _grow(self, points: NDArray[np.float64], random: np.random.RandomState) -> list[Tree]:
        check_ranges(self, {"n_trees": 1}, (), ())
        seeds = random.randint(_MOST_SEED, size=self.n_trees).tolist()
        trees: dict[int, Tree] = {}

        def work(start: int, stop: int) -> None:
            for number in range(start, stop):
                trees[number] = cluster_tree(
                    points, arity=self.arity, depth=self.depth, words=self.words, random_state=seeds[number]
                )

        run_in_blocks(work, self.n_trees, self.n_jobs, block=1)
        return [trees[number] for number in range(self.n_trees)]
