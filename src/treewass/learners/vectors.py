"""Learners over word vectors: vectors made from counts where there are none, and words without one."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from treewass.distances.inputs import check_vectors
from treewass.documents.histograms import to_histograms
from treewass.documents.word_vectors import AlignedVectors
from treewass.learners.inputs import check_documents
from treewass.learners.transformer import TreeTransformer
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["VectorTreeTransformer", "svd_vectors"]

_SVD_PASSES = 7
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


def svd_vectors(
    X: Any, *, n_dimensions: int = 100, random_state: int | np.random.RandomState | None = 0
) -> AlignedVectors:
    """Make word vectors from the documents themselves, by a truncated singular value decomposition.

    Rows are brought to mass one; the vector of a word is its column in the best approximation of few dimensions, scaled
    to length one, so that words are near to each other which share documents, however often they occur.

    Parameters
    ----------
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights.
    n_dimensions : int, default=100
        Dimensions; as many as there are documents or words, where there are fewer.
    random_state : int, RandomState instance or None, default=0
        Starts the decomposition.

    Returns
    -------
    AlignedVectors
        A word of no document has no vector; `missing` holds the numbers of such words.

    Examples
    --------
    >>> vectors = svd_vectors([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]], n_dimensions=2)
    >>> vectors.covered.tolist(), vectors.missing
    ([True, True, True, False], ('3',))
    >>> bool(abs(vectors.vectors[0] - vectors.vectors[1]).max() < 1e-6)
    True
    """
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits

    if not isinstance(n_dimensions, int | np.integer) or n_dimensions < 1:
        raise ValueError(f"Expected n_dimensions as an integer of at least 1, got {n_dimensions!r}.")
    histograms = to_histograms(X)
    if not histograms.nnz:
        raise ValueError("Expected at least one document with a word to make vectors from, got only zeros.")
    with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
        _, singular, directions = randomized_svd(
            histograms,
            min(n_dimensions, *histograms.shape),
            n_iter=_SVD_PASSES,
            random_state=check_random_state(random_state),
        )
    vectors = (directions * singular[:, None]).T
    lengths = np.linalg.norm(vectors, axis=1)
    covered = (np.bincount(histograms.indices, minlength=lengths.size) > 0) & (lengths > 0)
    vectors[covered] /= lengths[covered, None]
    vectors[~covered] = 0.0
    return AlignedVectors(vectors, covered, tuple(str(word) for word in np.flatnonzero(~covered)))


def _with_uncovered(tree: Tree, covered: NDArray[np.bool_]) -> Tree:
    """Hang words without a vector from the root; without mass, they are in no distance."""
    if covered.all():
        return tree
    word_nodes, leaf_lengths = np.zeros(covered.size, dtype=np.int32), np.zeros(covered.size)
    word_nodes[covered], leaf_lengths[covered] = tree.word_nodes, tree.leaf_lengths
    return tree.with_words(word_nodes, leaf_lengths)
