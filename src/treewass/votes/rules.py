"""How neighbours decide: each vote turns their labels into class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from treewass.votes.pooled_vote import PooledVote

__all__ = [
    "VOTES",
    "NeighborVote",
    "distance_vote",
    "fallback_vote",
    "first_of_weight",
    "majority_vote",
    "vote_temperature",
]

VOTES = ("distance", "fallback", "majority")


def majority_vote(
    labels: NDArray[np.intp], n_classes: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Give every neighbour the same say.

    Parameters
    ----------
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of each query's neighbours, nearest first.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_queries, k), optional
        How many documents each neighbour counts as, one by default.

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Shares of the neighbours' classes; rows sum to one.

    Examples
    --------
    >>> majority_vote(np.array([[0, 1, 1, 1]]), n_classes=2)
    array([[0.25, 0.75]])
    """
    return _weighted_shares(labels, np.ones(labels.shape) if weights is None else weights, n_classes)


def fallback_vote(
    labels: NDArray[np.intp], n_classes: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Let fewer and fewer neighbours vote until one class has more than half: the rule of the paper.

    Parameters
    ----------
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of each query's neighbours, nearest first.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_queries, k), optional
        How many documents each neighbour counts as, one by default.

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Shares of the classes among the k, k − 2, … neighbours that first gave a class more than half; the
        nearest neighbour decides alone if none did.

    Examples
    --------
    >>> fallback_vote(np.array([[2, 1, 1, 0, 0]]), n_classes=3).round(2)
    array([[0.  , 0.67, 0.33]])
    """
    shares = np.zeros((labels.shape[0], n_classes))
    open_rows = np.arange(labels.shape[0])
    weights = np.ones(labels.shape) if weights is None else weights
    k = int(np.ceil(weights.sum(axis=1).max(initial=0)))
    while open_rows.size:
        shares[open_rows] = majority_vote(labels[open_rows], n_classes, first_of_weight(weights[open_rows], k))
        open_rows = open_rows[shares[open_rows].max(axis=1) <= 0.5] if k > 1 else open_rows[:0]
        k = max(k - 2, 1)
    return shares


def distance_vote(
    labels: NDArray[np.intp],
    distances: NDArray[np.float64],
    n_classes: int,
    temperature: float,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Let neighbours count less the farther they are, compared with the nearest one.

    Parameters
    ----------
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of each query's neighbours, nearest first.
    distances : ndarray of shape (n_queries, k)
        Their distances, ascending.
    n_classes : int
        Number of classes.
    temperature : float
        A neighbour at distance d has the weight ``exp(-(d - d_nearest) / temperature)``.
    weights : ndarray of shape (n_queries, k), optional
        How many documents each neighbour counts as, one by default.

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Weighted shares of the classes; rows sum to one.

    Examples
    --------
    >>> distance_vote(np.array([[0, 1]]), np.array([[1.0, 2.0]]), n_classes=2, temperature=1.0).round(3)
    array([[0.731, 0.269]])
    """
    nearness = np.exp(-(distances - distances[:, :1]) / temperature)
    return _weighted_shares(labels, nearness if weights is None else nearness * weights, n_classes)


def first_of_weight(weights: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """Cut weights of neighbours, shape (n_queries, k), so that the nearest add up to `most` or less.

    A document of weight two takes the places of two.

    Examples
    --------
    >>> first_of_weight(np.array([[1.0, 2.0, 2.0, 1.0]]), 4)
    array([[1., 2., 1., 0.]])
    """
    before = np.cumsum(weights, axis=1) - weights
    return np.clip(most - before, 0.0, weights)


def vote_temperature(
    distances: NDArray[np.float64],
    resolution: float,
    weights: NDArray[np.float64] | None = None,
    document_weights: NDArray[np.float64] | None = None,
) -> float:
    """Choose the temperature of `distance_vote`: half the median spread of the neighbours' distances.

    The distances are those of documents to their nearest others, ascending, shape (n_documents, k), and the weights
    those of the neighbours, and of the documents, one by default. Neighbours of weight zero are passed over. The
    temperature is never below `resolution`, the smallest step between distances.
    """
    weights = np.ones(distances.shape) if weights is None else weights
    heard = np.flatnonzero((weights > 0).any(axis=1))
    if not heard.size:
        return resolution
    ordered, some = distances[heard], weights[heard] > 0
    rows, last = np.arange(heard.size), some.shape[1] - 1 - some[:, ::-1].argmax(axis=1)
    spread = ordered[rows, last] - ordered[rows, some.argmax(axis=1)]
    counts = np.ones(heard.size) if document_weights is None else document_weights[heard]
    return max(_median(spread, counts) / 2, resolution)


def _median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Compute the median of values, each of which counts as often as its weight says."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    middle = [np.searchsorted(total, total[-1] / 2, side=side).clip(max=order.size - 1) for side in ("left", "right")]
    return float(values[order[middle]].mean())


@dataclass(frozen=True, slots=True)
class NeighborVote:
    """How neighbours decide, as one of `VOTES`.

    The temperature belongs to the distance vote, and so does the pool that calibrates it. The prior holds the class
    shares, shape (n_classes,): they answer where there are no neighbours.
    """

    kind: str
    n_neighbors: int
    prior: NDArray[np.float64]
    temperature: float
    pool: PooledVote | None = None

    def probabilities(
        self,
        labels: NDArray[np.intp],
        distances: NDArray[np.float64],
        scores: Sequence[NDArray[np.float64]] = (),
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compute class probabilities, shape (n_queries, n_classes); rows sum to one.

        The neighbours' class numbers and distances have shape (n_queries, k), nearest first. Each channel that the pool
        listens to gives scores, shape (n_queries, n_classes). The neighbours' weights, one by default, say how many
        documents each counts as; those beyond `n_neighbors` are not heard.
        """
        weights = self.heard(weights)
        if not labels.shape[1]:
            return np.tile(self.prior, (labels.shape[0], 1))
        if self.pool is not None:
            return self.pool.probabilities(labels, distances, scores, weights)
        if self.kind == "distance":
            return distance_vote(labels, distances, self.prior.size, self.temperature, weights)
        vote = fallback_vote if self.kind == "fallback" else majority_vote
        return vote(labels, self.prior.size, weights)

    def heard(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Cut the weights of neighbours, nearest first, where they are more than `n_neighbors` documents."""
        return None if weights is None else first_of_weight(weights, self.n_neighbors)


def _weighted_shares(labels: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Add up the neighbours' weights by class and divide by their sum."""
    n_queries = labels.shape[0]
    cells = labels + n_classes * np.arange(n_queries)[:, None]
    sums = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=n_queries * n_classes)
    shares = sums.reshape(n_queries, n_classes)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
