"""How closely a channel is fitted: chosen on held-out documents, together with the weights of the vote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treewass.votes.pooled_vote import PULL, PooledVote, Pull, fit_pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.classify.held_out import HeldOut
    from treewass.votes.channels import ScoreChannel
    from treewass.votes.linear_scores import ChannelLearner

__all__ = ["PENALTIES", "Calibration", "calibrate"]

PENALTIES = tuple(float(f"{10.0**power:.2g}") for power in np.arange(-2.0, 3.5, 0.5))  # 0.01, 0.032, …, 1000
_FIRST = PENALTIES.index(1.0)
_GAIN = 1e-3  # the share of the loss that another penalty must save


class Calibration(NamedTuple):
    """A vote fitted to held-out documents, the channels that it listens to, and their penalties."""

    vote: PooledVote
    channels: dict[str, ScoreChannel]
    penalties: dict[str, float]


def calibrate(
    prior: NDArray[np.float64],
    temperature: float,
    held: HeldOut,
    learners: Sequence[ChannelLearner] = (),
    pull: Pull = PULL,
) -> Calibration:
    """Fit the vote to held-out documents, with one channel after the other; without any, it is a plain vote.

    In each part a channel learns from the documents that the metric has learned from. Its penalty is chosen on the
    held-out documents; the channel returned has learned from all.
    """
    from threadpoolctl import threadpool_limits

    scores: list[NDArray[np.float64]] = []
    channels, penalties = {}, {}

    def fit(channel_scores: list[NDArray[np.float64]]) -> tuple[PooledVote, float]:
        held_out = held.labels, held.distances, held.truth
        return fit_pool(prior, temperature, *held_out, channel_scores, held.weights, held.neighbor_weights, pull)

    def choose(learner: ChannelLearner) -> tuple[float, PooledVote, NDArray[np.float64]]:
        parts = [(learner.prepare(others), learner.counted(queries)) for queries, others in held.parts]
        tried: dict[float, tuple[PooledVote, NDArray[np.float64]]] = {}

        def loss(penalty: float) -> float:
            new = np.concatenate([learn(penalty).scores(queries) for learn, queries in parts])
            pool, value = fit([*scores, new])
            tried[penalty] = pool, new
            return value

        best = walk(loss)
        return best, *tried[best]

    with threadpool_limits(1):  # sums in one order, whatever the number of cores; threads only wait for each other
        vote, _ = fit([])
        for learner in learners if held.parts else ():
            best, vote, new = choose(learner)
            scores.append(new)
            penalties[learner.name] = best
            channels[learner.name] = learner.prepare(np.arange(learner.codes.size))(best)
    return Calibration(vote, channels, penalties)


def walk(loss: Callable[[float], float]) -> float:
    """Go up or down the penalties, from the usual one, while the loss falls.

    Examples
    --------
    >>> walk(lambda penalty: (np.log10(penalty) - 1.1) ** 2)
    10.0
    """
    place, least = _FIRST, loss(PENALTIES[_FIRST])
    for step in (1, -1):
        while 0 <= place + step < len(PENALTIES):
            value = loss(PENALTIES[place + step])
            if value >= least * (1 - _GAIN):
                break
            place, least = place + step, value
        if place != _FIRST:
            break
    return PENALTIES[place]
