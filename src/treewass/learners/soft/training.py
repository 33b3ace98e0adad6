"""Training epoch by epoch: validation, the best epoch, early stopping, interruption and resumption."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treewass.learners.soft.batches import Batch, LabelledDocuments, batches_of_epoch, validation_batches
from treewass.learners.soft.settings import EpochRecord, Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.learners.soft.checkpoints import Checkpoints

__all__ = ["Engine", "Learned", "Progress", "Run", "Trained", "train"]


class Engine(Protocol):
    """What takes steps: `CompiledEngine` or `TorchEngine`."""

    @property
    def scores(self) -> NDArray[Any]:
        """The scores, shape (n_words, n_nodes)."""

    @property
    def steps(self) -> int:
        """Number of steps taken."""

    def loss(self, batch: Batch) -> float:
        """Compute the contrastive loss of a batch."""

    def step(self, batch: Batch) -> float:
        """Compute the loss of a batch and take one step; not a number if any score becomes one."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that a later step depends on, by name."""

    def restore(self, state: dict[str, NDArray[Any]], steps: int) -> None:
        """Take over the arrays of `state` after so many steps."""

    def learned_lengths(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the lengths of internal edges and of the words' edges, where they are learned."""

    def learned_parents(self) -> NDArray[np.int64] | None:
        """Return the most probable parent of each internal node, where they are learned; -1 for the root."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What an epoch has learned.

    Parameters
    ----------
    scores : ndarray of shape (n_words, n_nodes)
        The paper's Θ, transposed.
    lengths : tuple of ndarray or None
        Lengths of internal edges and of the words' edges, where they are learned.
    parents : ndarray of int or None
        Parents of internal nodes, where they are learned.
    """

    scores: NDArray[Any]
    lengths: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    parents: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, engine: Engine) -> Learned:
        """Copy what an engine has learned."""
        return cls(engine.scores.copy(), engine.learned_lengths(), engine.learned_parents())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for a file."""
        arrays = {"scores": self.scores}
        if self.lengths is not None:
            arrays |= {"edge_lengths": self.lengths[0], "leaf_lengths": self.lengths[1]}
        return arrays if self.parents is None else {**arrays, "parents": self.parents}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Learned:
        """Make it of the arrays of a file."""
        lengths = (arrays["edge_lengths"], arrays["leaf_lengths"]) if "edge_lengths" in arrays else None
        return cls(arrays["scores"], lengths, arrays.get("parents"))


@dataclass(slots=True)
class Progress:
    """How far a training is.

    Parameters
    ----------
    records : list of EpochRecord
        One per finished epoch.
    best : Learned or None
        What the best epoch had learned; None without validation, and while it is what the engine holds.
    best_epoch : int
        Its number; the last one without validation.
    stopped : bool
        Whether it was interrupted, or stopped by a callback.
    """

    records: list[EpochRecord] = field(default_factory=list)
    best: Learned | None = None
    best_epoch: int = 0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training came to.

    Parameters
    ----------
    learned : Learned
        By the best epoch; by the last step without validation.
    epoch : int
        Its number; zero before the first.
    records : tuple of EpochRecord
        One per finished epoch.
    stopped : bool
        Whether it was interrupted, or a callback asked to stop.
    complete : bool
        Whether no epoch was left all the same.
    """

    learned: Learned
    epoch: int
    records: tuple[EpochRecord, ...]
    stopped: bool
    complete: bool

    @property
    def error(self) -> float:
        """Validation error of the best epoch; one where there is none."""
        found = [record.validation_error for record in self.records if record.epoch == self.epoch]
        return found[0] if found and found[0] is not None else 1.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a training works on, and who hears of it.

    Parameters
    ----------
    name : str
        For records and messages.
    documents : LabelledDocuments
        To learn from; none empty.
    validation : LabelledDocuments or None
        To choose the epoch by.
    mass : float
        Mass of a document.
    schedule : Schedule
    error : callable or None
        Computes the validation error of what was learned.
    report : callable
        Called with the record of each epoch; a true answer stops the training.
    checkpoints : Checkpoints or None
        Where to keep each epoch.
    """

    name: str
    documents: LabelledDocuments
    validation: LabelledDocuments | None
    mass: float
    schedule: Schedule
    error: Callable[[Engine], float] | None
    report: Callable[[EpochRecord], object]
    checkpoints: Checkpoints | None = None


def train(engine: Engine, run: Run) -> Trained:
    """Train for some epochs; Ctrl-C ends it early with the best epoch so far, without validation with the last step.

    Parameters
    ----------
    engine : Engine
        Takes the steps.
    run : Run
        Documents, schedule, listeners.

    Returns
    -------
    Trained

    Raises
    ------
    ValueError
        If the loss is not a finite number, the message names epoch and batch; or if a checkpoint has gone further.
    """
    progress = Progress()
    if run.checkpoints is not None:
        progress = run.checkpoints.resume(engine) or progress
        if len(progress.records) > run.schedule.epochs:
            raise ValueError(
                f"Expected a checkpoint of at most {run.schedule.epochs} epochs of the training {run.name!r}, got one "
                f"of {len(progress.records)}. Ask for more epochs, or choose another folder."
            )
    try:
        while not (progress.stopped or _complete(progress, run.schedule)):
            record = _epoch(engine, run, len(progress.records) + 1)
            _note(engine, run, progress, record)
            if run.checkpoints is not None:
                run.checkpoints.save(engine, progress)
            progress.stopped = bool(run.report(record))
    except KeyboardInterrupt:
        progress.stopped = True
    learned = progress.best or Learned(engine.scores, engine.learned_lengths(), engine.learned_parents())
    complete = _complete(progress, run.schedule)
    return Trained(learned, progress.best_epoch, tuple(progress.records), progress.stopped, complete)


def _complete(progress: Progress, schedule: Schedule) -> bool:
    """Tell whether all epochs are done, or none was better for a while."""
    done = len(progress.records)
    waited = schedule.patience is not None and done - progress.best_epoch >= schedule.patience
    return waited or done >= schedule.epochs


def _epoch(engine: Engine, run: Run, epoch: int) -> EpochRecord:
    """Take a step for each batch, then validate."""
    start, schedule = time.perf_counter(), run.schedule
    batches = batches_of_epoch(run.documents, schedule.batch_size, run.mass, schedule.seed, epoch)
    losses = [_finite(engine.step(batch), run, epoch, number) for number, batch in enumerate(batches, start=1)]
    validation_loss = validation_error = None
    if run.validation is not None:
        batches = validation_batches(run.validation, schedule.batch_size, run.mass, schedule.seed)
        found = ((engine.loss(batch), number) for number, batch in enumerate(batches, start=1))
        validation_loss = float(np.mean([_finite(loss, run, epoch, number, "validation ") for loss, number in found]))
        validation_error = None if run.error is None else run.error(engine)
    seconds = time.perf_counter() - start
    return EpochRecord(run.name, epoch, float(np.mean(losses)), validation_loss, validation_error, seconds)


def _note(engine: Engine, run: Run, progress: Progress, record: EpochRecord) -> None:
    """Keep the record, and what was learned if no epoch before was as good."""
    before = [_rank(other, run.schedule) for other in progress.records]
    progress.records.append(record)
    if run.validation is None:
        progress.best_epoch = record.epoch
    elif not before or _rank(record, run.schedule) < min(before):
        progress.best, progress.best_epoch = None, record.epoch  # the engine holds it if Ctrl-C comes before the copy
        progress.best = Learned.of(engine)


def _rank(record: EpochRecord, schedule: Schedule) -> tuple[float, float]:
    """Order epochs by what they are chosen by."""
    loss = record.validation_loss if record.validation_loss is not None else math.inf
    error = record.validation_error if record.validation_error is not None else math.inf
    return (error, loss) if schedule.select == "error" else (loss, error)


def _finite(loss: float, run: Run, epoch: int, number: int, kind: str = "") -> float:
    """Refuse a loss that is not a number."""
    if not math.isfinite(loss):
        raise ValueError(
            f"Expected a finite loss, got {loss} in epoch {epoch}, {kind}batch {number}, of the training "
            f"{run.name!r}. Lower learning_rate or smoothness."
        )
    return loss
