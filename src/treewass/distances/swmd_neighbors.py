"""Nearest neighbours under a learned word mover's distance: what a fitted estimator does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from treewass.classify.neighbors import NeighborClassifier
from treewass.classify.votes import fallback_vote
from treewass.distances.inputs import covered_histograms
from treewass.distances.pairs import DocumentPairs, pair_histograms
from treewass.distances.swmd_loss import SwmdMetric
from treewass.distances.word_mover import pairwise_wmd
from treewass.distances.word_mover_search import neighbors_by_wmd
from treewass.documents.histograms import empty_rows, row_totals, scale_rows, warn_about_empty_rows
from treewass.learners.inputs import check_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["WordMoverClassifier"]


class WordMoverClassifier(NeighborClassifier):
    """Base of `SupervisedWordMover`: once there are a map, weights and documents, the rest follows from them.

    Attributes
    ----------
    classes_, class_prior_ : ndarray of shape (n_classes,)
        The labels and their shares; set by ``fit``, as are the metric, the word vectors and the documents.
    """

    n_jobs: int | None
    verbose: bool
    n_features_in_: int
    class_prior_: NDArray[np.float64]
    _metric: SwmdMetric
    _vectors: NDArray[np.float64]
    _covered: NDArray[np.bool_]
    _histograms: csr_array  # of the documents that hold a word with a vector
    _rows: NDArray[np.intp]  # their row numbers
    _labels: NDArray[np.intp]  # the class numbers of all rows

    def pairwise(
        self, X: Any, Y: Any = None, *, n_jobs: int | None = None, store: str | os.PathLike[str] | None = None
    ) -> NDArray[np.float64]:
        """Compute the exact learned distance between each row of `X` and each row of `Y`.

        Parameters
        ----------
        X, Y : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights, each row with at least one word that has a vector; `Y` defaults to `X`.
        n_jobs : int, optional
            Processes; -1 for all cores; that of the constructor by default. The result does not depend on it.
        store : path-like, optional
            A folder that keeps finished parts: the same call with the same folder resumes where an earlier one ended.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        check_is_fitted(self)
        left = self._weighted(X, "X")
        pairs = self._pairs(left, left if Y is None else self._weighted(Y, "Y"))
        options: dict[str, Any] = {"n_jobs": self.n_jobs if n_jobs is None else n_jobs, "verbose": self.verbose}
        return pairwise_wmd(pairs, True, caller=type(self).__name__, store=store, **options)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class from the neighbours' vote.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. A document without a word that has a vector gets the class prior, with a warning.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        documents = self._covered_rows(check_documents(self, X))
        empty = empty_rows(documents)
        warn_about_empty_rows(empty, "they get the class prior.")
        probabilities = np.tile(self.class_prior_, (documents.shape[0], 1))
        known = np.setdiff1d(np.arange(documents.shape[0]), empty)
        if known.size:
            _, rows = self._search(self._metric.histograms(documents[known]), self.n_neighbors)
            probabilities[known] = fallback_vote(self._labels[rows], len(self.classes_))
        return probabilities

    def _neighbors(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self._search(self._histograms if X is None else self._weighted(X, "X"), k)

    def _covered_rows(self, counts: csr_array) -> csr_array:
        """Leave out words without a vector, and bring documents that have others to mass one."""
        counts.data[~self._covered[counts.indices]] = 0.0
        counts.eliminate_zeros()
        return scale_rows(counts, row_totals(counts))

    def _weighted(self, X: Any, name: str) -> csr_array:
        """Check documents, demand a word with a vector in each, and weight their words."""
        counts = check_documents(self, X)
        return self._metric.histograms(covered_histograms(counts, self._covered, caller=type(self).__name__, name=name))

    def _pairs(self, left: csr_array, right: csr_array) -> DocumentPairs:
        with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
            points = self._metric.points(self._vectors)
        return pair_histograms(left, right, points)

    def _search(self, left: csr_array, n_neighbors: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest training documents; the training documents themselves find others."""
        pairs = self._pairs(left, self._histograms)
        distances, places = neighbors_by_wmd(
            pairs, True, n_neighbors, caller=type(self).__name__, n_jobs=self.n_jobs, verbose=self.verbose, store=None
        )
        return distances, self._rows[places]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
