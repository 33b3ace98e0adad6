"""The default learner: a tree from the class profiles of words, refined by a few gradient steps."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treewass.compute.progress import show_progress
from treewass.compute.threads import run_in_blocks
from treewass.documents.estimator_inputs import (
    check_labelled_matrix,
    check_ranges,
    check_weights,
    check_wider_names,
    join_classes,
)
from treewass.learners.base import TreeTransformer
from treewass.learners.profile.class_profiles import (
    ClassProfiles,
    ColumnCounts,
    count_in_parts,
)
from treewass.learners.profile.refinement import (
    RefinementRecord,
    RefinementSettings,
    leave_one_out_documents,
    refine,
)
from treewass.learners.profile.word_likeness import check_word_vectors, smoothed_profiles
from treewass.learners.profile.word_trees import ProfileTree, TreeSettings
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.documents.word_vectors import AlignedVectors
    from treewass.learners.profile.class_counts import ClassCounts

__all__ = ["ProfileTreeWasserstein"]

_logger = logging.getLogger("treewass")
_MOST_SEED = 2**31 - 1
_LEAST_ARITY, _DEEP_ARITY, _MOST_ARITY = 5, 7, 30
_PULL, _MOST_SMOOTHING = 20.0, 5.0
_LEAST = {"arity": 2, "depth": 0, "n_trees": 1, "epochs": 0, "batch_size": 2}
_POSITIVE, _SHARES = ("smoothing", "floor", "learning_rate"), ("word_dropout", "pull_back")
_OPTIONAL = ("arity", "depth", "smoothing", "epochs")
_ROUNDED_UP = 1 + 1e-9


class ProfileTreeWasserstein(TreeTransformer):
    r"""Learn a tree from the class profiles of words, by counting, clustering and a few gradient steps.

    Words that occur in documents of the same classes become neighbours in the tree, and words that say much about
    the class carry much mass. The profile of word w is the share of each class among the documents that contain it,
    smoothed by :math:`\beta` documents of average class; its mass is the Kullback-Leibler divergence of that
    profile from the class shares, plus :math:`\varepsilon`. Then factors on masses and lengths are learned, so that
    documents of one class become soft neighbours. Words never seen in training are unknown, unless `word_vectors`
    place them.

    Parameters
    ----------
    refine : bool, default=True
        Whether to learn factors on masses and lengths; False stops after counting and clustering.
    n_trees : int, default=1
        Trees from different starts of the clustering, whose distances are averaged.
    arity : int, optional
        Branches of a node: by default the number of classes, but from 5 to 30.
    depth : int, optional
        Levels of internal nodes below the root: by default 3 for an arity of up to 7, and 2 for more.
    smoothing : float, optional
        Documents' worth of pull towards the class shares (:math:`\beta`): by default 20 over the number of classes,
        at most 5; classes are counted as the exponential of the class shares' entropy. The more classes there are,
        the less likely it is that a rare word meets one of them twice by accident.
    floor : float, default=0.02
        Mass factor of a word that says nothing (:math:`\varepsilon`).
    leaf_length : float, default=6.0
        Length of the words' edges before refinement; internal edges have length one.
    min_split : float, default=20.0
        A node whose words weigh less (each the square root of its number of documents) is not split.
    epochs : int, optional
        Passes over the documents in refinement: by default four, but more where these would make fewer than 40 steps,
        and fewer, at least one, where they would make more than 100.
    learning_rate : float, default=0.02
        Step of the optimiser, Adam.
    batch_size : int, default=500
        Documents compared with each other in a step; all documents where there are fewer.
    word_dropout : float, default=0.2
        Share of the documents' words left out of a batch at random.
    pull_back : float, default=0.001
        Share of every learned logarithm taken off after a step.
    word_vectors : AlignedVectors or array-like of shape (at least n_words, n_dimensions), optional
        One vector per word, zero for a word without one, such as ``WordVectors.align(words)``. Each word then borrows
        up to ten documents from the ten labelled words nearest to it. So words of no labelled document become known,
        and rare words get steadier profiles: it helps most where labels are few.
    n_jobs : int, optional
        Threads that refine trees; -1 for all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Starts the clustering, chooses batches and the words left out.
    verbose : bool, default=False
        Whether to show a progress bar on standard error. Progress always goes to the logger ``treewass``.

    Attributes
    ----------
    metric_ : TreeMetric
        The trees, their lengths, and the words' mass factors.
    classes_ : ndarray of shape (n_classes,)
        The labels seen, sorted.
    informativeness_ : ndarray of shape (n_words,)
        Divergence of each word's profile from the class shares; zero for words that are unknown.
    history_ : tuple of RefinementRecord
        Loss and scale after each pass over the documents, tree after tree; empty without refinement.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    treewass.TreeWassersteinClassifier : Nearest neighbours under the learned distance.

    Notes
    -----
    Stage 1 (``refine=False``) needs only counts of documents by word and class, so that `partial_fit` over parts
    and `update` give exactly what `fit` on everything gives.

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

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _counts: ColumnCounts
    _trees: list[ProfileTree]

    def __init__(
        self,
        *,
        refine: bool = True,
        n_trees: int = 1,
        arity: int | None = None,
        depth: int | None = None,
        smoothing: float | None = None,
        floor: float = 0.02,
        leaf_length: float = 6.0,
        min_split: float = 20.0,
        epochs: int | None = None,
        learning_rate: float = 0.02,
        batch_size: int = 500,
        word_dropout: float = 0.2,
        pull_back: float = 0.001,
        word_vectors: AlignedVectors | ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.refine = refine
        self.n_trees = n_trees
        self.arity = arity
        self.depth = depth
        self.smoothing = smoothing
        self.floor = floor
        self.leaf_length = leaf_length
        self.min_split = min_split
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.word_dropout = word_dropout
        self.pull_back = pull_back
        self.word_vectors = word_vectors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ProfileTreeWasserstein:
        """Learn the tree from labelled documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights.
        y : array-like of shape (n_documents,)
            Labels.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document; a document of weight two counts as two, one of weight zero not at all.

        Returns
        -------
        ProfileTreeWasserstein
            Itself.
        """
        check_ranges(self, _LEAST, _POSITIVE, _SHARES, _OPTIONAL)
        matrix, labels = check_labelled_matrix(self, X, y)
        weights = check_weights(sample_weight, labels.size)
        kept = weights > 0
        self.classes_ = np.unique(labels[kept])
        self._counts = count_in_parts(matrix, labels, weights, self.classes_)
        profiles = self._plant()
        if self.refine:
            rows = np.flatnonzero(kept)
            self._refine(profiles, matrix if kept.all() else matrix[rows], labels[rows], weights[rows])
        self._finish()
        return self

    @classmethod
    def from_counts(
        cls, counts: ClassCounts, sample: tuple[Any, ...] | None = None, **parameters: Any
    ) -> ProfileTreeWasserstein:
        """Learn from counts that were added up, and refine on a sample of the documents: for data of any size.

        The tree is that of all documents counted. If the sample is all of them, the result is that of `fit`, to the
        bit. From about 2000 documents on, a sample serves refinement as well as all documents do.

        Parameters
        ----------
        counts : ClassCounts
            Of all documents, at least two classes of them.
        sample : tuple of (X, y) or (X, y, sample_weight), optional
            Some of the documents counted, with the columns of ``counts.words``: their counts, their labels and their
            weights. Without a sample there is no refinement.
        **parameters
            Those of `ProfileTreeWasserstein`.

        Returns
        -------
        ProfileTreeWasserstein
            Fitted.

        Examples
        --------
        >>> from treewass.learners import ClassCounts
        >>> parts = (["cats purr", "dogs bark"], ["cat", "dog"]), (["dogs growl"], ["dog"])
        >>> counts = [ClassCounts.from_texts(texts, labels, str.split) for texts, labels in parts]
        >>> learner = ProfileTreeWasserstein.from_counts(counts[0] + counts[1])
        >>> learner.classes_, learner.metric_.n_words
        (array(['cat', 'dog'], dtype='<U3'), 5)
        """
        learner = cls(**parameters)
        check_ranges(learner, _LEAST, _POSITIVE, _SHARES, _OPTIONAL)
        if len(counts.classes) < 2 or not counts.words:
            raise ValueError(f"Expected counts of words in documents of two classes at least, got {counts!r}.")
        learner.classes_, learner.n_features_in_ = np.array(counts.classes), len(counts.words)
        learner._counts = counts.columns
        profiles = learner._plant()
        if learner.refine and sample is not None:
            X, y, *given = sample
            matrix, labels = check_labelled_matrix(learner, X, y, reset=False)
            weights = check_weights(given[0] if given else None, labels.size)
            rows = np.flatnonzero(weights)
            chosen = matrix[rows], labels[rows], weights[rows]
            _refuse_uncounted(counts.columns, learner.classes_, *chosen)
            learner._refine(profiles, *chosen)
        learner._finish()
        return learner

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> ProfileTreeWasserstein:
        """Count more documents and build the tree again, without refinement: for data larger than memory.

        Factors learned by an earlier `fit` are given up; `update` keeps them.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights, with the words of the first call.
        y : array-like of shape (n_documents,)
            Labels.
        classes : array-like of shape (n_classes,), optional
            All labels that will come. It may be left out: labels not seen before are added.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document.

        Returns
        -------
        ProfileTreeWasserstein
            Itself.
        """
        check_ranges(self, _LEAST, _POSITIVE, _SHARES, _OPTIONAL)
        matrix, labels = check_labelled_matrix(self, X, y, reset=not hasattr(self, "_counts"))
        self._add(matrix, labels, check_weights(sample_weight, labels.size), classes)
        self._plant()
        self._finish()
        return self

    def update(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ProfileTreeWasserstein:
        """Learn from more documents without starting over; they may bring new words, as columns on the right.

        Profiles, masses and the words' places are refreshed. Where factors were learned, they and the tree's nodes
        are kept, the nodes move to the mean of their words, and new words start with factors of one. Without
        refinement the result is that of fitting on all documents at once.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, at least n_words)
            Counts or weights.
        y : array-like of shape (n_documents,)
            Labels; new ones are added.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document.

        Returns
        -------
        ProfileTreeWasserstein
            Itself.
        """
        check_is_fitted(self)
        check_ranges(self, _LEAST, _POSITIVE, _SHARES, _OPTIONAL)
        wider = ProfileTreeWasserstein()  # notes number and names of words, so that a refused call changes nothing
        matrix, labels = check_labelled_matrix(wider, X, y)
        if wider.n_features_in_ <= self.n_features_in_:
            wider = self
            matrix, labels = check_labelled_matrix(self, X, y, reset=False)
        names = check_wider_names(self, wider)
        self._add(matrix, labels, check_weights(sample_weight, labels.size), None)
        self.n_features_in_ = wider.n_features_in_
        if names is not None:
            self.feature_names_in_ = names
        if any(tree.learned is not None for tree in self._trees):
            profiles = self._profiles()
            self._trees = [tree.updated(profiles) for tree in self._trees]
        else:
            self._plant()
        self._finish()
        return self

    def _add(self, matrix: Any, labels: NDArray[Any], weights: NDArray[np.float64], classes: ArrayLike | None) -> None:
        """Add documents to what was counted, with room for new words and classes."""
        before = self.classes_ if hasattr(self, "_counts") else None
        announced = np.asarray(classes) if classes is not None else labels[:0]
        all_classes = join_classes([labels[weights > 0], announced] + ([] if before is None else [before]))
        counted = count_in_parts(matrix, labels, weights, all_classes)
        if before is not None:
            places = np.searchsorted(all_classes, before)
            counted = self._counts.widened(matrix.shape[1], places, len(all_classes)) + counted
        self._counts, self.classes_ = counted, all_classes

    def _profiles(self) -> ClassProfiles:
        """Smooth what was counted, and let words borrow from words like them where there are vectors."""
        smoothing = self.smoothing
        if smoothing is None:
            shares = self._counts.by_class[self._counts.by_class > 0] / self._counts.by_class.sum()
            smoothing = min(_MOST_SMOOTHING, _PULL / float(np.exp(-(shares * np.log(shares)).sum())))
        counted = ClassProfiles(self._counts, smoothing)
        if self.word_vectors is None:
            return counted
        return smoothed_profiles(counted, check_word_vectors(self.word_vectors, self.n_features_in_))

    def _plant(self) -> ClassProfiles:
        """Build the trees from what was counted; return the words' profiles."""
        profiles = self._profiles()
        arity = min(max(len(self.classes_), _LEAST_ARITY), _MOST_ARITY) if self.arity is None else self.arity
        depth = (3 if arity <= _DEEP_ARITY else 2) if self.depth is None else self.depth
        settings = TreeSettings(arity, depth, self.min_split, self.leaf_length, self.floor)
        random_state = check_random_state(self.random_state)
        self._seeds = random_state.randint(_MOST_SEED, size=(2, self.n_trees))
        self._trees = [ProfileTree.planted(profiles, settings, np.random.RandomState(seed)) for seed in self._seeds[0]]
        self.history_: tuple[RefinementRecord, ...] = ()
        return profiles

    def _refine(self, profiles: ClassProfiles, matrix: Any, labels: NDArray[Any], weights: NDArray[np.float64]) -> None:
        """Learn factors for each tree."""
        codes = np.searchsorted(self.classes_, labels)
        documents = leave_one_out_documents(matrix, codes, weights, profiles, self.floor)
        settings = RefinementSettings(
            self.epochs, self.learning_rate, self.batch_size, self.word_dropout, self.pull_back
        )
        trees, records = list(self._trees), []
        with show_progress("refining", settings.passes(documents.labels.size) * self.n_trees, self.verbose) as advance:

            def report(record: RefinementRecord) -> None:
                records.append(record)
                _logger.info(
                    "tree %d, epoch %d: loss %.4f, scale %.3f", record.tree + 1, record.epoch, record.loss, record.scale
                )
                advance(1, f"refining, loss {record.loss:.4f}")

            def work(start: int, stop: int) -> None:
                for number in range(start, stop):
                    random_state = np.random.RandomState(self._seeds[1, number])
                    tree = trees[number]
                    learned = refine(documents, tree.tree, tree.masses, settings, random_state, number, report)
                    trees[number] = replace(tree, learned=learned)

            run_in_blocks(work, self.n_trees, self.n_jobs, block=1)
        self.history_ = tuple(sorted(records, key=lambda record: (record.tree, record.epoch)))
        self._trees = trees

    def _finish(self) -> None:
        """Set what users see."""
        scale = self._trees[0].scale
        self.metric_ = TreeMetric.average([tree.scaled_metric(tree.scale / scale) for tree in self._trees])
        self.informativeness_: NDArray[np.float64] = np.where(
            self._trees[0].masses > 0, self._trees[0].informativeness, 0.0
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _refuse_uncounted(
    counted: ColumnCounts, classes: NDArray[Any], matrix: Any, labels: NDArray[Any], weights: NDArray[np.float64]
) -> None:
    """Demand documents that were counted: refinement takes each of them off the counts.

    Sums of weights that are no whole numbers differ in their last bits with the order of the parts: that is let pass.
    """
    new = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    sampled = None if new else count_in_parts(matrix, labels, weights, classes)
    if (
        sampled is None
        or (sampled.by_word - counted.by_word * _ROUNDED_UP).max() > 0
        or (sampled.by_class > counted.by_class * _ROUNDED_UP).any()
    ):
        found = f"the label {new[0]!r} is new" if new else "it holds words more often than they were counted"
        raise ValueError(
            f"Expected a sample of the documents counted, in the columns of counts.words, but {found}. "
            "Count the documents of the sample, too."
        )
