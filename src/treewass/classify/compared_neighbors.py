"""Nearest-neighbour classification under a distance that has no index: every document is compared with every other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from treewass.documents.histograms import warn_about_empty_rows
from treewass.documents.word_vectors import check_vectors, svd_vectors
from treewass.votes.neighbors import NeighborClassifier

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

    _known = "a word with a vector"

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
        if (self.distance is None) == (self.search is None):
            raise ValueError("Expected either distance or search, got both or neither.")
        counts, labels = self._start(X, y)
        vectors = svd_vectors(counts) if self.word_vectors is None else self.word_vectors
        _, self._covered = check_vectors(vectors, caller="ComparedNeighbors", n_words=counts.shape[1])
        knows = self._knows(counts)
        warn_about_empty_rows(np.flatnonzero(~knows), "they are never neighbours.")
        self._rows = np.flatnonzero(knows)
        if not self._rows.size:
            raise ValueError("Expected at least one document with a word that has a vector, got none.")
        self._documents = counts[self._rows]
        self._compare = self._comparison(labels[self._rows], vectors)
        return self

    def _comparison(self, labels: NDArray[Any], vectors: Any) -> Callable[..., Any]:
        """Make the function that compares documents: that of a fitted estimator, or one with its settings."""
        if self.search is None and hasattr(self.distance, "fit"):
            fitted = clone(self.distance).fit(self._documents, labels)
            return fitted.pairwise  # type: ignore[no-any-return]
        chosen: Any = self.distance if self.search is None else self.search
        return partial(chosen, word_vectors=vectors, **(self.settings or {}))

    def _knows(self, counts: csr_array) -> NDArray[np.bool_]:
        return np.asarray(counts @ self._covered.astype(np.float64) > 0)

    def _search(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        n_documents, n_others = counts.shape[0], self._documents.shape[0]
        distances = np.empty((n_documents, min(k, n_others)))
        places = np.empty(distances.shape, dtype=np.int64)
        step = max(1, _BLOCK // n_others)
        for start in range(0, n_documents, step):
            block = slice(start, start + step)
            distances[block], places[block] = self._nearest(counts[block], distances.shape[1])
        return distances, self._rows[places].astype(np.int64, copy=False)

    def _nearest(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest documents of a few others, as positions in `_documents`."""
        if self.search is not None:
            distances, places = self._compare(counts, self._documents, n_neighbors=k)
            return distances, places
        distances = self._compare(counts, self._documents)
        places = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, places, axis=1), places
