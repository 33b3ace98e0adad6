"""How neighbours decide: each vote turns their labels into class probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["distance_vote", "fallback_vote", "majority_vote", "vote_temperature"]


def majority_vote(labels: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Give every neighbour the same say.

    Parameters
    ----------
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of each query's neighbours, nearest first.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Shares of the neighbours' classes; rows sum to one.

    Examples
    --------
    >>> majority_vote(np.array([[0, 1, 1, 1]]), n_classes=2)
    array([[0.25, 0.75]])
    """
    return _weighted_shares(labels, np.ones(labels.shape), n_classes)


def fallback_vote(labels: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Let fewer and fewer neighbours vote until one class has more than half: the rule of the paper.

    Parameters
    ----------
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of each query's neighbours, nearest first.
    n_classes : int
        Number of classes.

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
    k = labels.shape[1]
    while open_rows.size:
        shares[open_rows] = majority_vote(labels[open_rows, :k], n_classes)
        open_rows = open_rows[shares[open_rows].max(axis=1) <= 0.5] if k > 1 else open_rows[:0]
        k = max(k - 2, 1)
    return shares


def distance_vote(
    labels: NDArray[np.intp], distances: NDArray[np.float64], n_classes: int, temperature: float
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

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Weighted shares of the classes; rows sum to one.

    Examples
    --------
    >>> distance_vote(np.array([[0, 1]]), np.array([[1.0, 2.0]]), n_classes=2, temperature=1.0).round(3)
    array([[0.731, 0.269]])
    """
    weights = np.exp(-(distances - distances[:, :1]) / temperature)
    return _weighted_shares(labels, weights, n_classes)


def vote_temperature(distances: NDArray[np.float64], resolution: float) -> float:
    """Choose the temperature of `distance_vote` from typical distances.

    Parameters
    ----------
    distances : ndarray of shape (n_documents, k)
        Distances of documents to their k nearest others, ascending.
    resolution : float
        Returned where all of a document's neighbours are equally far; the smallest step between distances.

    Returns
    -------
    float
        Half the median difference between the last and the first neighbour's distance.

    Examples
    --------
    >>> vote_temperature(np.array([[1.0, 2.0, 5.0], [1.0, 1.0, 3.0]]), resolution=1e-8)
    1.5
    """
    spread = distances[:, -1] - distances[:, 0] if distances.shape[1] else np.zeros(0)
    return max(float(np.median(spread)) / 2 if spread.size else 0.0, resolution)


def _weighted_shares(labels: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Add up the neighbours' weights by class and divide by their sum."""
    n_queries = labels.shape[0]
    cells = labels + n_classes * np.arange(n_queries)[:, None]
    sums = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=n_queries * n_classes)
    shares = sums.reshape(n_queries, n_classes)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
