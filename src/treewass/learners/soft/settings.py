"""Settings of the paper's learner, and what it reports after each epoch."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EpochRecord", "LossSettings", "Schedule", "StepSettings"]


@dataclass(frozen=True, slots=True)
class LossSettings:
    """What is minimised.

    Parameters
    ----------
    margin : float
        Distance beyond which documents of different labels are far enough.
    smoothness : float
        How close the smooth absolute value is to the true one.
    absolute : {"tanh", "huber"}
        Which smooth absolute value.
    mass : float
        Mass of a document.
    parents : {"softmax", "sparsemax", "entmax", "rankmax"}
        How scores become probabilities.
    """

    margin: float = 10.0  # m
    smoothness: float = 2.0  # alpha
    absolute: str = "tanh"
    mass: float = 5.0
    parents: str = "softmax"


@dataclass(frozen=True, slots=True)
class StepSettings:
    """How it is minimised.

    Parameters
    ----------
    learning_rate : float
        Step of Adam.
    optimizer : {"adam", "lars"}
        Adam, or Adam on gradients scaled by a trust ratio.
    updates : {"sparse", "dense"}
        Whether the scores of words outside a batch rest, or move on with their running means.
    state : {"float32", "bfloat16"}
        How Adam's running means are held.
    learn_lengths, learn_tree : bool
        Whether to learn the lengths of edges, and the parents of internal nodes.
    """

    learning_rate: float = 0.1
    optimizer: str = "adam"
    updates: str = "sparse"
    state: str = "float32"
    learn_lengths: bool = False
    learn_tree: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long it is minimised, and which epoch is taken.

    Parameters
    ----------
    epochs : int
        Passes over the documents.
    batch_size : int
        Documents compared with each other in a step.
    select : {"loss", "error"}
        Whether the best epoch has the lowest validation loss or the lowest validation error; equal errors are told
        apart by the loss. Without validation documents the last epoch is taken.
    patience : int or None
        Epochs without a better one after which training stops.
    seed : int
        Chooses batches.
    """

    epochs: int = 30
    batch_size: int = 100
    select: str = "loss"
    patience: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What one pass over the documents came to.

    Parameters
    ----------
    run : str
        Which training: ``"margin 10"``, ``"all documents"``.
    epoch : int
        Which pass, from one.
    loss : float
        Mean contrastive loss of its batches.
    validation_loss : float or None
        Mean contrastive loss of the validation batches after it.
    validation_error : float or None
        Share of validation documents whose nearest training documents, under the tree of the most probable parents,
        vote for another label; None where it was not asked for.
    seconds : float
        Time that the pass took, validation included.
    """

    run: str
    epoch: int
    loss: float
    validation_loss: float | None
    validation_error: float | None
    seconds: float
