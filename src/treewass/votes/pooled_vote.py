"""Distance votes of several widths, and any number of channels, pooled into calibrated class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treewass.votes.rules import distance_vote

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PULL", "WIDTHS", "LogParts", "PooledVote", "Pull", "fit_pool"]

WIDTHS = (0.5, 1.0, 2.0)  # times the temperature: votes that listen to near, more and most neighbours
_PRIOR_SHARE = 0.02  # of every vote: no class is impossible because none of the neighbours has it
_LEAST_WEIGHT, _MOST_WEIGHT = 0.05, 10.0  # however few documents say so, neighbours are listened to
_MOST_CHANNEL_WEIGHT = 50.0
_MOST_SCALE = 2.0  # of all weights together
_FEW = 200  # documents, of which some labels are doubted


class Pull(NamedTuple):
    """How strongly weights are drawn towards those of the plain vote: so many documents' worth; and what is doubted."""

    votes: float = 1.0
    prior: float = 20.0  # towards the sum of the votes' weights, where class shares say nothing beyond the votes
    channels: float = 0.0125  # scores are about one, and weights of channels larger than those of votes
    doubt: float = 0.2  # the share of labels that may be wrong where there are hardly any; none of 200 documents


PULL = Pull()


class LogParts(NamedTuple):
    """What adds up to the logarithm of each class's probability, but for a constant of each document.

    Neighbours and each channel have shape (n_queries, n_classes), the prior has shape (n_classes,).
    """

    neighbors: NDArray[np.float64]
    channels: tuple[NDArray[np.float64], ...]
    prior: NDArray[np.float64]

    def total(self) -> NDArray[np.float64]:
        """Add them up, shape (n_queries, n_classes)."""
        return np.asarray(sum(self.channels, self.neighbors) + self.prior)


