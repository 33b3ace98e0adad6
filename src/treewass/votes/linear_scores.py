"""Learning the scores of the linear channel: one-against-rest linear support vectors on TF-IDF."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treewass.votes.channels import CountedTerms, ScoreChannel, TermsOf, weigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Frequencies = tuple[NDArray[np.int64], NDArray[Any]]  # terms, ascending, and their frequencies

__all__ = ["MOST_TERMS", "ChannelLearner", "LinearScores", "every_class", "support_vectors"]

_BLOCK = 1 << 13  # documents weighed at a time
_ENTRIES = 1 << 18  # entries counted at a time
MOST_TERMS = 1 << 18
_TOLERANCE = 0.05  # a document of weight two is much like two documents; with twice as much, it was not
_MOST_PASSES = 20  # over the documents
_LEAST_COST = 1e-30  # one over it is a number in float32; a document that costs less changes nothing


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
        classes, codes = np.unique(self.codes[rows], return_inverse=True)
        columns, factors = self._terms(rows)
        features = self._weighed(rows, columns, factors)

        def learn(penalty: float) -> ScoreChannel:
            costs = penalty * self.weights[rows]
            found = support_vectors(features, codes, classes.size, columns.size, costs)
            return ScoreChannel("tfidf", columns, factors, *every_class(classes, *found, self.n_classes))

        return learn

    def _weighed(
        self, rows: NDArray[np.intp], columns: NDArray[np.int64], factors: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Weigh the terms of documents; return bounds, places and values of their rows."""
        sizes, places, values = [np.zeros(1, np.int64)], array("i"), array("f")  # arrays grow where they are: no copy
        for block in self._blocks(rows):
            documents, own_places, own_values = weigh(block, columns, factors, "tfidf")
            sizes.append(np.bincount(documents, minlength=block.indptr.size - 1))
            places.frombytes(own_places.astype(np.int32).tobytes())
            values.frombytes(own_values.astype(np.float32).tobytes())
        bounds = np.cumsum(np.concatenate(sizes))
        return bounds, np.frombuffer(places, dtype=np.int32), np.frombuffer(values, dtype=np.float32)

    def _blocks(self, rows: NDArray[np.intp]) -> Iterator[CountedTerms]:
        return (self.counted(rows[start : start + _BLOCK]) for start in range(0, rows.size, _BLOCK))

    def _terms(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Choose the terms of the most documents, and compute their inverse document frequencies."""
        weights = self.weights[rows]
        gathered, sizes = array("q"), [np.zeros(0, np.int64)]
        for block in self._blocks(rows):
            gathered.frombytes(block.indices.astype(np.int64).tobytes())
            sizes.append(np.diff(block.indptr))
        every = np.frombuffer(gathered, dtype=np.int64)
        if (weights == 1).all():  # as it is nearly always: without arrays of places and weights
            every.sort()
            columns, frequencies = _most_frequent(_counted_runs(every))
        else:
            terms, places = np.unique(every, return_inverse=True)
            weighed = np.bincount(places, np.repeat(weights, np.concatenate(sizes)), terms.size)
            columns, frequencies = _most_frequent([(terms, weighed)])
        factors = 1 + np.log((1 + weights.sum()) / (1 + frequencies))  # as scikit-learn does
        return columns, factors.astype(np.float32)


def _counted_runs(every: NDArray[np.int64]) -> Iterator[Frequencies]:
    """Count sorted terms, some at a time."""
    start = 0
    while start < every.size:
        stop = int(np.searchsorted(every, every[min(start + _ENTRIES, every.size) - 1], side="right"))
        yield np.unique(every[start:stop], return_counts=True)
        start = stop


def _most_frequent(counted: Iterable[Frequencies]) -> Frequencies:
    """Choose the terms of the largest frequencies, `MOST_TERMS` at most; of equal ones, the first.

    Terms ascend, from one pair of arrays to the next, too.
    """
    terms, frequencies = np.zeros(0, dtype=np.int64), np.zeros(0)
    for more, numbers in counted:
        terms, frequencies = np.append(terms, more), np.append(frequencies, numbers)
        kept = np.sort(np.argsort(-frequencies, kind="stable")[:MOST_TERMS])
        terms, frequencies = terms[kept], frequencies[kept]
    return terms, frequencies


def support_vectors(
    features: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]],
    codes: NDArray[np.intp],
    n_classes: int,
    n_terms: int,
    costs: NDArray[np.float64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    r"""Separate each class from the rest by dual coordinate ascent (Hsieh et al., ICML 2008).

    Minimises :math:`(\|w\|^2 + b^2) / 2 + \sum_i C_i \max(0, 1 - y_i (w \cdot x_i + b))^2` for each class, as
    scikit-learn's ``LinearSVC`` does, and stops after 20 passes over the documents or when the slopes of each class
    lie within 0.05. Features are read where they are, in float32, for all classes at a time; a number for each document
    and class is held.

    Parameters
    ----------
    features : tuple of ndarray
        Bounds, places and values of sparse rows, one for each document.
    codes : ndarray of int, shape (n_documents,)
        Class numbers from 0 to n_classes − 1.
    n_classes, n_terms : int
        Numbers of classes, at least two, and of terms.
    costs : ndarray of shape (n_documents,)
        C of each document.

    Returns
    -------
    weights : ndarray of shape (n_terms, n_columns)
    intercepts : ndarray of shape (n_columns,)
        A column for each class; of two classes, one column for the second.

    Examples
    --------
    >>> bounds, places = np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32)
    >>> rows = bounds, places, np.ones(2, dtype=np.float32)
    >>> support_vectors(rows, np.array([0, 1]), 2, 2, np.full(2, 100.0))[0].round(1)
    array([[-1.],
           [ 1.]], dtype=float32)
    """
    from treewass.votes.support_vector_kernels import ascend  # importing numba takes a moment

    own, n_columns = (codes - 1, 1) if n_classes == 2 else (codes, n_classes)  # the first of two has no column
    weights, intercepts = np.zeros((n_terms, n_columns), np.float32), np.zeros(n_columns, np.float32)
    duals = np.zeros((codes.size, n_columns), np.float32)
    slack = (0.5 / np.maximum(costs, _LEAST_COST)).astype(np.float32)
    random = np.random.RandomState(0)
    for _ in range(_MOST_PASSES):
        if ascend(features, own, slack, random.permutation(codes.size), duals, weights, intercepts) <= _TOLERANCE:
            break
    return weights, intercepts


def every_class(
    classes: NDArray[np.integer], weights: NDArray[np.floating], intercepts: NDArray[np.floating], n_classes: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Widen weights and intercepts of some classes to all; the score of one without documents is always minus one.

    Where two classes share a column, each gets half of its score.
    """
    if weights.shape[1] == 1:
        weights, intercepts = weights * [-0.5, 0.5], intercepts * [-0.5, 0.5]
    if classes.size == n_classes:
        return weights.astype(np.float32, copy=False), intercepts.astype(np.float32, copy=False)
    every = np.zeros((weights.shape[0], n_classes), dtype=np.float32)
    constants = np.full(n_classes, -1.0, dtype=np.float32)
    every[:, classes], constants[classes] = weights, intercepts
    return every, constants
