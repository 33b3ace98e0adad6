"""Learning the scores of the linear channel: one-against-rest linear support vectors on TF-IDF."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treewass.votes.channels import CountedTerms, ScoreChannel, TermsOf, weigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_TERMS", "ChannelLearner", "LinearScores", "every_class"]

_BLOCK = 1 << 13  # documents weighed at a time
MOST_TERMS = 1 << 18
_TOLERANCE = 0.1  # held-out documents are labelled as well as with 0.0001, in a fraction of the time
_MOST_ITERATIONS = 10  # passes over the documents


class ChannelLearner(Protocol):
    """Learns a channel from some of the training documents, which it holds."""

    @property
    def name(self) -> str:
        """The name of the channel."""

    @property
    def counted(self) -> TermsOf:
        """Counts the terms of training documents, by their rows."""

    @property
    def codes(self) -> NDArray[np.intp]:
        """The class numbers of all training documents."""

    def prepare(self, rows: NDArray[np.intp]) -> Callable[[float], ScoreChannel]:
        """Make a function that learns scores from these documents; the larger its penalty, the closer the fit."""


@dataclass(frozen=True)
class LinearScores:
    """Learn the scores of a `ScoreChannel` by linear support vectors (squared hinge loss, one class against the rest).

    Of more than 2^18 terms, those of the most documents are kept. With two classes, each gets half of the one score.

    Parameters
    ----------
    counted : callable
        Counts the terms of training documents, by their rows: twice, and of some documents at a time.
    codes : ndarray of int, shape (n_documents,)
        Their class numbers.
    n_classes : int
        Number of classes; one that is not among the documents learned from gets the score minus one.
    weights : ndarray of shape (n_documents,)
        A document of weight two counts as two.

    Examples
    --------
    >>> from functools import partial
    >>> from treewass.votes.channels import TermRows, select_rows
    >>> counted = TermRows.of([([0], [1]), ([0, 1], [1, 1]), ([2], [1]), ([1, 2], [1, 1])])
    >>> learner = LinearScores(partial(select_rows, counted), np.array([0, 0, 1, 1]), 2, np.ones(4))
    >>> learner.prepare(np.arange(4))(1.0).scores(TermRows.of([([0], [1]), ([2], [1])])).argmax(axis=1)
    array([0, 1])
    """

    counted: TermsOf
    codes: NDArray[np.intp]
    n_classes: int
    weights: NDArray[np.float64]
    name: str = "linear"

    def prepare(self, rows: NDArray[np.intp]) -> Callable[[float], ScoreChannel]:
        """Make a function that learns scores from these documents, at least two of them of different classes."""
        from scipy.sparse import csr_array
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        codes, weights = self.codes[rows], self.weights[rows]
        columns, factors = self._terms(rows)
        sizes, places, values = [np.zeros(1, np.intp)], array("i"), array("d")  # arrays grow where they are: no copy
        for block in self._blocks(rows):
            documents, own_places, own_values = weigh(block, columns, factors, "tfidf")
            sizes.append(np.bincount(documents, minlength=block.indptr.size - 1))
            places.frombytes(own_places.astype(np.int32).tobytes())
            values.frombytes(own_values.tobytes())
        bounds = np.cumsum(np.concatenate(sizes)).astype(np.int32)
        entries = np.frombuffer(values, dtype=np.float64), np.frombuffer(places, dtype=np.int32), bounds
        features = csr_array(entries, shape=(rows.size, columns.size))

        def learn(penalty: float) -> ScoreChannel:
            machine = LinearSVC(C=penalty, dual=True, tol=_TOLERANCE, max_iter=_MOST_ITERATIONS, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the calibration sees what comes out
                machine.fit(features, codes, sample_weight=weights)
            return ScoreChannel("tfidf", columns, factors, *every_class(machine, self.n_classes))

        return learn

    def _blocks(self, rows: NDArray[np.intp]) -> Iterator[CountedTerms]:
        return (self.counted(rows[start : start + _BLOCK]) for start in range(0, rows.size, _BLOCK))

    def _terms(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Choose the terms of the most documents, and compute their inverse document frequencies."""
        weights = self.weights[rows]
        gathered = array("q")
        for block in self._blocks(rows):
            gathered.frombytes(block.indices.astype(np.int64).tobytes())
        every = np.frombuffer(gathered, dtype=np.int64)
        if (weights == 1).all():  # as it is nearly always: without arrays of places and weights
            every.sort()
            first = np.flatnonzero(np.append(True, every[1:] != every[:-1])[: every.size])
            frequencies = np.diff(first, append=every.size)
            kept = _most_frequent(frequencies)
            columns, frequencies = every[first[kept]], frequencies[kept]
        else:
            sizes = np.concatenate([np.diff(block.indptr) for block in self._blocks(rows)])
            columns, places = np.unique(every, return_inverse=True)
            frequencies = np.bincount(places, np.repeat(weights, sizes), columns.size)
            kept = _most_frequent(frequencies)
            columns, frequencies = columns[kept], frequencies[kept]
        factors = 1 + np.log((1 + weights.sum()) / (1 + frequencies))  # as scikit-learn does
        return columns, factors.astype(np.float32)


def _most_frequent(frequencies: NDArray[Any]) -> NDArray[np.intp]:
    """Find the places, ascending, of the largest frequencies, `MOST_TERMS` at most; of equal ones, the first."""
    n_others = frequencies.size - MOST_TERMS
    if n_others <= 0:
        return np.arange(frequencies.size)
    least = np.partition(frequencies, n_others)[n_others]
    kept = frequencies > least
    kept[np.flatnonzero(frequencies == least)[: MOST_TERMS - np.count_nonzero(kept)]] = True
    return np.flatnonzero(kept)


def every_class(machine: Any, n_classes: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights and intercepts of all classes; the score of one without documents is always minus one."""
    weights, intercepts = machine.coef_.T, machine.intercept_
    if len(machine.classes_) == 2:
        weights, intercepts = weights * [-0.5, 0.5], intercepts * [-0.5, 0.5]
    if len(machine.classes_) == n_classes:
        return weights.astype(np.float32), intercepts.astype(np.float32)
    every = np.zeros((weights.shape[0], n_classes), dtype=np.float32)
    constants = np.full(n_classes, -1.0, dtype=np.float32)
    every[:, machine.classes_], constants[machine.classes_] = weights, intercepts
    return every, constants
