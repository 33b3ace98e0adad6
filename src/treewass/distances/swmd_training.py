"""Training the supervised word mover's distance: batches, steps, and a look at documents held out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treewass.distances.swmd_loss import (
    LabelledDocuments,
    SwmdMetric,
    TransportSettings,
    batch_distances,
    batch_gradient,
    mean_loss,
    nearest_centroids,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SwmdRecord", "SwmdState", "TrainingSettings", "train"]

_LEAST_WEIGHT, _MOST_WEIGHT = 0.01, 10.0
_MOMENTUM, _SECOND_MOMENTUM, _TINY = 0.9, 0.99, 1e-8
_EVALUATE_EVERY = 10
_logger = logging.getLogger("treewass")


@dataclass(frozen=True, slots=True)
class SwmdRecord:
    """What a step of training reports.

    Parameters
    ----------
    step : int
        Counted from one.
    loss : float
        Mean loss of the batch, before the step.
    held_out_loss : float or None
        Mean loss of the documents held out, after every tenth step.
    """

    step: int
    loss: float
    held_out_loss: float | None


@dataclass(slots=True)
class SwmdState:
    """All that training carries from step to step.

    Parameters
    ----------
    metric, best : SwmdMetric
        The metric so far, and that of the least held-out loss.
    first, second : SwmdMetric
        Moving averages of the gradient and of its square.
    best_loss : float or None
        Held-out loss of `best`; None before it has been measured.
    records : list of SwmdRecord
        One for each step.
    """

    metric: SwmdMetric
    best: SwmdMetric
    first: SwmdMetric
    second: SwmdMetric
    best_loss: float | None = None
    records: list[SwmdRecord] = field(default_factory=list)

    @classmethod
    def at(cls, metric: SwmdMetric) -> SwmdState:
        """Start from a metric."""
        zeros = SwmdMetric(np.zeros_like(metric.linear_map), np.zeros_like(metric.log_weights))
        return cls(metric, metric, zeros, zeros)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to train.

    Parameters
    ----------
    max_iter, batch_size, neighborhood : int
        Steps, documents a step, and documents that each is compared with.
    learning_rate, map_scale : float
        Step of the optimiser for the logarithms of the weights; times the scale, for the linear map.
    transport : TransportSettings
        How precisely transport is solved.
    seed : int
        Chooses the batches.
    n_jobs : int or None
        Threads.
    """

    max_iter: int
    batch_size: int
    neighborhood: int
    learning_rate: float
    map_scale: float
    transport: TransportSettings
    seed: int
    n_jobs: int | None


def train(
    documents: LabelledDocuments,
    state: SwmdState,
    rows: NDArray[np.intp],
    held_out: NDArray[np.intp],
    settings: TrainingSettings,
    report: Callable[[SwmdState], None],
) -> SwmdMetric:
    """Take steps until there are enough; an interrupt from the keyboard ends them too.

    Parameters
    ----------
    documents : LabelledDocuments
        All documents.
    state : SwmdState
        Where to start; changed step by step.
    rows, held_out : ndarray of int
        Documents to learn from, and documents that choose the best metric; there may be none of the latter.
    settings : TrainingSettings
        How.
    report : callable
        Told the state after each step.

    Returns
    -------
    SwmdMetric
        That of the least held-out loss, or the last one where nothing was held out.
    """
    try:
        if state.best_loss is None:
            _evaluate(documents, state, rows, held_out, settings)
        while len(state.records) < settings.max_iter:
            _step(documents, state, rows, held_out, settings)
            report(state)
        if len(state.records) % _EVALUATE_EVERY:
            _evaluate(documents, state, rows, held_out, settings)
    except KeyboardInterrupt:
        _logger.warning("training interrupted after %d steps; the best metric so far is kept", len(state.records))
    return state.best if held_out.size else state.metric


def _step(
    documents: LabelledDocuments,
    state: SwmdState,
    rows: NDArray[np.intp],
    held_out: NDArray[np.intp],
    settings: TrainingSettings,
) -> None:
    """Take one step of Adam; everything that a step draws at random depends on its number alone."""
    step = len(state.records) + 1
    chosen = np.random.default_rng([settings.seed, step]).permutation(rows.size)[: settings.batch_size]
    batch = rows[np.sort(chosen)]
    neighbors = nearest_centroids(documents, state.metric, batch, rows, settings.neighborhood)
    loss, gradient = batch_gradient(documents, state.metric, batch, neighbors, settings.transport, settings.n_jobs)
    first, second = _blended(state.first, gradient, _MOMENTUM, 1), _blended(state.second, gradient, _SECOND_MOMENTUM, 2)
    size = settings.learning_rate * np.sqrt(1 - _SECOND_MOMENTUM**step) / (1 - _MOMENTUM**step)
    linear_map = state.metric.linear_map - (size * settings.map_scale) * _direction(first.linear_map, second.linear_map)
    log_weights = state.metric.log_weights - size * _direction(first.log_weights, second.log_weights)
    metric = SwmdMetric(linear_map, np.clip(log_weights, np.log(_LEAST_WEIGHT), np.log(_MOST_WEIGHT)))
    state.metric, state.first, state.second = metric, first, second
    held_out_loss = None
    if step % _EVALUATE_EVERY == 0:
        held_out_loss = _evaluate(documents, state, rows, held_out, settings)
    state.records.append(SwmdRecord(step, loss, held_out_loss))
    _logger.info("step %d: loss %.4f, held-out loss %s", step, loss, held_out_loss)


def _evaluate(
    documents: LabelledDocuments,
    state: SwmdState,
    rows: NDArray[np.intp],
    held_out: NDArray[np.intp],
    settings: TrainingSettings,
) -> float | None:
    """Measure the loss of the documents held out, and keep the metric if it is the best so far."""
    if not held_out.size:
        return None
    neighbors = nearest_centroids(documents, state.metric, held_out, rows, settings.neighborhood)
    solving = (settings.transport, settings.n_jobs)
    distances = batch_distances(documents, state.metric, held_out, neighbors, *solving)
    loss = mean_loss(distances, documents.labels[neighbors] == documents.labels[held_out][:, None])
    if state.best_loss is None or loss < state.best_loss:
        state.best, state.best_loss = state.metric, loss
    return loss


def _blended(average: SwmdMetric, gradient: SwmdMetric, share: float, power: int) -> SwmdMetric:
    """Move an average towards a power of the gradient."""
    return SwmdMetric(
        share * average.linear_map + (1 - share) * gradient.linear_map**power,
        share * average.log_weights + (1 - share) * gradient.log_weights**power,
    )


def _direction(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(first / (np.sqrt(second) + _TINY))
