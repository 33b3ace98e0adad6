"""Nearest-neighbour classification under a distance that has no index: every document is compared with every other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from treewass.classify.neighbors import NeighborClassifier, others_only
from treewass.classify.votes import fallback_vote
from treewass.distances.inputs import check_vectors
from treewass.documents.histograms import first_few, warn_about_empty_rows
from treewass.documents.latent_vectors import svd_vectors
from treewass.learners.inputs import check_documents, check_labelled_documents, check_ranges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from treewass.documents.word_vectors import AlignedVectors

__all__ = ["ComparedNeighbors"]

_BLOCK = 1 << 22  # distances held at a time


class ComparedNeighbors(NeighborClassifier):
    """Classify documents by their nearest neighbours under a distance between word vectors, with the fall-back vote.

    Parameters
    ----------
    distance : callable or estimator
        A function, such as `treewass.distances.flowtree`, called as ``distance(X, Y, word_vectors=…, **settings)``; or
        an unfitted estimator, which is cloned, fitted to the documents and labels, and asked for ``pairwise(X, Y)``.
        Both return the matrix of distances.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each column of the counts. An estimator has its own; these say which words have one. By default
        vectors are made from the training documents by `treewass.documents.svd_vectors`.
    settings : mapping, optional
        Passed to a function.
    n_neighbors : int, default=19
        Neighbours that vote; all documents where there are fewer. Ties go to the earlier row.
    search : callable, optional
        A function that finds neighbours without computing every distance, such as `treewass.distances.wmd_neighbors`,
        called as ``search(X, Y, n_neighbors=…, word_vectors=…, **settings)``; it takes the place of `distance`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels seen in `fit`, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class: the answer for a document without a word that has a vector.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    treewass.TreeWassersteinClassifier : The same for tree metrics, which have an index.

    Examples
    --------
    >>> from treewass.distances import flowtree
    >>> model = ComparedNeighbors(distance=flowtree, word_vectors=[[0.0], [1.0], [9.0]], n_neighbors=1)
    >>> model.fit([[1, 0, 0], [0, 0, 1]], ["near", "far"]).predict([[0, 1, 0]])
    array(['near'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        distance: Callable[..., NDArray[np.float64]] | BaseEstimator | None = None,
        word_vectors: AlignedVectors | ArrayLike | None = None,
        settings: Mapping[str, Any] | None = None,
        n_neighbors: int = 19,
        search: Callable[..., tuple[NDArray[np.float64], NDArray[np.int64]]] | None = None,
    ) -> None:
        self.distance = distance
        self.word_vectors = word_vectors
        self.settings = settings
        self.n_neighbors = n_neighbors
        self.search = search

    def fit(self, X: Any, y: ArrayLike) -> ComparedNeighbors:
        """Keep the documents; those without a word that has a vector are never neighbours, with a warning.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : array-like of shape (n_documents,)
            Labels.

        Returns
        -------
        ComparedNeighbors
            Itself.
        """
        check_ranges(self, {"n_neighbors": 1}, (), ())
        if (self.distance is None) == (self.search is None):
            raise ValueError("Expected either distance or search, got both or neither.")
        counts, labels = check_labelled_documents(self, X, y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_prior_ = np.bincount(codes) / codes.size
        vectors = svd_vectors(counts) if self.word_vectors is None else self.word_vectors
        _, self._covered = check_vectors(vectors, caller="ComparedNeighbors")
        known = self._known(counts, "they are never neighbours.")
        if not known.size:
            raise ValueError("Expected at least one document with a word that has a vector, got none.")
        self._documents, self._rows, self._labels = counts[known], known, codes[known]
        self._compare: Callable[..., Any]
        if self.search is not None:
            self._compare = partial(self.search, word_vectors=vectors, **(self.settings or {}))
        elif hasattr(self.distance, "fit"):
            self._compare = clone(self.distance).fit(self._documents, labels[known]).pairwise
        elif self.distance is not None:
            self._compare = partial(self.distance, word_vectors=vectors, **(self.settings or {}))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class from the neighbours' vote.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. A document without a word that has a vector gets the class prior, with a warning.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        check_is_fitted(self)
        counts = check_documents(self, X)
        known = self._known(counts, "they get the class prior.")
        probabilities = np.tile(self.class_prior_, (counts.shape[0], 1))
        step = max(1, _BLOCK // self._labels.size)
        for start in range(0, known.size, step):
            rows = known[start : start + step]
            places = self._nearest(counts[rows], self.n_neighbors)[1]
            probabilities[rows] = fallback_vote(self._labels[places], self.classes_.size)
        return probabilities

    def _neighbors(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if X is None:
            found = self._neighbors(self._documents, k + 1)
            return others_only(*found, self._rows)
        counts = check_documents(self, X)
        empty = np.flatnonzero(self._covered_mass(counts) <= 0)
        if empty.size:
            raise ValueError(f"Expected a word with a vector in each document, rows {first_few(empty)} hold none.")
        distances = np.empty((counts.shape[0], min(k, self._labels.size)))
        places = np.empty(distances.shape, dtype=np.int64)
        step = max(1, _BLOCK // self._labels.size)
        for start in range(0, counts.shape[0], step):
            block = slice(start, start + step)
            distances[block], places[block] = self._nearest(counts[block], k)
        return distances, self._rows[places].astype(np.int64, copy=False)

    def _nearest(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest documents of some others, which all have a word with a vector."""
        if self.search is not None:
            distances, places = self._compare(counts, self._documents, n_neighbors=min(k, self._labels.size))
            return distances, places
        distances = self._compare(counts, self._documents)
        places = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, places, axis=1), places

    def _known(self, counts: csr_array, consequence: str) -> NDArray[np.intp]:
        """Find the documents with a word that has a vector, and warn about the others."""
        covered = self._covered_mass(counts)
        warn_about_empty_rows(np.flatnonzero(covered <= 0), consequence)
        return np.flatnonzero(covered > 0)

    def _covered_mass(self, counts: csr_array) -> NDArray[np.float64]:
        """Add up the mass of the words that have a vector, by document."""
        if self._covered.size != counts.shape[1]:
            raise ValueError(
                f"Expected one word vector for each of the {counts.shape[1]} columns of X, got {self._covered.size}. "
                "Align them with the vocabulary: WordVectors.align(words)."
            )
        return np.asarray(counts @ self._covered.astype(np.float64))
