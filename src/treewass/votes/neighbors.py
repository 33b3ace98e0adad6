"""What all estimators by nearest neighbours share; a subclass says how neighbours are found, and how they vote."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from treewass.compute.arguments import check_integer
from treewass.documents.estimator_inputs import (
    check_documents,
    check_labelled_documents,
    check_weights,
    counts_tags,
)
from treewass.documents.histograms import first_few, warn_about_empty_rows
from treewass.votes.rules import fallback_vote

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["NeighborClassifier", "NeighborSearch", "others_only"]


class NeighborSearch(BaseEstimator):
    """Base of the estimators that find neighbours of counts.

    ``fit`` of a subclass sets `_documents`, `_rows` and `n_samples_fit_`. Its `_search` finds neighbours, and its
    `_knows` says which documents have any.

    Attributes
    ----------
    n_samples_fit_ : int
        Number of training documents.
    """

    n_neighbors: int
    n_samples_fit_: int
    _documents: csr_array  # the training documents that `kneighbors` searches for by default
    _rows: NDArray[np.intp]  # their row numbers
    _known = "a known word"  # what a document must hold to have neighbours

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> NDArray[np.int64] | tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest training documents, exactly.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words), optional
            Counts or weights. Each row needs a known word; if words have vectors, one with a vector. A training
            document finds itself. By default the training documents, none of which is its own neighbour; those
            without a vector are left out, if words have vectors.
        n_neighbors : int, optional
            Neighbours per query; that of the constructor by default.
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
        k = check_integer("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors)
        if X is None:
            distances, rows = self._search_others(k)
        else:
            distances, rows = self._search(self._known_documents(X), k)
        return (distances, rows) if return_distance else rows

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> csr_array:
        """Build the graph of nearest training documents.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or the distances.

        Returns
        -------
        csr_array of shape (n_queries, n_documents)
        """
        from scipy.sparse import csr_array

        if mode not in ("connectivity", "distance"):
            raise ValueError(f'Expected mode to be "connectivity" or "distance", got {mode!r}.')
        distances, rows = self.kneighbors(X, n_neighbors)
        values = distances if mode == "distance" else np.ones(rows.shape)
        bounds = np.arange(len(rows) + 1) * rows.shape[1]
        return csr_array((values.ravel(), rows.ravel(), bounds), shape=(len(rows), self.n_samples_fit_))

    def _known_documents(self, X: Any) -> csr_array:
        """Check documents, each of which must have neighbours."""
        counts = check_documents(self, X)
        unknown = np.flatnonzero(~self._knows(counts))
        if unknown.size:
            raise ValueError(f"Expected {self._known} in each document, rows {first_few(unknown)} hold none.")
        return counts

    @abstractmethod
    def _knows(self, counts: csr_array) -> NDArray[np.bool_]:
        """Say which documents have neighbours."""

    @abstractmethod
    def _search(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the distances and row numbers of the k nearest training documents, or of all if there are fewer."""

    def _search_others(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest other documents of each training document."""
        return others_only(*self._search(self._documents, k + 1), self._rows)


class NeighborClassifier(ClassifierMixin, NeighborSearch):
    """Base of the classifiers of counts by nearest neighbours.

    ``fit`` of a subclass calls `_start` with its documents and labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels seen in ``fit``, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class: the answer for a document without a known word.
    """

    classes_: NDArray[Any]
    class_prior_: NDArray[np.float64]
    _labels: NDArray[np.intp]  # the class number of each training document; of weight zero, that of some class
    _weights: NDArray[np.float64]  # how many documents each counts as

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
        """Estimate the probability of each class from the neighbours' vote.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. A document without a known word gets the class prior, with a warning. If words have
            vectors, the known words are those with one.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        counts = check_documents(self, X)
        knows = self._knows(counts)
        warn_about_empty_rows(np.flatnonzero(~knows), "they get the class prior.")
        probabilities = np.tile(self.class_prior_, (counts.shape[0], 1))
        known = np.flatnonzero(knows)
        if known.size:
            distances, rows = self._search(counts[known], self.n_neighbors)
            probabilities[known] = self._vote(rows, distances, counts[known])
        return probabilities

    def _start(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> tuple[csr_array, NDArray[Any]]:
        """Check documents, labels and weights, and note classes and their shares; return counts and labels."""
        check_integer("n_neighbors", self.n_neighbors)
        counts, labels = check_labelled_documents(self, X, y)
        self._weights = check_weights(sample_weight, labels.size)
        self.classes_ = np.unique(labels[self._weights > 0])
        self._labels = np.searchsorted(self.classes_, labels).clip(max=self.classes_.size - 1)
        self.n_samples_fit_ = self._labels.size
        self.class_prior_ = np.bincount(self._labels, self._weights) / self._weights.sum()
        return counts, labels

    def _vote(self, rows: NDArray[np.int64], distances: NDArray[np.float64], counts: csr_array) -> NDArray[np.float64]:
        """Turn the neighbours of documents into class probabilities: by default as the paper does."""
        del distances, counts
        return fallback_vote(self._labels[rows], len(self.classes_))

    def __sklearn_tags__(self) -> Tags:
        tags = counts_tags(super().__sklearn_tags__())
        tags.classifier_tags.poor_score = True  # the checks' data differ in scale, and rows are brought to mass one
        return tags


def others_only(
    distances: NDArray[np.float64], ids: NDArray[np.int64], own: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Leave each document out of its own neighbours, or the last neighbour where the document itself found no place.

    The neighbours' distances and ids have shape (n_documents, k + 1), nearest first; k columns are left.

    Examples
    --------
    >>> others_only(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0, 2], [3, 4]]), np.array([0, 1]))[1]
    array([[2],
           [3]])
    """
    others = ids != own[:, None]
    others[others.all(axis=1), -1:] = False
    shape = (len(own), max(ids.shape[1] - 1, 0))
    return distances[others].reshape(shape), ids[others].reshape(shape)
