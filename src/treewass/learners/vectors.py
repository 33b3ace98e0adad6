"""Learners over word vectors: what words without one mean to them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from treewass.distances.inputs import check_vectors
from treewass.documents.latent_vectors import svd_vectors
from treewass.documents.word_vectors import AlignedVectors
from treewass.learners.inputs import check_documents
from treewass.learners.transformer import TreeTransformer
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["VectorTreeTransformer"]

_MOST_SEED = 2**31 - 1


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
        vectors, covered = check_vectors(given, caller=type(self).__name__)
        if covered.size != counts.shape[1]:
            raise ValueError(
                f"{type(self).__name__} expects one word vector for each of the {counts.shape[1]} columns of X, got "
                f"{covered.size}. Align them with the vocabulary: WordVectors.align(words)."
            )
        trees = [_with_uncovered(tree, covered) for tree in self._grow(vectors[covered], random)]
        masses = covered.astype(np.float64)
        self.metric_ = TreeMetric.average([TreeMetric(tree, masses) for tree in trees])
        return self

    @abstractmethod
    def _grow(self, points: NDArray[np.float64], random: np.random.RandomState) -> list[Tree]:
        """Build trees over the vectors of the words that have one."""


def _with_uncovered(tree: Tree, covered: NDArray[np.bool_]) -> Tree:
    """Hang words without a vector from the root; without mass, they are in no distance."""
    if covered.all():
        return tree
    word_nodes, leaf_lengths = np.zeros(covered.size, dtype=np.int32), np.zeros(covered.size)
    word_nodes[covered], leaf_lengths[covered] = tree.word_nodes, tree.leaf_lengths
    return tree.with_words(word_nodes, leaf_lengths)
