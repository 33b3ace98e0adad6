"""Learning the scores of the channel of word vectors: logistic regression on the mean vector of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.compute.threads import cached_property
from treewass.votes.channels import CountedTerms, ScoreChannel, TermsOf, weigh
from treewass.votes.linear_scores import every_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["VectorScores"]

_MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class VectorScores:
    r"""Learn the scores of a `ScoreChannel` by logistic regression on mean word vectors.

    Vectors are brought to length one, and a document's words weighed by their inverse document frequency. With the
    mean :math:`\mu` of the training documents and the root :math:`\sigma` of their mean squared distance from it, the
    score of word w for class c is :math:`(v_w - \mu) \cdot B_c / \sigma + b_c`, and that of a document is the weighed
    mean over its words. So a document without a vector has the score zero for every class.

    Parameters
    ----------
    counted : callable
        Counts the words of training documents, by their rows.
    codes : ndarray of int, shape (n_documents,)
        Their class numbers.
    n_classes : int
        Number of classes; one that is not among the documents learned from gets the score minus one.
    weights : ndarray of shape (n_documents,)
        A document of weight two counts as two.
    vectors : ndarray of shape (n_words, n_dimensions)
        The words' vectors, zero for a word without one.

    Examples
    --------
    >>> from functools import partial
    >>> from treewass.votes.channels import TermRows, select_rows
    >>> counted = partial(select_rows, TermRows.of([([0], [1]), ([1], [1])]))
    >>> vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.9]])
    >>> learner = VectorScores(counted, np.array([0, 1]), 2, np.ones(2), vectors)
    >>> learner.prepare(np.arange(2))(1.0).scores(TermRows.of([([2], [1])])).argmax(axis=1)
    array([1])
    """

    counted: TermsOf
    codes: NDArray[np.intp]
    n_classes: int
    weights: NDArray[np.float64]
    vectors: NDArray[np.floating]
    name: str = "vectors"

    @cached_property
    def _directions(self) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
        """The words with a vector, and their vectors of length one."""
        lengths = np.linalg.norm(self.vectors, axis=1)
        columns = np.flatnonzero(lengths > 0)
        return columns, self.vectors[columns] / lengths[columns, None]

    @cached_property
    def _used_directions(self) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
        """The same for the words of the documents: a channel of some of these is asked about others of them alone."""
        columns, directions = self._directions
        kept = np.isin(columns, self.counted(np.arange(self.codes.size)).indices)
        return columns[kept], directions[kept]

    def prepare(self, rows: NDArray[np.intp]) -> Callable[[float], ScoreChannel]:
        """Make a function that learns scores from these documents, at least two of them of different classes."""
        from scipy.sparse import csr_array
        from sklearn.linear_model import LogisticRegression

        columns, directions = self._directions if rows.size == self.codes.size else self._used_directions
        counted, weights = self.counted(rows), self.weights[rows]
        factors = _inverse_frequencies(counted, weights, len(self.vectors))[columns]
        documents, places, values = weigh(counted, columns, factors, "mean")
        bounds = np.searchsorted(documents, np.arange(rows.size + 1))
        means = csr_array((values, places, bounds), shape=(rows.size, columns.size)) @ directions
        held = np.diff(bounds) > 0
        center, scale = _center_and_scale(means[held], weights[held])
        features = np.where(held[:, None], (means - center) / scale, 0.0)

        def learn(penalty: float) -> ScoreChannel:
            machine = LogisticRegression(C=penalty, max_iter=_MOST_ITERATIONS)
            machine.fit(features, self.codes[rows], weights)
            slopes, constants = every_class(machine.classes_, machine.coef_.T, machine.intercept_, self.n_classes)
            scores = (directions - center) @ (slopes / scale) + constants
            nothing = np.zeros(self.n_classes, dtype=np.float32)
            return ScoreChannel("mean", columns, factors, scores.astype(np.float32), nothing)

        return learn


def _center_and_scale(means: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Compute the weighted mean of rows and the root of their mean squared distance from it; zero and one if none."""
    if not weights.size:
        return np.zeros(means.shape[1]), 1.0
    center = np.average(means, axis=0, weights=weights)
    spread = float(np.average(((means - center) ** 2).sum(axis=1), weights=weights))
    return center, spread**0.5 or 1.0


def _inverse_frequencies(counted: CountedTerms, weights: NDArray[np.float64], n_words: int) -> NDArray[np.float32]:
    """Compute inverse document frequencies as scikit-learn does; a word of no document has the largest."""
    frequencies = np.bincount(counted.indices, np.repeat(weights, np.diff(counted.indptr)), n_words)
    return np.asarray(1 + np.log((1 + weights.sum()) / (1 + frequencies)), dtype=np.float32)
