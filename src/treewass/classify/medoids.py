"""Clusters around documents that stand for them, under a tree metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treewass.classify.metric_parameter import learn_metric, needs_labels
from treewass.documents.estimator_inputs import check_documents, check_ranges, counts_tags
from treewass.documents.histograms import warn_about_empty_rows
from treewass.trees.metric import TreeMetric
from treewass.trees.pairwise_distances import pairwise

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TreeKMedoids"]

_LEAST_GAIN = 1e-9  # of the largest distance: what is smaller is rounding


class TreeKMedoids(ClusterMixin, BaseEstimator):
    """Cluster documents around medoids: documents with the least sum of distances from those of their cluster.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at most that of the documents; as many as there are different ones where these are fewer.
    metric : "bow", "tfidf", "topics", transformer or TreeMetric, default="tfidf"
        The distance: by a name, an unfitted transformer that needs no labels, such as `TreeSlicedWasserstein`, or a
        metric that was learned before. With one cluster, its medoid is that of all documents.
    n_init : int, default=10
        Starts, of which the one with the least sum of distances is taken.
    max_iter : int, default=100
        Most swaps of a medoid for another document.
    n_jobs : int, optional
        Threads for distances; -1 for all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Chooses the starts: documents at random, with probability proportional to their distance from those chosen.

    Attributes
    ----------
    medoid_indices_ : ndarray of int64, shape (n_clusters,)
        Rows of the medoids, ascending.
    labels_ : ndarray of int64, shape (n_documents,)
        The cluster of each document, the first of equally near ones.
    inertia_ : float
        Sum of the distances of documents from their medoids.
    n_iter_ : int
        Rounds of the start that was taken, the last one without a swap.
    metric_ : TreeMetric
        The distance.
    n_features_in_ : int
        Number of words.

    Notes
    -----
    All distances are held: the square of the number of documents, a few times eight bytes each. The best swap of all
    is made until none lowers the sum of distances (partitioning around medoids, Kaufman and Rousseeuw 1990, with the
    sums of Schubert and Rousseeuw 2019).

    Examples
    --------
    >>> X = [[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]]
    >>> TreeKMedoids(n_clusters=2, metric="bow").fit(X).labels_
    array([0, 0, 1, 1])
    """

    n_features_in_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "tfidf",
        n_init: int = 10,
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TreeKMedoids:  # noqa: ARG002 - as every estimator
        """Find the medoids.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Documents without a known word are in cluster -1, with a warning.
        y : None
            Not used.

        Returns
        -------
        TreeKMedoids
            Itself.
        """
        check_ranges(self, {"n_clusters": 1, "n_init": 1, "max_iter": 1}, (), ())
        counts = check_documents(self, X, reset=True)
        if needs_labels(self.metric):
            raise ValueError(f"Expected a metric that needs no labels, such as 'tfidf', got {self.metric!r:.60}.")
        self.metric_: TreeMetric = learn_metric(self.metric, counts, None)[0]
        known = self._known(counts)
        if not known.size:
            raise ValueError("Expected at least one document with a known word, got none.")
        if known.size < self.n_clusters:
            raise ValueError(
                f"Expected at most as many clusters as documents with a known word, n_samples={known.size}, got "
                f"n_clusters={self.n_clusters}. Lower n_clusters."
            )
        distances = pairwise(self.metric_, counts[known], n_jobs=self.n_jobs)
        random = check_random_state(self.random_state)
        tries = [_medoids(distances, self.n_clusters, self.max_iter, random) for _ in range(self.n_init)]
        sums = [float(distances[:, found].min(axis=1).sum()) for found, _ in tries]
        medoids, self.n_iter_ = tries[int(np.argmin(sums))]
        self.medoid_indices_ = known[medoids].astype(np.int64)
        self.inertia_ = min(sums)
        self.labels_ = np.full(counts.shape[0], -1, dtype=np.int64)
        self.labels_[known] = distances[:, medoids].argmin(axis=1)
        self._medoids = counts[self.medoid_indices_]
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Assign documents to the nearest medoid.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.

        Returns
        -------
        ndarray of int64, shape (n_documents,)
            Numbers of clusters; -1 for a document without a known word, with a warning.
        """
        check_is_fitted(self)
        counts = check_documents(self, X)
        known, labels = self._known(counts), np.full(counts.shape[0], -1, dtype=np.int64)
        if known.size:
            found = pairwise(self.metric_, counts[known], self._medoids, n_jobs=self.n_jobs)
            labels[known] = found.argmin(axis=1)
        return labels

    def _known(self, counts: Any) -> NDArray[np.intp]:
        """Find the documents with a known word; warn about the others."""
        knows = counts @ self.metric_.known_words.astype(np.float64) > 0
        warn_about_empty_rows(np.flatnonzero(~knows), "they are in cluster -1.")
        return np.flatnonzero(knows)

    def __sklearn_tags__(self) -> Tags:
        return counts_tags(super().__sklearn_tags__())


def _medoids(
    distances: NDArray[np.float64], n_clusters: int, max_iter: int, random: np.random.RandomState
) -> tuple[NDArray[np.intp], int]:
    """Choose documents that lie apart, then swap one at a time for the best other one.

    Returns their rows, ascending, and the number of rounds.
    """
    chosen = [int(random.randint(len(distances)))]
    while len(chosen) < n_clusters and (nearest := distances[:, chosen].min(axis=1)).any():
        chosen.append(int(random.choice(len(distances), p=nearest / nearest.sum())))
    medoids = np.array(chosen)
    for rounds in range(1, max_iter + 1):  # noqa: B007
        changes = _changes(distances, medoids)
        best = np.unravel_index(changes.argmin(), changes.shape)
        if changes[best] >= -_LEAST_GAIN * distances.max():
            break
        medoids[best[1]] = best[0]
    return np.sort(medoids), rounds


def _changes(distances: NDArray[np.float64], medoids: NDArray[np.intp]) -> NDArray[np.float64]:
    """Compute by how much the sum of distances changes if a document takes the place of a medoid.

    Documents of that medoid go to the new one or to their second nearest; the others to the new one if it is nearer.
    """
    from_medoids = distances[:, medoids]
    labels = from_medoids.argmin(axis=1)
    nearest = from_medoids[np.arange(labels.size), labels]
    from_medoids[np.arange(labels.size), labels] = np.inf
    gains = np.minimum(distances - nearest, 0.0)
    losses = np.minimum(distances, from_medoids.min(axis=1)) - nearest - gains
    return np.asarray(gains.sum(axis=1)[:, None] + losses @ (labels[:, None] == np.arange(medoids.size)))
