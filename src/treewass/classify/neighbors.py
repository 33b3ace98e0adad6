"""What classifiers by nearest neighbours share: the answer in documents, and the label of the largest probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from treewass.learners.inputs import counts_tags

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NeighborClassifier", "others_only"]


class NeighborClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers of counts by nearest neighbours: they bring ``predict_proba`` and ``_neighbors``."""

    n_neighbors: int
    classes_: NDArray[Any]

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> NDArray[np.int64] | tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest training documents, exactly.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words), optional
            Counts or weights, each row with a known word: one with a vector, where words have vectors. A training
            document finds itself. By default the training documents, none of which is its own neighbour: those with a
            vector, or all of them, which must have a known word each.
        n_neighbors : int, optional
            Neighbours a query; that of the constructor by default.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), only with `return_distance`
            Ascending.
        rows : ndarray of int64, shape (n_queries, k)
            Row numbers of the training documents; ties in ascending order.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"Expected n_neighbors as an integer of at least 1, got {k!r}.")
        distances, rows = self._neighbors(X, k)
        return (distances, rows) if return_distance else rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each document: the class of the largest probability.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class from the neighbours' vote."""
        raise NotImplementedError

    def _neighbors(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest training documents of others, or of each training document among the others."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        return counts_tags(super().__sklearn_tags__())


def others_only(
    distances: NDArray[np.float64], ids: NDArray[np.int64], own: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Leave out of the neighbours of documents each itself, or the last one where there is no place for itself.

    Parameters
    ----------
    distances, ids : ndarray of shape (n_documents, k + 1)
        Neighbours, nearest first.
    own : ndarray of shape (n_documents,)
        The id of each document itself.

    Returns
    -------
    distances, ids : ndarray of shape (n_documents, k)

    Examples
    --------
    >>> others_only(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0, 2], [3, 4]]), np.array([0, 1]))[1]
    array([[2],
           [3]])
    """
    others = ids != own[:, None]
    others[others.all(axis=1), -1:] = False
    shape = (len(own), ids.shape[1] - 1)
    return distances[others].reshape(shape), ids[others].reshape(shape)
