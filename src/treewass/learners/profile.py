"""The default learner: a tree over words by the classes in which they occur."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Tags, check_random_state

from treewass.documents.histograms import empty_rows, first_few, warn_about_empty_rows
from treewass.learners.clustering import kmeans_tree
from treewass.learners.inputs import check_labelled_documents
from treewass.learners.profiles import ClassProfiles, count_profiles
from treewass.learners.transformer import TreeTransformer
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ProfileTreeWasserstein"]


class ProfileTreeWasserstein(TreeTransformer):
    r"""Learn a tree from the class profiles of words, by counting and clustering.

    Words that occur in documents of the same classes become neighbours in the tree, and words that say much about
    the class carry much mass. The profile of word w is the share of each class among the documents that contain it,
    smoothed by :math:`\beta` documents of average class; its mass is the Kullback-Leibler divergence of that
    profile from the class shares, plus :math:`\varepsilon`. Words never seen in training are unknown.

    Parameters
    ----------
    arity : int, default=5
        Branches of a node.
    depth : int, default=3
        Levels of internal nodes below the root.
    smoothing : float, default=5.0
        Documents' worth of pull towards the class shares (:math:`\beta`).
    floor : float, default=0.02
        Mass factor of a word that says nothing (:math:`\varepsilon`).
    leaf_length : float, default=4.0
        Length of the words' edges; internal edges have length one.
    min_split : float, default=20.0
        A node whose words weigh less (each the square root of its number of documents) is not split.
    random_state : int, RandomState instance or None, default=0
        Starts the clustering; the result is the same for every number of threads.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree, its lengths, and the words' mass factors.
    classes_ : ndarray of shape (n_classes,)
        The labels seen in `fit`.
    informativeness_ : ndarray of shape (n_words,)
        Divergence of each word's profile from the class shares; zero for words never seen.
    n_features_in_ : int
        Number of words.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["cats purr", "cats meow", "dogs bark", "dogs growl"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> learner = ProfileTreeWasserstein().fit(X, ["cat", "cat", "dog", "dog"])
    >>> distances = learner.pairwise(X)
    >>> bool(distances[0, 1] < distances[0, 2])
    True
    """

    def __init__(
        self,
        *,
        arity: int = 5,
        depth: int = 3,
        smoothing: float = 5.0,
        floor: float = 0.02,
        leaf_length: float = 4.0,
        min_split: float = 20.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.arity = arity
        self.depth = depth
        self.smoothing = smoothing
        self.floor = floor
        self.leaf_length = leaf_length
        self.min_split = min_split
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ProfileTreeWasserstein:
        """Learn the tree from labelled documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : array-like of shape (n_documents,)
            Labels.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document; a document of weight two counts as two.

        Returns
        -------
        ProfileTreeWasserstein
            Itself.
        """
        self._check_parameters()
        counts, labels = check_labelled_documents(self, X, y)
        weights = _check_weights(sample_weight, counts.shape[0])
        warn_about_empty_rows(empty_rows(counts), "nothing is learned from them.")
        kept = np.flatnonzero(weights > 0)
        self.classes_, codes = np.unique(labels[kept], return_inverse=True)
        profiles = count_profiles(
            counts[kept], codes, len(self.classes_), smoothing=self.smoothing, sample_weight=weights[kept]
        )
        self._build(profiles)
        return self

    def _build(self, profiles: ClassProfiles) -> None:
        """Turn profiles into the metric."""
        seen = profiles.document_counts > 0
        self.informativeness_: NDArray[np.float64] = np.where(seen, profiles.informativeness, 0.0)
        tree = kmeans_tree(
            profiles.hellinger_features,
            np.sqrt(profiles.document_counts + 0.001),
            arity=self.arity,
            depth=self.depth,
            min_weight=self.min_split,
            random_state=check_random_state(self.random_state),
        )
        tree = tree.with_words(tree.word_nodes, np.full(tree.n_words, self.leaf_length))
        self.metric_ = TreeMetric(tree, np.where(seen, self.informativeness_ + self.floor, 0.0))

    def _check_parameters(self) -> None:
        if self.arity < 2 or self.depth < 0:
            raise ValueError(f"Expected arity >= 2 and depth >= 0, got {self.arity} and {self.depth}.")
        for name in ("smoothing", "floor"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Expected {name} above zero, got {getattr(self, name)}.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _check_weights(sample_weight: ArrayLike | None, n_documents: int) -> NDArray[np.float64]:
    """Demand one non-negative weight a document, not all zero; ones by default."""
    if sample_weight is None:
        return np.ones(n_documents)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_documents,):
        raise ValueError(
            f"Expected sample_weight of shape ({n_documents},), one per document, got shape {weights.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ValueError(
            f"Expected finite weights of zero or more, got {weights[wrong[0]]} in rows {first_few(wrong)}."
        )
    if not weights.any():
        raise ValueError("Expected at least one document with a positive sample_weight, got only zeros.")
    return weights
