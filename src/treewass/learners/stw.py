"""The paper's learner: where words hang in a given tree, by gradient descent on a soft tree-Wasserstein distance."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treewass.documents.histograms import empty_rows, to_histograms, warn_about_empty_rows
from treewass.learners.inputs import check_documents, check_labelled_documents, check_ranges
from treewass.learners.soft.batches import LabelledDocuments
from treewass.learners.soft.fitting import Fitting, Plan, fit_tree
from treewass.learners.soft.settings import EpochRecord, LossSettings, Schedule, StepSettings
from treewass.learners.transformer import TreeTransformer
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import perfect_tree
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SupervisedTreeWasserstein"]

_MOST_SEED = 2**31 - 1
_LEAST = {"arity": 2, "depth": 1, "epochs": 1, "batch_size": 2, "patience": 1}
_POSITIVE, _SHARES = ("smoothness", "mass", "learning_rate"), ("validation_share",)
_CHOICES = {
    "absolute": ("tanh", "huber"),
    "parents": ("softmax", "sparsemax", "entmax", "rankmax"),
    "optimizer": ("adam", "lars"),
    "updates": ("sparse", "dense"),
    "state": ("float32", "bfloat16"),
    "select": ("loss", "error"),
}


class SupervisedTreeWasserstein(TreeTransformer):
    r"""Learn from which node of a given tree each word hangs, as in *Supervised Tree-Wasserstein Distance*.

    Every word has a score for every internal node, and the softmax of its scores is the probability of its parents. The
    scores minimise a contrastive loss of the soft tree-Wasserstein distance (equations 2 to 6 of the paper): documents
    of one label come near, others go beyond a margin. In the end each word hangs from its most probable parent.

    Parameters
    ----------
    arity, depth : int, default=5
        The perfect tree of internal nodes (:math:`D_1`), unless `tree` gives another.
    tree : Tree, optional
        Internal nodes and their lengths; its own words are passed over.
    start : array-like of int, shape (n_words,), optional
        A node for each word to start from, with half of the probability; by default scores are random.
    margin : float or sequence of float, default=10.0
        Distance beyond which documents of different labels are far enough (:math:`m`). Of several, the one with the
        lowest validation error is taken, the first of equals, and the first of all without validation documents.
    smoothness : float, default=2.0
        How close the smooth absolute value is to the true one (:math:`\alpha`).
    absolute : {"tanh", "huber"}, default="tanh"
        Smooth absolute value: the paper's :math:`|x|_\alpha`, or :math:`\sqrt{x^2 + 1/\alpha^2} - 1/\alpha`.
    mass : float, default=5.0
        Mass of a document in training and validation; one elsewhere.
    parents : {"softmax", "sparsemax", "entmax", "rankmax"}, default="softmax"
        How scores become probabilities.
    epochs : int, default=30
        Most passes over the documents.
    batch_size : int, default=100
        Documents compared with each other in a step; all documents where there are fewer.
    learning_rate : float, default=0.1
        Step of the optimiser.
    optimizer : {"adam", "lars"}, default="adam"
        Adam, or Adam on gradients scaled by a layer-wise trust ratio.
    updates : {"sparse", "dense"}, default="sparse"
        Whether the scores of words outside a batch rest, or move on with their running means.
    state : {"float32", "bfloat16"}, default="float32"
        How Adam's running means are held.
    validation_share : float, default=0.2
        Share of the documents held out to choose epoch and margin, equal documents together; zero for none.
    select : {"loss", "error"}, default="loss"
        Whether the best epoch has the lowest validation loss (the paper) or nearest-neighbour error.
    patience : int, optional
        Epochs without a better one after which training stops; never by default.
    retrain : bool, default=False
        Whether to train again, on all documents, for as many epochs as were best.
    learn_lengths, learn_tree : bool, default=False
        Whether to learn the lengths of all edges, and the parents of internal nodes, too.
    checkpoint_folder : path-like, optional
        Where to keep the state after every epoch, and to go on from: the result is that of a training in one go.
    callback : callable, optional
        Called with an `EpochRecord` after every epoch; a true answer stops the training.
    device : str or torch.device, optional
        Where torch computes, such as ``"cuda"``. By default compiled loops do, on the processor, unless an option
        needs torch (other parents than softmax, `learn_lengths`, `learn_tree`).
    n_jobs : int, optional
        Threads of the compiled loops; -1 for all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Chooses scores to start from, validation documents and batches.
    verbose : bool, default=False
        Whether to show a progress bar on standard error. Progress always goes to the logger ``treewass``.

    Attributes
    ----------
    metric_ : TreeMetric
        The tree of the most probable parents. Words of no training document are unknown.
    scores_ : ndarray of float32, shape (n_words, n_nodes)
        What was learned (:math:`\Theta^\top`).
    margin_ : float
        The margin taken.
    best_epoch_ : int
        The epoch taken.
    history_ : tuple of EpochRecord
        Losses, errors and times after each epoch, training after training.
    classes_ : ndarray of shape (n_classes,)
        The labels seen, sorted.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    treewass.ProfileTreeWasserstein : The default learner, faster and more accurate.

    Notes
    -----
    Memory is that of scores and running means, three numbers for each word and node, and the best scores so far;
    with the defaults 47 kB for each word (63 kB with validation).

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
        tree: Tree | None = None,
        start: ArrayLike | None = None,
        margin: float | Sequence[float] = 10.0,
        smoothness: float = 2.0,
        absolute: str = "tanh",
        mass: float = 5.0,
        parents: str = "softmax",
        epochs: int = 30,
        batch_size: int = 100,
        learning_rate: float = 0.1,
        optimizer: str = "adam",
        updates: str = "sparse",
        state: str = "float32",
        validation_share: float = 0.2,
        select: str = "loss",
        patience: int | None = None,
        retrain: bool = False,
        learn_lengths: bool = False,
        learn_tree: bool = False,
        checkpoint_folder: str | os.PathLike[str] | None = None,
        callback: Callable[[EpochRecord], object] | None = None,
        device: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.arity = arity
        self.depth = depth
        self.tree = tree
        self.start = start
        self.margin = margin
        self.smoothness = smoothness
        self.absolute = absolute
        self.mass = mass
        self.parents = parents
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.updates = updates
        self.state = state
        self.validation_share = validation_share
        self.select = select
        self.patience = patience
        self.retrain = retrain
        self.learn_lengths = learn_lengths
        self.learn_tree = learn_tree
        self.checkpoint_folder = checkpoint_folder
        self.callback = callback
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> SupervisedTreeWasserstein:
        """Learn the tree from labelled documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Empty documents teach nothing, with a warning.
        y : array-like of shape (n_documents,)
            Labels, at least two different ones of documents with words.

        Returns
        -------
        SupervisedTreeWasserstein
            Itself. After Ctrl-C it holds the best tree so far, with a warning.

        Raises
        ------
        ValueError
            For parameters out of range, for fewer than two classes, and if the loss is no longer a finite number.
        """
        margins = self._check_parameters()
        counts, labels = check_labelled_documents(self, X, y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        empty = empty_rows(counts)
        warn_about_empty_rows(empty, "they teach nothing.")
        kept = np.setdiff1d(np.arange(codes.size), empty)
        if not kept.size:
            raise ValueError("Expected at least one document with a word, got none: X holds only zeros.")
        if np.unique(codes[kept]).size < 2:
            raise ValueError(
                "Expected documents with words of at least two labels, got one class "
                f"({self.classes_[codes[kept[0]]]!r}): there is nothing to tell apart."
            )
        documents = LabelledDocuments(to_histograms(counts[kept]), codes[kept].astype(np.int64))
        fitted = fit_tree(documents, self._plan(margins, counts.shape[1]))
        self._take(fitted, np.bincount(counts.indices, minlength=counts.shape[1]) > 0)
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
            The distance on the tree; the same with the smooth absolute value; or that of equation (3), on probable
            parents, which was trained. Only the first is a metric.
        smoothness : float, optional
            :math:`\alpha` of the smooth variants, for documents of mass one. By default mass times smoothness of
            training: the trained distance up to a factor.
        n_jobs : int, optional
            Threads; -1 for all cores. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        if variant == "stw":
            return super().pairwise(X, Y, n_jobs=n_jobs)
        from treewass.learners.soft.variants import SmoothDistance

        check_is_fitted(self)
        if variant not in ("smooth", "soft-smooth"):
            raise ValueError(f'Expected variant to be "stw", "smooth" or "soft-smooth", got {variant!r}.')
        distance = SmoothDistance(
            self.metric_,
            self.scores_ if variant == "soft-smooth" else None,
            self.parents,
            self.mass * self.smoothness if smoothness is None else smoothness,
            self.absolute,
        )
        others = None if Y is None else check_documents(self, Y)
        return distance(check_documents(self, X), others, n_jobs)

    def _check_parameters(self) -> tuple[float, ...]:
        """Refuse parameters out of range; return the margins to choose from."""
        check_ranges(self, _LEAST, _POSITIVE, _SHARES, optional=("patience",))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"Expected {name} to be one of {', '.join(choices)}, got {getattr(self, name)!r}.")
        if self.tree is not None and not isinstance(self.tree, Tree):
            raise TypeError(f"Expected tree as a Tree, got {type(self.tree).__name__}.")
        margins = np.atleast_1d(np.asarray(self.margin))
        numbers = margins.dtype.kind in "iuf" and margins.ndim == 1 and margins.size
        if not numbers or not (np.isfinite(margins) & (margins > 0)).all():
            raise ValueError(f"Expected margin as a finite number above zero, or several, got {self.margin!r}.")
        if margins.size > 1 and self.validation_share == 0:
            raise ValueError("Expected validation_share above zero to choose between margins, got 0.")
        return tuple(margins.astype(np.float64).tolist())

    def _plan(self, margins: tuple[float, ...], n_words: int) -> Plan:
        """Gather what the training depends on."""
        nodes = perfect_tree(self.arity, self.depth) if self.tree is None else self.tree.with_words([])
        start = None
        if self.start is not None:
            start = nodes.with_words(self.start).word_nodes
            if start.size != n_words:
                raise ValueError(f"Expected start with a node for each of {n_words} words, got {start.size}.")
        seed = int(check_random_state(self.random_state).randint(_MOST_SEED))
        patience = None if self.patience is None else int(self.patience)
        rate, learned = float(self.learning_rate), (bool(self.learn_lengths), bool(self.learn_tree))
        return Plan(
            tree=nodes,
            start=start,
            margins=margins,
            loss=LossSettings(margins[0], float(self.smoothness), self.absolute, float(self.mass), self.parents),
            step=StepSettings(rate, self.optimizer, self.updates, self.state, *learned),
            schedule=Schedule(int(self.epochs), int(self.batch_size), self.select, patience, seed),
            validation_share=float(self.validation_share),
            retrain=self.retrain,
            folder=self.checkpoint_folder,
            callback=self.callback,
            device=self.device,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _take(self, fitted: Fitting, known: NDArray[np.bool_]) -> None:
        """Set what users see."""
        self.scores_: NDArray[np.float32] = fitted.learned.scores
        self.metric_ = TreeMetric(fitted.tree, known.astype(np.float64))
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
