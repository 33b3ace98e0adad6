"""Nearest-neighbour classification under a tree metric."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from treewass.classify.calibration import calibrate
from treewass.classify.held_out import HeldOut, hold_out
from treewass.classify.metric_parameter import learn_metric
from treewass.compute.arguments import check_choice
from treewass.compute.progress import show_progress
from treewass.documents.word_vectors import open_vectors
from treewass.learners.profile.profile_learner import ProfileTreeWasserstein
from treewass.search.index import TreeIndex
from treewass.search.segments import compact_weights
from treewass.trees.embedding import unknown_rows
from treewass.trees.metric import TreeMetric
from treewass.votes.channels import ScoreChannel, TermsOf, select_rows
from treewass.votes.linear_scores import ChannelLearner, LinearScores
from treewass.votes.neighbors import NeighborClassifier
from treewass.votes.pooled_vote import PooledVote
from treewass.votes.rules import VOTES, NeighborVote, first_of_weight, vote_temperature
from treewass.votes.vector_scores import VectorScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["TreeWassersteinClassifier"]

_TEMPERATURE_SAMPLE = 1000


class TreeWassersteinClassifier(NeighborClassifier):
    """Classify documents by their nearest neighbours under a tree-Wasserstein distance.

    Parameters
    ----------
    metric : None, "profile", "stw", "topics", "bow", "tfidf", estimator or TreeMetric, default=None
        The distance. None and ``"profile"`` learn a tree with `ProfileTreeWasserstein`, ``"stw"`` with
        `SupervisedTreeWasserstein`, the paper's learner, and ``"topics"`` with `TopicTreeWasserstein`, which looks at
        no label. ``"bow"`` and ``"tfidf"`` are the L1 distances between bags of words, plain or weighted. An unfitted
        transformer with a `metric_` after fitting, such as any learner of treewass, is cloned and fitted; if it is
        verbose, so is the classifier. A `TreeMetric` is used as it is.
    n_neighbors : int, default=19
        Neighbours that vote; all documents where there are fewer.
    vote : {"distance", "fallback", "majority"}, default="distance"
        How they vote: nearer ones count more; the paper's rule (the class with more than half of the k nearest, or
        of the k − 2 nearest, and so on); or each the same.
    calibrate : bool, default=True
        Whether the distance vote learns, from documents held out of the training, how far neighbours count and how
        sure to be: the metric is learned several times in all. False takes weights as they come. The other
        votes are never calibrated.
    linear : bool, default=True
        Whether the calibrated vote also listens to a linear channel: support vectors on the TF-IDF of words, fitted on
        the same documents; and, where profiles have word vectors, to logistic regression on the mean vector of a
        document's words. Without it the neighbours alone decide. A vote that is not calibrated has no channel, and
        neither has one of fewer than 20 documents, or of documents of which most are the only ones of their class:
        of these none are held out.
    n_jobs : int, optional
        Threads for batches of queries; -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Passed to a learner given by its name.

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
    channels_ : dict of str to ScoreChannel
        The channels that the vote listens to, in the order of its weights: ``"linear"``, and ``"vectors"`` where
        profiles have word vectors; none without `linear`.
    penalties_ : dict of str to float
        How closely each channel is fitted (C of the support vectors, or of the logistic regression), chosen on
        held-out documents.
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
        linear: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.calibrate = calibrate
        self.linear = linear
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TreeWassersteinClassifier:
        """Learn the metric, where there is one to learn, and index the documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Documents without a known word are never neighbours, with a warning.
        y : array-like of shape (n_documents,)
            Labels.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document, one by default. A document of weight two counts as two, in the learner and as a
            neighbour; one of weight zero is left out. A learner that takes no weights is refused, unless all are one.

        Returns
        -------
        TreeWassersteinClassifier
            Itself.
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        terms: TermsOf | None = None,
        learned: Any = None,
    ) -> TreeWassersteinClassifier:
        """Fit; the linear channel looks at other terms of the same documents than words, if a function counts them.

        A learner that was fitted on these documents and on more is taken as it is, if it is given.
        """
        check_choice("vote", self.vote, VOTES)
        counts, labels = self._start(X, y, sample_weight)
        del X  # where nobody else needs it, its memory serves what follows
        self._rows = np.flatnonzero(self._weights)
        self._documents = counts if self._rows.size == labels.size else counts[self._rows]
        calibrates = self.vote == "distance" and self.calibrate
        with show_progress("learning the metric", 2 + calibrates, self._verbose) as advance:
            settings: dict[str, Any] = {"random_state": self.random_state, "n_jobs": self.n_jobs}
            if learned is None:
                known = self._documents, labels[self._rows], self._weights[self._rows]
                self.metric_, self.learner_ = learn_metric(self.metric, *known, **settings)
            else:
                self.metric_, self.learner_ = learned.metric_, learned
            advance(1, "calibrating the vote" if calibrates else "indexing documents")
            self.pooled_vote_: PooledVote | None = None
            self.channels_: dict[str, ScoreChannel] = {}
            self.penalties_: dict[str, float] = {}
            self._documents.data = compact_weights(self._documents.data)  # the learners alone need float64
            held = self._hold_out() if calibrates else None
            terms = partial(select_rows, counts) if terms is None else terms
            if held is not None and held.truth.size:
                self._calibrate(held, terms)
            if calibrates:
                advance(1, "indexing documents")
            self.index_ = TreeIndex(self.metric_, n_jobs=self.n_jobs)  # now, since calibration needs memory of its own
            self.index_.add(self._documents, self._rows)
            if held is None or not held.truth.size:
                self.temperature_ = self._choose_temperature()
                if held is not None:
                    self._calibrate(held, terms)
            advance(1, "fitted")
        self.neighbor_vote_ = NeighborVote(
            self.vote, int(self.n_neighbors), self.class_prior_, self.temperature_, self.pooled_vote_
        )
        return self

    @property
    def _verbose(self) -> bool:
        return bool(getattr(self.metric, "verbose", False))

    def _choose_temperature(self) -> float:
        """Look at the neighbours of some training documents, spread evenly over all."""
        searchable = np.delete(np.arange(self._rows.size), unknown_rows(self.metric_, self._documents))
        if not searchable.size:
            raise ValueError("Expected at least one document with a known word, got none: X holds only zeros.")
        sample = searchable[:: -(-searchable.size // _TEMPERATURE_SAMPLE)]
        distances, rows = self._search(self._documents[sample], self.n_neighbors + 1)
        own = rows == self._rows[sample, None]
        weights = np.maximum(self._weights[rows] - own, 0.0)  # a document of weight two is its own neighbour
        heard = first_of_weight(weights, self.n_neighbors)
        return vote_temperature(distances, self.metric_.resolution, heard, self._weights[self._rows[sample]])

    def _hold_out(self) -> HeldOut:
        """Find the neighbours of documents that the metric has not seen."""
        documents, metric = self._used_words()
        settings = {"random_state": self.random_state, "n_jobs": self.n_jobs}

        def learn(counts: csr_array, codes: NDArray[np.intp], weights: NDArray[np.float64]) -> TreeMetric:
            return learn_metric(metric, counts.astype(np.float64), self.classes_[codes], weights, **settings)[0]

        places = self._with_words()
        rows = self._rows[places]
        return hold_out(
            documents if places.size == documents.shape[0] else documents[places],
            self._labels[rows],
            learn,
            self.n_neighbors,
            weights=self._weights[rows],
            n_jobs=self.n_jobs,
            verbose=self._verbose,
        )

    def _calibrate(self, held: HeldOut, terms: TermsOf) -> None:
        """Fit the vote to documents that were held out, and the channels that it listens to."""
        if held.truth.size:
            self.temperature_ = vote_temperature(
                held.distances, self.metric_.resolution, held.neighbor_weights, held.weights
            )
        learners = self._channel_learners(terms, self._with_words())
        self.pooled_vote_, self.channels_, self.penalties_ = calibrate(
            self.class_prior_, self.temperature_, held, learners
        )

    def _with_words(self) -> NDArray[np.intp]:
        """Return the places of the documents that hold a word."""
        return np.flatnonzero(np.diff(self._documents.indptr))

    def _used_words(self) -> tuple[csr_array, Any]:
        """Return documents and metric; with word vectors, without the words of no document, which change nothing."""
        vectors = self._word_vectors()
        if vectors is None:
            return self._documents, self.metric
        used = np.unique(self._documents.indices)
        return self._documents[:, used], clone(self.learner_).set_params(word_vectors=vectors[used])

    def _word_vectors(self) -> NDArray[Any] | None:
        """Return the vectors of the learner's words, zero for a word without one; None if profiles have none."""
        if not isinstance(self.learner_, ProfileTreeWasserstein) or self.learner_.word_vectors is None:
            return None
        found, covered = open_vectors(self.learner_.word_vectors, caller=type(self).__name__)
        n_words = self._documents.shape[1]
        return np.where(covered[:n_words, None], found[:n_words], 0)

    def _channel_learners(self, terms: TermsOf, places: NDArray[np.intp]) -> list[ChannelLearner]:
        """Say what learns the channels, each from these of the documents of weight above zero."""
        if not self.linear:
            return []
        rows = self._rows[places]
        known = self._labels[rows], len(self.classes_), self._weights[rows]
        learners: list[ChannelLearner] = [LinearScores(lambda chosen: terms(rows[chosen]), *known)]
        vectors = self._word_vectors()
        if vectors is not None:
            learners.append(VectorScores(partial(select_rows, select_rows(self._documents, places)), *known, vectors))
        return learners

    def _knows(self, counts: csr_array) -> NDArray[np.bool_]:
        return ~np.isin(np.arange(counts.shape[0]), unknown_rows(self.metric_, counts))

    def _search(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self.index_.search(counts, k)

    def _vote(self, rows: NDArray[np.int64], distances: NDArray[np.float64], counts: csr_array) -> NDArray[np.float64]:
        scores = [channel.scores(counts) for channel in self.channels_.values()]
        return self.neighbor_vote_.probabilities(self._labels[rows], distances, scores, self._weights[rows])
