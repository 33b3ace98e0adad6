"""Training epoch by epoch: validation, the best epoch, early stopping, interruption, and checkpoints to resume from."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treewass.learners.stw.contrastive_batches import ContrastiveBatch, LabelledHistograms, batches_of_epoch
from treewass.storage.checkpoints import CheckpointFolder, checkpoint_kind

__all__ = ["Checkpoints", "Engine", "EpochRecord", "Schedule", "StepSettings", "Trainer", "Training"]

_KIND = checkpoint_kind("treewass training", 4, "training.json")


@dataclass(frozen=True, slots=True)
class StepSettings:
    """What one step minimises, and how; the parameters of `SupervisedTreeWasserstein`, one by one."""

    margin: float = 10.0  # m
    absolute: str = "tanh"
    smoothness: float = 2.0  # alpha
    parents: str = "softmax"
    optimizer: str = "adam"
    learning_rate: float = 0.1


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long training goes on: it stops early after as many epochs without a better one as its patience."""

    epochs: int = 30
    batch_size: int = 100
    patience: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """Losses, error and time of one pass over the documents.

    Parameters
    ----------
    run : str
        Which training, such as ``"margin 10"``.
    epoch : int
        Which pass, from one.
    loss : float
        Mean contrastive loss of its batches.
    validation_loss : float or None
        Mean contrastive loss of the validation batches after it; None without validation documents.
    validation_error : float or None
        Share of validation documents whose nearest training documents, under the tree of the most probable parents,
        vote for another label; None without validation documents.
    seconds : float
        Time that the pass took, validation included.
    """

    run: str
    epoch: int
    loss: float
    validation_loss: float | None
    validation_error: float | None
    seconds: float


class Engine(Protocol):
    """What takes steps: `CompiledEngine` or `TorchEngine`."""

    @property
    def scores(self) -> NDArray[Any]:
        """The scores, shape (n_words, n_nodes)."""

    @property
    def steps(self) -> int:
        """Number of steps taken."""

    def loss(self, batch: ContrastiveBatch) -> float:
        """Compute the contrastive loss of a batch."""

    def step(self, batch: ContrastiveBatch) -> float:
        """Compute the loss of a batch and take one step; not a number if any score becomes one."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that a later step depends on, by name."""

    def restore(self, state: dict[str, NDArray[Any]], steps: int) -> None:
        """Take over the arrays of `state` after so many steps."""


@dataclass(slots=True)
class Training:
    """How far a training is.

    `best` holds the scores of the best epoch. It is None without validation, and while the engine still holds them, but
    not in the end. `best_epoch` is the last one without validation, and zero before the first. `interrupted` says
    whether Ctrl-C ended it.
    """

    records: list[EpochRecord] = field(default_factory=list)
    best: NDArray[Any] | None = None
    best_epoch: int = 0
    interrupted: bool = False

    @property
    def error(self) -> float:
        """Validation error of the best epoch; one where there is none."""
        found = [record.validation_error for record in self.records if record.epoch == self.best_epoch]
        return found[0] if found and found[0] is not None else 1.0

    def is_complete(self, schedule: Schedule) -> bool:
        """Tell whether all epochs are done, or none was better for a while."""
        done = len(self.records)
        waited = schedule.patience is not None and done - self.best_epoch >= schedule.patience
        return waited or done >= schedule.epochs


