"""Training of the supervised word mover's distance: start, steps, validation, and a folder to resume from."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from treewass.distances.document_pairs import Floats, Integers
from treewass.distances.swmd_loss import (
    LabelledDocuments,
    SwmdMetric,
    TransportSettings,
    batch_distances,
    batch_gradient,
    mean_loss,
    nearest_centroids,
)
from treewass.storage.checkpoints import CheckpointFolder, checkpoint_kind

__all__ = ["SwmdCheckpoint", "SwmdRecord", "SwmdState", "SwmdTraining", "mean_cost", "scaled_start", "start_metric"]

_MOST_DOCUMENTS, _START_STEPS = 1000, 30  # that the start is learned from
_SCALES = 2.0 ** np.arange(-4, 5)
_LEAST_WEIGHT, _MOST_WEIGHT = 0.01, 10.0
_MOMENTUM, _SECOND_MOMENTUM, _TINY = 0.9, 0.99, 1e-8
_EVALUATE_EVERY = 10
_METRICS, _ARRAYS = ("metric", "best", "first", "second"), ("linear_map", "log_weights")
_KIND = checkpoint_kind("treewass S-WMD training", 2, "checkpoint.json")
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
    validation_loss : float or None
        Mean loss of the validation documents, after every tenth step.
    """

    step: int
    loss: float
    validation_loss: float | None


@dataclass(slots=True)
class SwmdState:
    """All that training carries from step to step.

    `best` is the metric of the least validation loss, which is None before it has been measured. `first` and `second`
    are moving averages of the gradient and of its square. There is one record for each step.
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
class SwmdTraining:
    """Documents to train with, and how.

    Of the documents, `rows` are learned from, and `validation_rows`, which may be none, choose the best metric.
    `learning_rate` is the step for the logarithms of the weights; times `map_scale` it is that for the linear map.
    """

    documents: LabelledDocuments
    rows: Integers
    validation_rows: Integers
    transport: TransportSettings
    max_iter: int
    batch_size: int
    neighborhood: int
    learning_rate: float
    map_scale: float
    seed: int

    def run(self, state: SwmdState, report: Callable[[SwmdState], None]) -> SwmdMetric:
        """Take steps until there are enough, or until an interrupt from the keyboard; report the state after each.

        Returned is the metric of the least validation loss, or the last one if there are no validation documents.
        """
        try:
            if state.best_loss is None:
                self._evaluate(state)
            while len(state.records) < self.max_iter:
                self._step(state)
                report(state)
            if len(state.records) % _EVALUATE_EVERY:
                self._evaluate(state)
        except KeyboardInterrupt:
            _logger.warning("training interrupted after %d steps; the best metric so far is kept", len(state.records))
        return state.best if self.validation_rows.size else state.metric

    def _step(self, state: SwmdState) -> None:
        """Take one step of Adam. All random choices of a step depend on its number alone."""
        step = len(state.records) + 1
        chosen = np.random.default_rng([self.seed, step]).permutation(self.rows.size)[: self.batch_size]
        batch = self.rows[np.sort(chosen)]
        neighbors = nearest_centroids(self.documents, state.metric, batch, self.rows, self.neighborhood)
        loss, gradient = batch_gradient(self.documents, state.metric, batch, neighbors, self.transport)
        size = self.learning_rate * np.sqrt(1 - _SECOND_MOMENTUM**step) / (1 - _MOMENTUM**step)
        by_map = _adam(state, gradient, "linear_map", size * self.map_scale)
        by_weights = _adam(state, gradient, "log_weights", size)
        log_weights = np.clip(by_weights[0], np.log(_LEAST_WEIGHT), np.log(_MOST_WEIGHT))
        state.metric = SwmdMetric(by_map[0], log_weights)
        state.first, state.second = SwmdMetric(by_map[1], by_weights[1]), SwmdMetric(by_map[2], by_weights[2])
        validation_loss = self._evaluate(state) if step % _EVALUATE_EVERY == 0 else None
        state.records.append(SwmdRecord(step, loss, validation_loss))
        _logger.info("step %d: loss %.4f, validation loss %s", step, loss, validation_loss)

    def _evaluate(self, state: SwmdState) -> float | None:
        """Measure the loss of the validation documents, and keep the metric if it is the best so far."""
        documents, rows = self.documents, self.validation_rows
        if not rows.size:
            return None
        neighbors = nearest_centroids(documents, state.metric, rows, self.rows, self.neighborhood)
        distances = batch_distances(documents, state.metric, rows, neighbors, self.transport)
        loss = mean_loss(distances, documents.labels[neighbors] == documents.labels[rows][:, None])
        if state.best_loss is None or loss < state.best_loss:
            state.best, state.best_loss = state.metric, loss
        return loss


def _adam(state: SwmdState, gradient: SwmdMetric, name: str, size: float) -> tuple[Floats, ...]:
    """Return the new values of a parameter, and the averages of its gradient and of the square."""
    value, first, second, slope = (
        getattr(metric, name) for metric in (state.metric, state.first, state.second, gradient)
    )
    first = _MOMENTUM * first + (1 - _MOMENTUM) * slope
    second = _SECOND_MOMENTUM * second + (1 - _SECOND_MOMENTUM) * slope**2
    return value - size * (first / (np.sqrt(second) + _TINY)), first, second


class SwmdCheckpoint:
    """The state of training in a folder: one file, replaced as a whole.

    The identity is a fingerprint of documents and settings. A folder with another training is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str) -> None:
        self._folder = CheckpointFolder(folder, _KIND, {"documents, vectors or settings": identity})

    def save(self, state: SwmdState) -> None:
        """Write the state. A crash at any moment leaves the one before or this one."""
        name = f"step-{len(state.records):08d}"
        arrays = {
            f"{metric}.{array}": getattr(getattr(state, metric), array) for metric in _METRICS for array in _ARRAYS
        }
        records = [asdict(record) for record in state.records]
        self._folder.save({"arrays": name, "best_loss": state.best_loss, "records": records}, {name: lambda: arrays})

    def load(self) -> SwmdState | None:
        """Read the state; None if there is none yet."""

        def restore(found: dict[str, Any], arrays: Callable[[str], dict[str, Any]]) -> SwmdState:
            stored = arrays(found["arrays"])
            metrics = {name: SwmdMetric(*(stored[f"{name}.{array}"].copy() for array in _ARRAYS)) for name in _METRICS}
            return SwmdState(
                **metrics, best_loss=found["best_loss"], records=[SwmdRecord(**r) for r in found["records"]]
            )

        state: SwmdState | None = self._folder.load(restore)
        return state