@dataclass(frozen=True, slots=True)
class PooledVote:
    r"""Turns neighbours and the scores of channels into probabilities.

    :math:`\log p_c = \gamma \log \pi_c + \sum_t \alpha_t \log (v_{tc} / \pi_c) + \sum_j \delta_j s_{jc} - \log Z`,
    where :math:`v_t` is the distance vote at the t-th temperature, mixed with two per cent of the class shares
    :math:`\pi`, and :math:`s_j` holds the scores of the j-th `ScoreChannel`.

    The class shares are positive, and all weights zero or more.
    """

    prior: NDArray[np.float64]  # pi
    temperatures: tuple[float, ...]
    weights: tuple[float, ...]  # alpha
    prior_weight: float = 1.0  # gamma
    channel_weights: tuple[float, ...] = ()  # delta

    def probabilities(
        self,
        labels: NDArray[np.intp],
        distances: NDArray[np.float64],
        scores: Sequence[NDArray[np.float64]] = (),
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compute class probabilities, as `NeighborVote.probabilities` does."""
        return _softmax(self.parts(labels, distances, scores, weights).total())

    def parts(
        self,
        labels: NDArray[np.intp],
        distances: NDArray[np.float64],
        scores: Sequence[NDArray[np.float64]] = (),
        weights: NDArray[np.float64] | None = None,
    ) -> LogParts:
        """Return what neighbours, channels and prior add to the logarithm of each class's probability."""
        return LogParts(
            self.evidence(labels, distances, weights) @ np.array(self.weights),
            tuple(weight * score for weight, score in zip(self.channel_weights, scores, strict=True)),
            self.prior_weight * np.log(self.prior),
        )

    def evidence(
        self, labels: NDArray[np.intp], distances: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Compute the logarithm of each vote over the class shares, shape (n_queries, n_classes, n_votes)."""
        votes = [distance_vote(labels, distances, self.prior.size, scale, weights) for scale in self.temperatures]
        mixed = (1 - _PRIOR_SHARE) * np.stack(votes, axis=2) + _PRIOR_SHARE * self.prior[:, None]
        return np.asarray(np.log(mixed / self.prior[:, None]))


def fit_pool(
    prior: NDArray[np.float64],
    temperature: float,
    labels: NDArray[np.intp],
    distances: NDArray[np.float64],
    truth: NDArray[np.intp],
    scores: Sequence[NDArray[np.float64]] = (),
    weights: NDArray[np.float64] | None = None,
    neighbor_weights: NDArray[np.float64] | None = None,
    pull: Pull = PULL,
) -> tuple[PooledVote, float]:
    """Choose the weights that make held-out documents most probable; a plain distance vote if there are none.

    Neighbours' class numbers and distances have shape (n_queries, k), nearest first, and `truth` holds the queries' own
    class numbers. Each channel gives scores of shape (n_queries, n_classes). The temperatures of the votes are `WIDTHS`
    times the one given. The fewer documents there are, the closer `pull` keeps the weights to those of the plain vote.
    Of few documents some labels are doubted, so that no wrong one decides how weights compare; how large all of them
    are is then chosen without doubt. Returned with the vote is what was minimised first: the log-loss and that pull.
    Weights, one by default, say how many documents a query counts as, shape (n_queries,), and how many a neighbour,
    shape (n_queries, k).
    """
    from scipy.optimize import minimize, minimize_scalar

    temperatures = tuple(width * temperature for width in WIDTHS)
    plain = np.array([float(width == 1) for width in WIDTHS] + [0.0] * len(scores) + [1.0])
    evidence_of = PooledVote(prior, temperatures, tuple(plain[: len(WIDTHS)])).evidence

    def vote(values: NDArray[np.float64]) -> PooledVote:
        alpha, delta = values[: len(WIDTHS)].tolist(), values[len(WIDTHS) : -1].tolist()
        return PooledVote(prior, temperatures, tuple(alpha), float(values[-1]), tuple(delta))

    if not truth.size:
        return vote(plain), 0.0
    log_prior = np.broadcast_to(np.log(prior), (truth.size, prior.size))
    addends = np.dstack([evidence_of(labels, distances, neighbor_weights), *scores, log_prior])
    counted = np.ones(truth.size) if weights is None else weights
    loss = _HeldOutLoss(addends, truth, prior, counted, plain, pull)
    start = np.array([1 / len(WIDTHS)] * len(WIDTHS) + [1.0] * (len(scores) + 1))
    bounds = [(_LEAST_WEIGHT, _MOST_WEIGHT)] * len(WIDTHS) + [(0.0, _MOST_CHANNEL_WEIGHT)] * len(scores)
    bounds.append((_LEAST_WEIGHT, _MOST_WEIGHT))
    doubted = pull.doubt * max(0.0, 1 - float(counted.sum()) / _FEW)
    found = minimize(loss, start, args=(doubted,), jac=True, method="L-BFGS-B", bounds=bounds)
    if not doubted:
        return vote(found.x), float(found.fun)
    scales = min(1.0, _LEAST_WEIGHT / found.x[: len(WIDTHS)].sum()), _MOST_SCALE
    scale = minimize_scalar(lambda scale: loss(scale * found.x)[0], bounds=scales, method="bounded").x
    return vote(scale * found.x), float(found.fun)


@dataclass(frozen=True, slots=True)
class _HeldOutLoss:
    """The log-loss of held-out documents, and what pulls weights towards those of the plain vote; with its gradient.

    Of the labels, `doubted` is the share that is taken for anyone's, drawn by the class shares.
    """

    addends: NDArray[np.float64]  # (n_queries, n_classes, n_weights): what weights are of
    truth: NDArray[np.intp]
    prior: NDArray[np.float64]
    counted: NDArray[np.float64]  # how many documents each counts as
    plain: NDArray[np.float64]
    pull: Pull

    def __call__(self, values: NDArray[np.float64], doubted: float = 0.0) -> tuple[float, NDArray[np.float64]]:
        queries, votes, n_documents = np.arange(self.truth.size), slice(len(WIDTHS)), self.counted.sum()
        shares = self.counted / n_documents
        probabilities = _softmax(self.addends @ values)
        believed = (1 - doubted) * probabilities[queries, self.truth]
        chosen = np.maximum(believed + doubted * self.prior[self.truth], np.finfo(float).tiny)
        heard = shares * (believed / chosen) if doubted else shares
        change = probabilities * heard[:, None]
        change[queries, self.truth] -= heard
        n_channels = values.size - len(WIDTHS) - 1
        strengths = np.array([self.pull.votes] * len(WIDTHS) + [self.pull.channels] * n_channels + [0.0]) / n_documents
        prior_strength = self.pull.prior / n_documents
        pulled = strengths * (values - self.plain)
        beyond = values[-1] - values[votes].sum()  # how much the prior says beyond what it says in the votes
        penalty = pulled @ (values - self.plain) / 2 + prior_strength * beyond**2 / 2
        gradient = np.einsum("qc,qcv->v", change, self.addends) + pulled
        gradient[votes] -= prior_strength * beyond
        gradient[-1] += prior_strength * beyond
        return float(-shares @ np.log(chosen) + penalty), gradient


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
