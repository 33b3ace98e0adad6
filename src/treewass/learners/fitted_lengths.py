"""A tree over word vectors whose lengths are fitted to transport costs, as an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.learners.edge_lengths import fit_edge_lengths
from treewass.learners.inputs import check_documents
from treewass.learners.quadtree import QuadtreeWasserstein
from treewass.learners.transformer import TreeTransformer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["FittedLengths"]


class FittedLengths(TreeTransformer):
    """Compare documents along a quadtree over word vectors, with lengths fitted by `fit_edge_lengths`.

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions)
        The vector of each column of the counts. A word without a vector carries no mass.
    random_state : int, RandomState instance or None, default=0
        Chooses the shift of the cells and the pairs that lengths are fitted to.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree with its fitted lengths.
    n_features_in_ : int
        Number of words.

    References
    ----------
    Yamada, Takezawa, Sato, Bao, Kozareva and Ravi, Approximating 1-Wasserstein distance with trees, TMLR 2022.

    Examples
    --------
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> FittedLengths(word_vectors=[[0.0], [1.0], [10.0]]).fit(X).pairwise(X).round()
    array([[ 0.,  1., 10.],
           [ 1.,  0.,  9.],
           [10.,  9.,  0.]])
    """

    def __init__(
        self,
        *,
        word_vectors: AlignedVectors | ArrayLike,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.word_vectors = word_vectors
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> FittedLengths:  # noqa: ARG002 - as every estimator
        """Build the tree and fit its lengths.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : None
            Not used.

        Returns
        -------
        FittedLengths
            Itself.
        """
        counts = check_documents(self, X, reset=True)
        grown = QuadtreeWasserstein(word_vectors=self.word_vectors, random_state=self.random_state).fit(counts)
        options: dict[str, Any] = {"word_vectors": self.word_vectors, "random_state": self.random_state}
        self.metric_ = fit_edge_lengths(grown.metric_, counts, **options)
        return self
