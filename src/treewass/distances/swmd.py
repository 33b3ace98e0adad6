"""The supervised word mover's distance as an estimator."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from treewass.compute.progress import show_progress
from treewass.distances.document_pairs import DocumentPairs, Integers, pair_histograms
from treewass.distances.swmd_loss import LabelledDocuments, SwmdMetric, TransportSettings
from treewass.distances.swmd_training import (
    SwmdCheckpoint,
    SwmdRecord,
    SwmdState,
    SwmdTraining,
    scaled_start,
    start_metric,
)
from treewass.distances.word_mover import neighbors_by_wmd, pairwise_wmd
from treewass.documents.estimator_inputs import check_documents, check_ranges
from treewass.documents.histograms import empty_rows, row_totals, scale_rows, warn_about_empty_rows
from treewass.documents.word_vectors import check_vectors, covered_histograms, svd_vectors
from treewass.storage.checkpoints import fingerprint
from treewass.votes.neighbors import NeighborClassifier

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["SupervisedWordMover"]

_LEAST = {"n_components": 1, "n_neighbors": 1, "neighborhood": 2, "batch_size": 1, "max_iter": 0}
_POSITIVE = ("learning_rate", "regularization", "tolerance")
_MOST_VALIDATION, _SAVE_EVERY, _MOST_TRANSPORT = 100, 10, 1000
_SCALE_ROWS, _SCALE_ROWS_PER_CLASS = 64, 4  # documents that choose the scale of the start
_SMALLEST = 1e-140  # of the largest number of all vectors
_NAME = "SupervisedWordMover"


class SupervisedWordMover(NeighborClassifier):
    r"""Learn a word mover's distance from labelled documents, and classify by nearest neighbours under it.

    A linear map A of the word vectors and a weight w for each word are learned, so that documents of one class
    become neighbours [1]_. The distance is then the exact transport cost between the re-weighted histograms:

    .. math::
        \min_{T \ge 0} \sum_{ij} T_{ij} \lVert A (x_i - y_j) \rVert^2, \qquad T \mathbf{1} = \tilde a, \quad
        T^\top \mathbf{1} = \tilde b, \qquad \tilde a_i \propto w_i a_i

    Parameters
    ----------
    word_vectors : AlignedVectors or array-like of shape (n_words, n_dimensions), optional
        The vector of each word; by default from the documents themselves (`treewass.documents.svd_vectors`).
    n_components : int or None, default=30
        Rows of the linear map. None, or more than there are dimensions, takes the number of dimensions.
    n_neighbors : int, default=19
        Neighbours that vote, by the paper's fall-back rule.
    neighborhood : int, default=50
        Documents that each document of a batch is compared with: those with the nearest centroids.
    batch_size : int, default=32
        Documents per step.
    max_iter : int, default=100
        Steps.
    learning_rate : float, default=0.03
        Step of the optimiser, Adam.
    regularization : float, default=0.05
        Entropic penalty while training, as a share of the mean squared distance between words.
    tolerance : float, default=0.01
        Mass that may be in the wrong place when the iterations of a transport end, while training.
    validation_fraction : float, default=0.1
        Share of the documents, at most 100 of them, that choose the best of the metrics that training passes
        through. They are neighbours afterwards, like all others. With 0 the last metric is taken.
    callback : callable, optional
        Called with the `SwmdRecord` of each step.
    checkpoint : path-like, optional
        A folder that keeps the state of training. If you fit again with the same folder, documents and settings,
        training goes on from there. The result is that of an uninterrupted fit, to the bit. You may raise `max_iter`.
    n_jobs : int, optional
        Threads in training, processes for exact distances; -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Chooses batches and the validation documents.
    verbose : bool, default=False
        Whether to show progress bars on standard error. Progress always goes to the logger ``treewass``.

    Attributes
    ----------
    linear_map_ : ndarray of shape (n_components, n_dimensions)
        A.
    word_weights_ : ndarray of shape (n_words,)
        w, from 0.01 to 10; one for words that training has not seen.
    history_ : tuple of SwmdRecord
        The loss of the batch at each step, and every tenth step that of the validation documents.
    classes_ : ndarray of shape (n_classes,)
        The labels seen, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class, the answer for a document without a known word.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of words.

    Notes
    -----
    Training starts from a map learned on the documents' centroids, and follows the gradient of the loss through
    the dual potentials of regularised transport. An interrupt from the keyboard ends training: the best metric so far
    is kept, and the estimator is fitted.

    References
    ----------
    .. [1] Huang, Guo, Kusner, Sun, Weinberger and Sha, Supervised word mover's distance, NeurIPS 2016.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["cats purr", "cats meow", "dogs bark", "dogs growl"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> mover = SupervisedWordMover(n_neighbors=1, max_iter=5).fit(X, ["cat", "cat", "dog", "dog"])
    >>> distances = mover.pairwise(X)
    >>> bool(distances[0, 1] < distances[0, 2])
    True
    """

    n_features_in_: int
    _known = "a word with a vector"

    def __init__(
        self,
        word_vectors: Any = None,
        *,
        n_components: int | None = 30,
        n_neighbors: int = 19,
        neighborhood: int = 50,
        batch_size: int = 32,
        max_iter: int = 100,
        learning_rate: float = 0.03,
        regularization: float = 0.05,
        tolerance: float = 0.01,
        validation_fraction: float = 0.1,
        callback: Callable[[SwmdRecord], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.word_vectors = word_vectors
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.neighborhood = neighborhood
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.tolerance = tolerance
        self.validation_fraction = validation_fraction
        self.callback = callback
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> SupervisedWordMover:
        """Learn the linear map and the weights from labelled documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. Documents without a word that has a vector are never neighbours; a warning says so.
        y : array-like of shape (n_documents,)
            Labels.

        Returns
        -------
        SupervisedWordMover
            Itself.
        """
        check_ranges(self, _LEAST, _POSITIVE, ("validation_fraction",), optional=("n_components",))
        counts, _ = self._start(X, y)
        codes = self._labels
        self._set_vectors(counts)
        counts = self._covered_rows(counts)
        empty = empty_rows(counts)
        warn_about_empty_rows(empty, "they are never neighbours.")
        self._rows = np.setdiff1d(np.arange(codes.size), empty)
        if not self._rows.size:
            raise ValueError("Expected at least one document that holds a word with a vector, got none.")
        documents = LabelledDocuments(counts[self._rows], codes[self._rows], self._vectors)
        with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
            self._metric, self.history_ = self._learn(documents)
        self._histograms = self._metric.histograms(documents.counts)
        self.linear_map_ = self._metric.linear_map
        self.word_weights_ = np.exp(self._metric.log_weights)
        self.n_iter_ = len(self.history_)
        return self

    def pairwise(
        self, X: Any, Y: Any = None, *, n_jobs: int | None = None, checkpoint: str | os.PathLike[str] | None = None
    ) -> NDArray[np.float64]:
        """Compute the exact learned distance between each row of `X` and each row of `Y`.

        Parameters
        ----------
        X, Y : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights, each row with at least one word that has a vector; `Y` defaults to `X`.
        n_jobs : int, optional
            Processes; -1 for all cores; that of the constructor by default. The result does not depend on it.
        checkpoint : path-like, optional
            A folder that keeps finished parts. The same call with the same folder resumes where an earlier one ended.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        check_is_fitted(self)
        left = self._weighted(X, "X")
        pairs = self._pairs(left, left if Y is None else self._weighted(Y, "Y"))
        options: dict[str, Any] = {"n_jobs": self.n_jobs if n_jobs is None else n_jobs, "verbose": self.verbose}
        return pairwise_wmd(pairs, True, caller=type(self).__name__, checkpoint=checkpoint, **options)

    def _set_vectors(self, counts: csr_array) -> None:
        """Take the word vectors that were given, or make some from the documents."""
        given = self.word_vectors
        if given is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            given = svd_vectors(counts, n_dimensions=self.n_components or counts.shape[1], random_state=seed)
        self._vectors, self._covered = check_vectors(given, caller=_NAME, n_words=counts.shape[1])
        if 0 < abs(self._vectors).max() < _SMALLEST:
            raise ValueError(
                f"{_NAME} expects word_vectors whose squares do not vanish, with a number of at least {_SMALLEST:g} "
                f"among them, got none above {abs(self._vectors).max():.3g}. Scale them up."
            )

    def _learn(self, documents: LabelledDocuments) -> tuple[SwmdMetric, tuple[SwmdRecord, ...]]:
        """Start on centroids, then train; with one class there is nothing to learn."""
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(2**31 - 1))
        n_dimensions = documents.vectors.shape[1]
        n_components = min(self.n_components or n_dimensions, n_dimensions)
        if len(np.unique(documents.labels)) < 2:
            return SwmdMetric(np.eye(n_components, n_dimensions), np.zeros(documents.counts.shape[1])), ()
        validation, rows = self._split(documents.labels, seed)
        settings = TransportSettings(self.regularization, self.tolerance, _MOST_TRANSPORT, self.n_jobs)
        start = start_metric(documents, rows, n_components, seed)
        some = rows[: max(_SCALE_ROWS, _SCALE_ROWS_PER_CLASS * len(self.classes_))]
        metric, transport = scaled_start(documents, start, some, self.neighborhood, settings)
        training = SwmdTraining(
            documents,
            rows,
            validation,
            transport,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            neighborhood=self.neighborhood,
            learning_rate=self.learning_rate,
            map_scale=float(np.sqrt((metric.linear_map**2).mean())),
            seed=seed,
        )
        return self._train(training, SwmdState.at(metric))

    def _split(self, labels: Integers, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Choose validation documents at random, and return them and the others, at least one of each class."""
        order = np.random.default_rng(seed).permutation(labels.size)
        firsts = np.unique(labels[order], return_index=True)[1]
        free = np.delete(order, firsts)
        n_chosen = min(int(self.validation_fraction * labels.size), _MOST_VALIDATION, free.size)
        return np.sort(free[:n_chosen]), np.concatenate([order[firsts], free[n_chosen:]])

    def _train(self, training: SwmdTraining, state: SwmdState) -> tuple[SwmdMetric, tuple[SwmdRecord, ...]]:
        """Train with a bar, a callback and checkpoints, where they are wanted."""
        checkpoint = None
        if self.checkpoint is not None:
            checkpoint = SwmdCheckpoint(self.checkpoint, self._fingerprint(training.documents, training.seed))
            state = checkpoint.load() or state
        if len(state.records) > self.max_iter:
            raise ValueError(
                f"Expected a checkpoint of at most {self.max_iter} steps in {self.checkpoint}, got one of "
                f"{len(state.records)}. Raise max_iter, or choose another folder."
            )
        with show_progress("steps", self.max_iter, self.verbose) as advance:
            advance(len(state.records))

            def report(now: SwmdState) -> None:
                advance(1)
                if checkpoint is not None and len(now.records) % _SAVE_EVERY == 0:
                    checkpoint.save(now)
                if self.callback is not None:
                    self.callback(now.records[-1])

            best = training.run(state, report)
        return best, tuple(state.records)

    def _fingerprint(self, documents: LabelledDocuments, seed: int) -> str:
        """Identify the training by all that it depends on, not by anything computed."""
        names = ("n_components", "neighborhood", "batch_size", "learning_rate", "regularization", "tolerance")
        settings = {name: getattr(self, name) for name in (*names, "validation_fraction")}
        counts = documents.counts
        arrays = (counts.indptr, counts.indices, counts.data, documents.labels, documents.vectors)
        return fingerprint({"name": _NAME, "seed": seed, **settings}, *arrays)

    def _knows(self, counts: csr_array) -> NDArray[np.bool_]:
        return np.asarray(counts @ self._covered.astype(np.float64) > 0)

    def _search(self, counts: csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self._nearest(self._metric.histograms(self._covered_rows(counts)), k)

    def _search_others(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self._nearest(self._histograms, k)

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

    def _nearest(self, left: csr_array, n_neighbors: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest training documents; the training documents themselves find others."""
        pairs = self._pairs(left, self._histograms)
        distances, places = neighbors_by_wmd(
            pairs, True, n_neighbors, caller=type(self).__name__, n_jobs=self.n_jobs, verbose=self.verbose
        )
        return distances, self._rows[places]
