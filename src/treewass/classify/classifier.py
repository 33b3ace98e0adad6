"""Nearest-neighbour classification under a tree metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from treewass.classify.decision import VOTES, NeighborVote
from treewass.classify.held_out import hold_out
from treewass.classify.neighbors import NeighborClassifier, others_only
from treewass.classify.pooling import PooledVote, fit_pool
from treewass.classify.votes import vote_temperature
from treewass.documents.histograms import warn_about_empty_rows
from treewass.learners.inputs import check_documents, check_labelled_documents
from treewass.learners.profile import ProfileTreeWasserstein
from treewass.learners.stars import bow_metric, tfidf_metric
from treewass.search.embedding import unknown_rows
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["TreeWassersteinClassifier"]

_TEMPERATURE_SAMPLE = 1000


class TreeWassersteinClassifier(NeighborClassifier):
    """Classify documents by their nearest neighbours under a tree-Wasserstein distance.

    Parameters
    ----------
    metric : None, "bow", "tfidf", estimator or TreeMetric, default=None
        The distance: None learns a tree with `ProfileTreeWasserstein`; ``"bow"`` and ``"tfidf"`` are the L1
        distances between bags of words, plain or weighted; an unfitted transformer with a `metric_` after fitting,
        such as any learner of treewass, is cloned and fitted; a `TreeMetric` is used as it is.
    n_neighbors : int, default=19
        Neighbours that vote; all documents where there are fewer.
    vote : {"distance", "fallback", "majority"}, default="distance"
        How they vote: nearer ones count more; the paper's rule (the class with more than half of the k nearest, or
        of the k − 2 nearest, and so on); or each the same.
    calibrate : bool, default=True
        Whether the distance vote learns, from documents held out of the training, how far neighbours count and how
        sure to be: the metric is learned two to four times in all. False takes weights as they come. The other
        votes are never calibrated.
    n_jobs : int, optional
        Threads for batches of queries; -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Passed to the default learner.

    Attributes
    ----------
    metric_ : TreeMetric
        The distance in use.
    index_ : TreeIndex
        The training documents; ids are row numbers. Documents added to it have no label: they must not be.
    classes_ : ndarray of shape (n_classes,)
        The labels seen in `fit`, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class: the answer for a document without a known word.
    temperature_ : float
        Scale of the distance vote: half the median difference between the distances of the last and of the first
        neighbour, of held-out documents if `calibrate`, and of training documents otherwise.
    pooled_vote_ : PooledVote or None
        How the distance vote is calibrated; None without calibration.
    neighbor_vote_ : NeighborVote
        All that turns labels and distances of neighbours into probabilities.
    learner_ : estimator or None
        The fitted learner, where there was a metric to learn.
    n_features_in_ : int
        Number of words.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["cats purr", "cats meow softly", "dogs bark", "dogs growl loudly"]
    >>> model = make_pipeline(CountVectorizer(), TreeWassersteinClassifier(n_neighbors=1))
    >>> model.fit(texts, ["cat", "cat", "dog", "dog"]).predict(["loud dogs", "a purring cats"])
    array(['dog', 'cat'], dtype='<U3')
    """

    def __init__(
        self,
        metric: str | TreeMetric | BaseEstimator | None = None,
        *,
        n_neighbors: int = 19,
        vote: str = "distance",
        calibrate: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> TreeWassersteinClassifier:
        """Learn the metric, where there is one to learn, and index the documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Documents without a known word are never neighbours, with a warning.
        y : array-like of shape (n_documents,)
            Labels.

        Returns
        -------
        TreeWassersteinClassifier
            Itself.
        """
        if self.vote not in VOTES:
            raise ValueError(f"Expected vote to be one of {', '.join(VOTES)}, got {self.vote!r}.")
        if not isinstance(self.n_neighbors, int | np.integer) or self.n_neighbors < 1:
            raise ValueError(f"Expected n_neighbors as an integer of at least 1, got {self.n_neighbors!r}.")
        counts, labels = check_labelled_documents(self, X, y)
        self.classes_, self._labels = np.unique(labels, return_inverse=True)
        self.class_prior_ = np.bincount(self._labels) / self._labels.size
        self.metric_, self.learner_ = self._learn(counts, labels)
        self.index_ = self._index(counts)
        self._documents = counts
        self.temperature_ = self._choose_temperature()
        self.pooled_vote_ = self._calibrate() if self.vote == "distance" and self.calibrate else None
        self.neighbor_vote_ = NeighborVote(
            self.vote, int(self.n_neighbors), self.class_prior_, self.temperature_, self.pooled_vote_
        )
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class from the neighbours' vote.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. A document without a known word gets the class prior, with a warning.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        counts = check_documents(self, X)
        unknown = unknown_rows(self.metric_, counts)
        warn_about_empty_rows(unknown, "they get the class prior.")
        known = np.setdiff1d(np.arange(counts.shape[0]), unknown)
        probabilities = np.tile(self.class_prior_, (counts.shape[0], 1))
        if known.size:
            probabilities[known] = self._vote(*self.index_.search(counts[known], self.n_neighbors))
        return probabilities

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
        return csr_array((values.ravel(), rows.ravel(), bounds), shape=(len(rows), self._documents.shape[0]))

    def _neighbors(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if X is None:
            return self._other_documents(np.arange(self._documents.shape[0]), k)
        return self.index_.search(check_documents(self, X), k)

    def _learn(self, counts: csr_array, labels: NDArray[Any]) -> tuple[TreeMetric, Any]:
        """Turn the parameter `metric` into a TreeMetric; return the learner too, if there is one."""
        if isinstance(self.metric, TreeMetric):
            return self.metric, None
        if self.metric == "bow":
            return bow_metric(counts.shape[1]), None
        if self.metric == "tfidf":
            return tfidf_metric(counts), None
        if isinstance(self.metric, str) or not (self.metric is None or hasattr(self.metric, "fit")):
            raise ValueError(
                'Expected metric to be None, "bow", "tfidf", an unfitted transformer with a metric_, or a '
                f"TreeMetric, got {self.metric!r}."
            )
        learner = ProfileTreeWasserstein(random_state=self.random_state) if self.metric is None else clone(self.metric)
        learned = learner.fit(counts, labels)
        metric = getattr(learned, "metric_", None)
        if not isinstance(metric, TreeMetric):
            raise TypeError(f"Expected {type(learner).__name__} to have a TreeMetric as metric_ after fitting.")
        return metric, learned

    def _index(self, counts: csr_array) -> TreeIndex:
        """Index the training documents under their row numbers."""
        index = TreeIndex(self.metric_, n_jobs=self.n_jobs)
        index.add(counts)
        return index

    def _choose_temperature(self) -> float:
        """Look at the neighbours of some training documents, spread evenly over all."""
        searchable = np.setdiff1d(self.index_.ids, unknown_rows(self.metric_, self._documents))
        if not searchable.size:
            raise ValueError("Expected at least one document with a known word, got none: X holds only zeros.")
        sample = searchable[:: -(-searchable.size // _TEMPERATURE_SAMPLE)]
        distances, _ = self._other_documents(sample, self.n_neighbors)
        return vote_temperature(distances, self.metric_.resolution)

    def _calibrate(self) -> PooledVote:
        """Fit the vote to documents that the metric has not seen."""

        def learn(counts: csr_array, codes: NDArray[np.intp]) -> TreeMetric:
            return self._learn(counts, self.classes_[codes])[0]

        rows = np.flatnonzero(np.diff(self._documents.indptr))
        held = hold_out(self._documents[rows], self._labels[rows], learn, self.n_neighbors, self.n_jobs)
        if held.truth.size:
            self.temperature_ = vote_temperature(held.distances, self.metric_.resolution)
        return fit_pool(self.class_prior_, self.temperature_, held.labels, held.distances, held.truth)

    def _other_documents(self, rows: NDArray[np.intp], k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Search for training documents among the training documents, leaving each itself out."""
        return others_only(*self.index_.search(self._documents[rows], k + 1), rows)

    def _vote(self, distances: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Turn neighbours into class probabilities."""
        return self.neighbor_vote_.probabilities(self._labels[ids], distances)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
