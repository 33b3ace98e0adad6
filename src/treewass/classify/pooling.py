"""Distance votes of several widths, pooled into calibrated class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.classify.votes import distance_vote

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WIDTHS", "PooledVote", "fit_pool"]

WIDTHS = (0.5, 1.0, 2.0)  # times the temperature: votes that listen to near, more and most neighbours
_PRIOR_SHARE = 0.02  # of every vote: no class is impossible because none of the neighbours has it
_PENALTY = 1e-3
_LEAST_WEIGHT, _MOST_WEIGHT = 0.05, 10.0  # however few documents say so, neighbours are listened to


@dataclass(frozen=True, slots=True)
class PooledVote:
    r"""Turns neighbours into probabilities: a weighted geometric mean of votes, and of the class shares.

    :math:`p_c \propto \pi_c^{\gamma} \prod_t \left(v_{tc} / \pi_c\right)^{\alpha_t}`, where :math:`v_t` is the
    distance vote at the t-th temperature, mixed with two per cent of the class shares :math:`\pi`.

    Parameters
    ----------
    prior : ndarray of shape (n_classes,)
        Class shares; none is zero.
    temperatures : tuple of float
        Of the votes.
    weights : tuple of float
        Of the votes, zero or more.
    prior_weight : float, default=1.0
        Of the class shares.

    Examples
    --------
    >>> pool = PooledVote(np.array([0.5, 0.5]), (1.0,), (1.0,))
    >>> pool.probabilities(np.array([[0, 0]]), np.array([[0.0, 1.0]]))
    array([[0.99, 0.01]])
    """

    prior: NDArray[np.float64]  # pi
    temperatures: tuple[float, ...]
    weights: tuple[float, ...]  # alpha
    prior_weight: float = 1.0  # gamma

    def probabilities(self, labels: NDArray[np.intp], distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute class probabilities from the neighbours' class numbers and distances, nearest first.

        Parameters
        ----------
        labels : ndarray of int, shape (n_queries, k)
        distances : ndarray of shape (n_queries, k)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to one.
        """
        evidence = self.evidence(labels, distances)
        return _softmax(evidence @ np.array(self.weights) + self.prior_weight * np.log(self.prior))

    def evidence(self, labels: NDArray[np.intp], distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the logarithm of each vote over the class shares, shape (n_queries, n_classes, n_votes)."""
        votes = [distance_vote(labels, distances, self.prior.size, scale) for scale in self.temperatures]
        mixed = (1 - _PRIOR_SHARE) * np.stack(votes, axis=2) + _PRIOR_SHARE * self.prior[:, None]
        return np.asarray(np.log(mixed / self.prior[:, None]))


def fit_pool(
    prior: NDArray[np.float64],
    temperature: float,
    labels: NDArray[np.intp],
    distances: NDArray[np.float64],
    truth: NDArray[np.intp],
) -> PooledVote:
    """Choose the weights that make documents outside the training most probable.

    Parameters
    ----------
    prior : ndarray of shape (n_classes,)
        Class shares.
    temperature : float
        Scale of distances; the votes' temperatures are half of it, itself and twice as much.
    labels : ndarray of int, shape (n_queries, k)
        Class numbers of the queries' neighbours, nearest first.
    distances : ndarray of shape (n_queries, k)
        Their distances.
    truth : ndarray of int, shape (n_queries,)
        The queries' own class numbers.

    Returns
    -------
    PooledVote
        Plain where there are no queries.
    """
    from scipy.optimize import minimize

    temperatures = tuple(width * temperature for width in WIDTHS)
    plain = PooledVote(prior, temperatures, tuple(float(width == 1) for width in WIDTHS))
    if not truth.size:
        return plain
    evidence, log_prior = plain.evidence(labels, distances), np.log(prior)
    queries = np.arange(truth.size)

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        probabilities = _softmax(evidence @ values[:-1] + values[-1] * log_prior)
        chosen = np.maximum(probabilities[queries, truth], np.finfo(float).tiny)
        change = probabilities / truth.size
        change[queries, truth] -= 1 / truth.size
        gradient = np.append(np.einsum("qc,qcv->v", change, evidence), (change * log_prior).sum())
        penalty = _PENALTY * np.append(values[:-1], 0.0)
        return float(-np.log(chosen).mean() + penalty @ values / 2), gradient + penalty

    start = np.append(np.full(len(WIDTHS), 1 / len(WIDTHS)), 1.0)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(_LEAST_WEIGHT, _MOST_WEIGHT)] * start.size)
    return PooledVote(prior, temperatures, tuple(map(float, found.x[:-1])), float(found.x[-1]))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
