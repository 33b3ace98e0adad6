"""The tree-sliced Wasserstein distance as an estimator: an average over trees of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.learners.inputs import check_ranges
from treewass.learners.vectors import VectorTreeTransformer
from treewass.search.threads import run_in_blocks
from treewass.trees.clusters import cluster_tree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["TreeSlicedWasserstein"]

_MOST_SEED = 2**31 - 1


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
    max_depth : int, default=6
        The deepest level, that of words.
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
        max_depth: int = 6,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_trees = n_trees
        self.word_vectors = word_vectors
        self.n_dimensions = n_dimensions
        self.arity = arity
        self.max_depth = max_depth
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _grow(self, points: NDArray[np.float64], random: np.random.RandomState) -> list[Tree]:
        check_ranges(self, {"n_trees": 1}, (), ())
        seeds = random.randint(_MOST_SEED, size=self.n_trees)
        trees: dict[int, Tree] = {}

        def work(start: int, stop: int) -> None:
            for number in range(start, stop):
                trees[number] = cluster_tree(
                    points, arity=self.arity, max_depth=self.max_depth, random_state=int(seeds[number])
                )

        run_in_blocks(work, self.n_trees, self.n_jobs, block=1)
        return [trees[number] for number in range(self.n_trees)]