def start_metric(documents: LabelledDocuments, rows: Integers, n_components: int, seed: int) -> SwmdMetric:
    """Learn the linear map on the documents' centroids, by neighbourhood components analysis; all weights are one.

    The rows are of at least two classes. If there are more than a thousand, the map is learned from a thousand of them.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    n_words, n_dimensions = documents.vectors.shape
    metric = SwmdMetric(np.eye(n_dimensions), np.zeros(n_words))
    if rows.size > _MOST_DOCUMENTS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _MOST_DOCUMENTS, replace=False))
    centroids = metric.histograms(documents.counts[rows]) @ documents.vectors
    directions = np.linalg.svd(centroids - centroids.mean(axis=0))[2][:n_components]
    spread = float(np.sqrt(((centroids - centroids.mean(axis=0)) ** 2).sum(axis=1).mean()))
    if spread == 0.0:
        return SwmdMetric(directions, metric.log_weights)
    learner = NeighborhoodComponentsAnalysis(init=directions / spread, max_iter=_START_STEPS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learned = learner.fit(centroids, documents.labels[rows]).components_
    return SwmdMetric(np.ascontiguousarray(learned, dtype=np.float64), metric.log_weights)


def mean_cost(documents: LabelledDocuments, metric: SwmdMetric, rows: Integers) -> float:
    """Compute the mean squared distance between a word of one of the rows and a word of another."""
    points, histograms = metric.points(documents.vectors), metric.histograms(documents.counts[rows])
    squares = float((histograms @ (points**2).sum(axis=1)).mean())
    center = np.asarray(histograms @ points).mean(axis=0)
    return max(2.0 * (squares - float(center @ center)), 0.0)


def scaled_start(
    documents: LabelledDocuments, metric: SwmdMetric, rows: Integers, n_neighbors: int, settings: TransportSettings
) -> tuple[SwmdMetric, TransportSettings]:
    """Choose the scale of the linear map for which the loss of some rows is least; their neighbours are among them too.

    If no document has neighbours both of its class and of others, there is nothing to choose by. Then the median
    distance becomes one. The regularization is given as a share of the mean cost, and returned in the units of the
    scaled cost. Distances grow by the same factor, so that one solution serves all scales.
    """
    regularization = settings.regularization * mean_cost(documents, metric, rows)
    if regularization == 0.0:
        return metric, settings
    settings = replace(settings, regularization=regularization)
    neighbors = nearest_centroids(documents, metric, rows, rows, n_neighbors)
    distances = batch_distances(documents, metric, rows, neighbors, settings)
    typical = float(np.median(distances))
    if typical <= 0.0:
        return metric, settings
    same = documents.labels[neighbors] == documents.labels[rows][:, None]
    scale = 1.0 / typical
    if (same.any(axis=1) & ~same.all(axis=1)).any():
        scale *= float(_SCALES[int(np.argmin([mean_loss(distances * (scale * more), same) for more in _SCALES]))])
    scaled = SwmdMetric(metric.linear_map * np.sqrt(scale), metric.log_weights)
    return scaled, replace(settings, regularization=regularization * scale)