class Checkpoints:
    """The checkpoint of one training, replaced after every epoch: its arrays, its records, and what it was made with.

    The description holds documents and settings, in values that JSON can hold. A training that differs in any of them
    is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], description: Mapping[str, Any]) -> None:
        self._folder = CheckpointFolder(folder, _KIND, description)

    def save(self, engine: Engine, training: Training) -> None:
        """Write the arrays of an engine, and the records and the best epoch of its training: all of it or nothing."""
        state = f"epoch-{len(training.records)}"
        best = None if training.best is None else f"best-{training.best_epoch}"
        arrays: dict[str, Callable[[], dict[str, Any]]] = {state: engine.state}
        if best is not None:
            arrays[best] = lambda: {"scores": training.best}
        entries = {
            "steps": engine.steps,
            "state": state,
            "best": best,
            "best_epoch": training.best_epoch,
            "records": [asdict(record) for record in training.records],
        }
        self._folder.save(entries, arrays)

    def resume(self, engine: Engine) -> Training | None:
        """Put an engine where the checkpoint left it; None if there is none. A damaged one is refused."""

        def restore(found: dict[str, Any], arrays: Callable[[str], dict[str, Any]]) -> Training:
            best = None if found["best"] is None else arrays(found["best"])["scores"].copy()
            engine.restore(arrays(found["state"]), found["steps"])
            return Training([EpochRecord(**record) for record in found["records"]], best, found["best_epoch"])

        training: Training | None = self._folder.load(restore)
        return training


@dataclass(frozen=True, slots=True)
class Trainer:
    """Trains an engine for some epochs.

    Validation documents choose the epoch. `error` computes the validation error of scores. `report` is called with the
    record of each epoch.
    """

    engine: Engine
    name: str
    documents: LabelledHistograms
    validation: LabelledHistograms | None
    schedule: Schedule
    error: Callable[[NDArray[Any]], float]
    report: Callable[[EpochRecord], object]
    checkpoints: Checkpoints | None = None

    def train(self) -> Training:
        """Train to the end, or until Ctrl-C: then the best epoch so far is taken, without validation the last step.

        A loss that is not a finite number is an error that names epoch and batch. So is a checkpoint that has gone
        further.
        """
        training = self._resumed()
        try:
            while not training.is_complete(self.schedule):
                record = self._epoch(len(training.records) + 1)
                self._note(training, record)
                if self.checkpoints is not None:
                    self.checkpoints.save(self.engine, training)
                self.report(record)
        except KeyboardInterrupt:
            training.interrupted = True
        if training.best is None:
            training.best = self.engine.scores
        return training

    def _resumed(self) -> Training:
        """Go on from a checkpoint, if there is one."""
        training = None if self.checkpoints is None else self.checkpoints.resume(self.engine)
        if training is not None and len(training.records) > self.schedule.epochs:
            raise ValueError(
                f"Expected a checkpoint of at most {self.schedule.epochs} epochs of the training {self.name!r}, got "
                f"one of {len(training.records)}. Ask for more epochs, or choose another folder."
            )
        return training or Training()

    def _epoch(self, epoch: int) -> EpochRecord:
        """Take a step for each batch, then validate."""
        start, schedule = time.perf_counter(), self.schedule
        batches = batches_of_epoch(self.documents, schedule.batch_size, schedule.seed, epoch)
        losses = [self._finite(self.engine.step(batch), epoch, number) for number, batch in enumerate(batches, 1)]
        validation_loss = validation_error = None
        if self.validation is not None:
            batches = batches_of_epoch(self.validation, schedule.batch_size, schedule.seed, epoch=0)
            found = [
                self._finite(self.engine.loss(batch), epoch, number, "validation ")
                for number, batch in enumerate(batches, 1)
            ]
            validation_loss, validation_error = float(np.mean(found)), self.error(self.engine.scores)
        loss, seconds = float(np.mean(losses)), time.perf_counter() - start
        return EpochRecord(self.name, epoch, loss, validation_loss, validation_error, seconds)

    def _note(self, training: Training, record: EpochRecord) -> None:
        """Keep the record, and the scores if no epoch before had as low a validation loss."""
        before = [other.validation_loss for other in training.records if other.validation_loss is not None]
        training.records.append(record)
        if record.validation_loss is None:
            training.best_epoch = record.epoch
        elif record.validation_loss < min(before, default=math.inf):
            training.best = None  # the engine holds it if Ctrl-C comes before the copy
            training.best_epoch = record.epoch
            training.best = copy_scores(self.engine)

    def _finite(self, loss: float, epoch: int, number: int, kind: str = "") -> float:
        """Refuse a loss that is not a number."""
        if not math.isfinite(loss):
            raise ValueError(
                f"Expected a finite loss, got {loss} in epoch {epoch}, {kind}batch {number}, of the training "
                f"{self.name!r}. Lower the learning rate or the smoothness."
            )
        return loss


def copy_scores(engine: Engine) -> NDArray[Any]:
    """Copy the scores of an engine, which its next step changes."""
    return engine.scores.copy()
