"""The quadtree over word vectors as an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.learners.vectors import VectorTreeTransformer
from treewass.trees.quadtrees import quadtree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["QuadtreeWasserstein"]


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
    max_depth : int, default=32
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
        max_depth: int = 32,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.word_vectors = word_vectors
        self.n_dimensions = n_dimensions
        self.convention = convention
        self.max_depth = max_depth
        self.random_state = random_state

    def _grow(self, points: NDArray[np.float64], random: np.random.RandomState) -> list[Tree]:
        return [quadtree(points, convention=self.convention, max_depth=self.max_depth, random_state=random)]
