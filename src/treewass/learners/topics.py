"""A tree without labels: documents are sorted into topics, and words by the topics of their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from treewass.compute.arguments import check_integer
from treewass.documents.estimator_inputs import check_documents
from treewass.documents.histograms import empty_rows, warn_about_empty_rows
from treewass.learners.base import TreeTransformer
from treewass.learners.profile.profile_learner import ProfileTreeWasserstein

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["TopicTreeWasserstein"]

_MOST_SEED = 2**31 - 1
_MOST_TOPICS, _DIMENSIONS, _STEPS = 50, 100, 30


class TopicTreeWasserstein(TreeTransformer):
    """Learn a tree from documents without labels, by which words occur together.

    Documents are clustered by k-means on a truncated singular value decomposition of their TF-IDF (square roots
    of counts). Then the clusters,
    called topics, take the place of labels in `ProfileTreeWasserstein` without refinement: words of the same topics
    become neighbours in the tree, and words that say much about the topic carry much mass.

    Parameters
    ----------
    n_topics : int, optional
        Clusters: by default the square root of the number of documents, at most 50.
    random_state : int, RandomState instance or None, default=0
        Starts the decomposition and both clusterings.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree and the words' mass factors.
    topics_ : ndarray of shape (n_documents,)
        The topic of each document of `fit`; -1 for one without a word.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    ProfileTreeWasserstein : The same with labels.
    TreeSlicedWasserstein : Trees over word vectors.

    Examples
    --------
    >>> X = [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 2]]
    >>> learner = TopicTreeWasserstein().fit(X)
    >>> bool(learner.topics_[0] == learner.topics_[1] != learner.topics_[2])
    True
    >>> distances = learner.pairwise(X)
    >>> bool(distances[0, 1] < distances[0, 2])
    True
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(self, *, n_topics: int | None = None, random_state: int | np.random.RandomState | None = 0) -> None:
        self.n_topics = n_topics
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TopicTreeWasserstein:  # noqa: ARG002 - as every estimator
        """Learn the tree.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : None
            Not used.

        Returns
        -------
        TopicTreeWasserstein
            Itself.
        """
        if self.n_topics is not None:
            check_integer("n_topics", self.n_topics, 1)
        counts = check_documents(self, X, reset=True)
        random = check_random_state(self.random_state)
        empty = empty_rows(counts)
        rows = np.setdiff1d(np.arange(counts.shape[0]), empty)
        if not rows.size:
            raise ValueError("Expected at least one document with a word to learn from, got only empty ones.")
        warn_about_empty_rows(empty, "nothing is learned from them.")
        self.topics_ = np.full(counts.shape[0], -1)
        self.topics_[rows] = self._topics(counts[rows], random)
        learner = ProfileTreeWasserstein(refine=False, random_state=random.randint(_MOST_SEED))
        self.metric_ = learner.fit(counts[rows], self.topics_[rows]).metric_
        return self

    def _topics(self, counts: csr_array, random: np.random.RandomState) -> NDArray[np.intp]:
        """Cluster documents that have a word each; return numbers from 0."""
        from sklearn.cluster import KMeans
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.preprocessing import normalize
        from sklearn.utils.extmath import randomized_svd
        from threadpoolctl import threadpool_limits

        wanted = self.n_topics or min(_MOST_TOPICS, round(counts.shape[0] ** 0.5))
        weighed = TfidfTransformer().fit_transform(counts.sqrt())
        seeds = random.randint(_MOST_SEED, size=2)
        with threadpool_limits(1):  # sums in one order, whatever the number of cores
            left, singular, _ = randomized_svd(weighed, min(_DIMENSIONS, *weighed.shape), random_state=seeds[0])
            points = normalize(left * singular).round(6)  # equal documents become equal points
            n_topics = min(wanted, len(np.unique(points, axis=0)))
            means = KMeans(n_topics, n_init=1, max_iter=_STEPS, random_state=seeds[1]).fit(points)
        return np.asarray(np.unique(means.labels_, return_inverse=True)[1])
