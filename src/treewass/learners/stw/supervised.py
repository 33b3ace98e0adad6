"""The paper's learner: where words hang in a given tree, by gradient descent on a soft tree-Wasserstein distance."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treewass.compute.arguments import check_choice, shown
from treewass.documents.estimator_inputs import check_documents, check_labelled_documents, check_ranges, check_weights
from treewass.documents.histograms import empty_rows, to_histograms, warn_about_empty_rows
from treewass.documents.word_vectors import AlignedVectors, check_vectors
from treewass.learners.base import TreeTransformer
from treewass.learners.stw.contrastive_batches import MASS, LabelledHistograms
from treewass.learners.stw.epochs import EpochRecord, Schedule, StepSettings
from treewass.learners.stw.tree_fitting import FittedTree, Plan, fit_tree, hang_words
from treewass.learners.stw.unseen_words import most_like
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import perfect_tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SupervisedTreeWasserstein"]

_MOST_SEED = 2**31 - 1
_LEAST = {"arity": 2, "depth": 1, "epochs": 1, "batch_size": 2, "patience": 1}
_PARENTS = ("softmax", "sparsemax", "rankmax")
_ABSOLUTES, _SMOOTHNESS = ("tanh", "huber"), 2.0
_OPTIMIZERS, _LEARNING_RATE = ("adam", "lars"), 0.1


class SupervisedTreeWasserstein(TreeTransformer):
    r"""Learn from which node of a given tree each word hangs, as in *Supervised Tree-Wasserstein Distance*.

    Every word has a score for every internal node. The softmax of its scores gives the probability of each node to be
    the word's parent. Training minimises a contrastive loss of the soft tree-Wasserstein distance (equations 2 to 6 of
    the paper): it pulls documents of one label together and pushes the others beyond a margin. In the end each word
    hangs from its most probable parent.

    Parameters
    ----------
    arity, depth : int, default=5
        The perfect tree of internal nodes (:math:`D_1`); its edges have length one.
    margin : float or sequence of float, default=10.0
        Distance beyond which documents of different labels are far enough (:math:`m`), for documents of mass 5, as in
        the paper. Of several, the one with the lowest validation error is taken, the first of equals. Without
        validation documents the first one is taken.
    absolute : {"tanh", "huber"} or tuple of (str, float), default="tanh"
        Smooth absolute value: the paper's :math:`|x|_\alpha`, or :math:`\sqrt{x^2 + 1/\alpha^2} - 1/\alpha`. A tuple
        such as ``("tanh", 4.0)`` also sets :math:`\alpha`, which is 2 by default: the larger, the closer to the true
        absolute value.
    parents : {"softmax", "sparsemax", "rankmax"}, default="softmax"
        How scores become probabilities.
    epochs : int, default=30
        Most passes over the documents. The one with the lowest validation loss is taken.
    batch_size : int, default=100
        Documents compared with each other in a step; all documents where there are fewer.
    optimizer : {"adam", "lars"} or tuple of (str, float), default="adam"
        Adam, or Adam on gradients scaled by a layer-wise trust ratio. A tuple such as ``("adam", 0.05)`` also sets the
        learning rate, which is 0.1 by default.
    validation_fraction : float, default=0.2
        Fraction of the documents held out to choose epoch and margin, equal documents together; zero for none.
    patience : int, optional
        Stop after this many epochs without a better one. By default all epochs are done.
    checkpoint : path-like, optional
        Folder that keeps the state after every epoch. The same call goes on from there, and ends with the same result
        as a training in one go.
    device : str or torch.device, optional
        Train with torch on this device, such as ``"cuda"``. By default compiled loops train on the processor, unless
        `parents` needs torch.
    n_jobs : int, optional
        Threads of the compiled loops; -1 for all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Chooses scores to start from, validation documents and batches.
    verbose : bool, default=False
        Whether to show a progress bar on standard error. Progress always goes to the logger ``treewass``.
    warm_start : bool, default=False
        Whether a second ``fit`` goes on from `scores_` instead of random scores; words known before stay known. The
        words and the tree must be the same, and `keep_scores` true. The optimiser starts anew.
    keep_scores : bool, default=True
        Whether to keep `scores_`, which are most of a fitted learner. Without them the tree is all there is: no
        soft-smooth distance, and nothing to go on from.
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each column of the counts, such as ``WordVectors.align(words)``. A word of no training document
        hangs from the parent of the training word most like it, by the cosine, if that is above zero.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree of the most probable parents. Words of no training document are unknown, unless `word_vectors` place
        them.
    scores_ : ndarray of float32, shape (n_words, n_nodes)
        The learned scores (:math:`\Theta^\top`), if `keep_scores`.
    margin_ : float
        The margin taken.
    best_epoch_ : int
        The epoch taken.
    history_ : tuple of EpochRecord
        Losses, errors and times after each epoch, margin after margin.
    classes_ : ndarray of shape (n_classes,)
        The labels of documents that have a weight, sorted.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    treewass.ProfileTreeWasserstein : The default learner, faster and more accurate.

    Notes
    -----
    Training needs memory for three numbers for each word and node (scores and running means), and for the best scores
    so far: with the defaults 63 kB for each word, 47 kB without validation.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["cats purr", "cats meow", "dogs bark", "dogs growl"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> learner = SupervisedTreeWasserstein(arity=2, depth=1, margin=5, epochs=20)
    >>> distances = learner.fit(X, ["cat", "cat", "dog", "dog"]).pairwise(X)
    >>> bool(distances[0, 1] < distances[0, 2])
    True
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        arity: int = 5,
        depth: int = 5,
        margin: float | Sequence[float] = 10.0,
        absolute: str | tuple[str, float] = "tanh",
        parents: str = "softmax",
        epochs: int = 30,
        batch_size: int = 100,
        optimizer: str | tuple[str, float] = "adam",
        validation_fraction: float = 0.2,
        patience: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        device: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
        warm_start: bool = False,
        keep_scores: bool = True,
        word_vectors: AlignedVectors | ArrayLike | None = None,
    ) -> None:
        self.arity = arity
        self.depth = depth
        self.margin = margin
        self.absolute = absolute
        self.parents = parents
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.checkpoint = checkpoint
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.keep_scores = keep_scores
        self.word_vectors = word_vectors

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SupervisedTreeWasserstein:
        """Learn the tree from labelled documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Empty documents teach nothing, with a warning.
        y : array-like of shape (n_documents,)
            Labels, at least two different ones of documents with words.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document. A pair of documents counts in the loss by the product of their weights, and a
            validation document in the validation error by its own. Documents of weight zero are left out.

        Returns
        -------
        SupervisedTreeWasserstein
            Itself. After Ctrl-C it holds the best tree so far, with a warning.

        Raises
        ------
        ValueError
            For parameters out of range, for fewer than two classes, and if the loss is no longer a finite number.
        """
        before = getattr(self, "scores_", None) if self.warm_start else None
        plan = self._plan()
        counts, labels = check_labelled_documents(self, X, y)
        if before is not None:
            plan = self._going_on(plan, before, counts.shape[1])
        vectors = self.word_vectors
        if vectors is not None:
            vectors = check_vectors(vectors, caller=type(self).__name__, n_words=counts.shape[1])
        weights = check_weights(sample_weight, labels.size)
        self.classes_ = np.unique(labels[weights > 0])
        empty = empty_rows(counts)
        warn_about_empty_rows(empty, "they teach nothing.")
        kept = np.setdiff1d(np.flatnonzero(weights), empty)
        if not kept.size:
            raise ValueError("Expected at least one document with a word, got none: X holds only zeros.")
        codes = np.searchsorted(self.classes_, labels[kept])
        if np.unique(codes).size < 2:
            raise ValueError(
                "Expected documents with words of at least two labels, got one class "
                f"({self.classes_[codes[0]]}): there is nothing to tell apart."
            )
        documents = to_histograms(counts[kept])
        learning = LabelledHistograms(
            documents, codes.astype(np.int64), None if (weights == 1).all() else weights[kept]
        )
        known = np.bincount(documents.indices, minlength=counts.shape[1]) > 0
        if before is not None:
            known |= self.metric_.known_words
        self._take(fit_tree(learning, plan), known, vectors)
        return self

    def pairwise(
        self,
        X: Any,
        Y: Any = None,
        *,
        variant: str = "stw",
        smoothness: float | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        r"""Compute the distance between each row of `X` and each row of `Y`.

        Parameters
        ----------
        X, Y : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights, each row with at least one known word; `Y` defaults to `X`.
        variant : {"stw", "smooth", "soft-smooth"}, default="stw"
            ``"stw"`` is the distance on the tree, and the only metric of the three. ``"smooth"`` is the same with the
            smooth absolute value. ``"soft-smooth"`` is the distance of equation (3), on probable parents, which was
            trained.
        smoothness : float, optional
            :math:`\alpha` of the smooth variants, for documents of mass one. By default 5 times that of training,
            where documents have mass 5: the trained distance up to a factor.
        n_jobs : int, optional
            Threads; -1 for all cores. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        if variant == "stw":
            return super().pairwise(X, Y, n_jobs=n_jobs)
        from treewass.learners.stw.smooth_variants import smooth_distances

        check_is_fitted(self)
        if variant not in ("smooth", "soft-smooth"):
            raise ValueError(f'Expected variant to be "stw", "smooth" or "soft-smooth", got {shown(variant)}.')
        if variant == "soft-smooth" and not hasattr(self, "scores_"):
            raise ValueError("Expected scores for the soft-smooth distance, got none: fit with keep_scores=True.")
        absolute, trained = self._named("absolute", _ABSOLUTES, _SMOOTHNESS)
        return smooth_distances(
            self.metric_,
            check_documents(self, X),
            None if Y is None else check_documents(self, Y),
            scores=self.scores_ if variant == "soft-smooth" else None,
            parents=self.parents,
            absolute=absolute,
            smoothness=MASS * trained if smoothness is None else smoothness,
            n_jobs=n_jobs,
        )

    def _plan(self) -> Plan:
        """Gather what the training depends on; refuse parameters out of range."""
        check_ranges(self, _LEAST, (), ("validation_fraction",), optional=("patience",))
        if self.warm_start and not self.keep_scores:
            raise ValueError(
                "Expected keep_scores=True with warm_start=True, which goes on from the scores, got False."
            )
        margins = self._margins()
        parents = check_choice("parents", self.parents, _PARENTS)
        absolute = self._named("absolute", _ABSOLUTES, _SMOOTHNESS)
        optimizer = self._named("optimizer", _OPTIMIZERS, _LEARNING_RATE)
        seed = int(check_random_state(self.random_state).randint(_MOST_SEED))
        patience = None if self.patience is None else int(self.patience)
        return Plan(
            tree=perfect_tree(self.arity, self.depth),
            margins=margins,
            step=StepSettings(margins[0], *absolute, parents, *optimizer),
            schedule=Schedule(int(self.epochs), int(self.batch_size), patience, seed),
            validation_fraction=float(self.validation_fraction),
            checkpoint=self.checkpoint,
            device=self.device,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _going_on(self, plan: Plan, before: NDArray[np.float32], n_words: int) -> Plan:
        """Start from the scores of an earlier fit, for the same words and nodes."""
        if before.shape != (n_words, plan.tree.n_nodes):
            raise ValueError(
                f"Expected the words and the tree of the earlier fit to go on from its scores (warm_start=True), which "
                f"are for {before.shape[0]} words and {before.shape[1]} nodes, got {n_words} words and "
                f"{plan.tree.n_nodes} nodes."
            )
        return replace(plan, start=before)

    def _margins(self) -> tuple[float, ...]:
        """Return the margins to choose from."""
        margins = np.atleast_1d(np.asarray(self.margin))
        numbers = margins.dtype.kind in "iuf" and margins.ndim == 1 and margins.size
        if not numbers or not (np.isfinite(margins) & (margins > 0)).all():
            raise ValueError(f"Expected margin as a finite number above zero, or several, got {shown(self.margin)}.")
        if margins.size > 1 and self.validation_fraction == 0:
            raise ValueError("Expected validation_fraction above zero to choose between margins, got 0.")
        return tuple(margins.astype(np.float64).tolist())

    def _named(self, parameter: str, choices: tuple[str, ...], default: float) -> tuple[str, float]:
        """Read a parameter that is a name, or a name and a number."""
        value = getattr(self, parameter)
        name, number = value if isinstance(value, tuple | list) and len(value) == 2 else (value, default)
        positive = not isinstance(number, bool) and isinstance(number, int | float | np.number) and 0 < number < np.inf
        if not (isinstance(name, str) and name in choices and positive):
            raise ValueError(
                f"Expected {parameter} to be one of {', '.join(choices)}, or a tuple of a name and a finite number "
                f"above zero, such as {(choices[0], default)}, got {shown(value)}."
            )
        return name, float(number)

    def _take(self, fitted: FittedTree, known: NDArray[np.bool_], vectors: Any) -> None:
        """Set what users see."""
        tree, scores = fitted.tree, fitted.scores
        if vectors is not None:
            placed, like = most_like(vectors[0], vectors[1], known)
            known[placed] = True
            scores[placed] = scores[like]
            tree = hang_words(tree, scores)
        self.metric_ = TreeMetric(tree, known.astype(np.float64))
        if self.keep_scores:
            self.scores_: NDArray[np.float32] = scores
        elif hasattr(self, "scores_"):
            del self.scores_
        self.margin_, self.best_epoch_ = fitted.margin, fitted.epoch
        self.history_: tuple[EpochRecord, ...] = fitted.records
        if fitted.stopped:
            last_step = "the last step, after " if self.history_[0].validation_loss is None else ""
            warnings.warn(
                f"Training was stopped after {len(self.history_)} epoch(s); the tree is that of {last_step}epoch "
                f"{self.best_epoch_}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
