"""From documents to a tree: validation documents, the choice of a margin, retraining, the most probable parents."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.learners.fingerprints import fingerprints
from treewass.learners.progress import epoch_bar
from treewass.learners.soft.batches import LabelledDocuments
from treewass.learners.soft.checkpoints import Checkpoints
from treewass.learners.soft.compiled_engine import CompiledEngine
from treewass.learners.soft.settings import EpochRecord, LossSettings, Schedule, StepSettings
from treewass.learners.soft.training import Engine, Learned, Run, Trained, train
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fitting", "Plan", "first_scores", "fit_tree", "hang_words", "split_documents"]

_logger = logging.getLogger("treewass")
_SPREAD = 0.1
_FEWEST = 10
_NEAR_ENOUGH = 0.1
_NEIGHBORS = 19
_ROWS = 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a fit depends on but the documents; named as the parameters of `SupervisedTreeWasserstein`."""

    tree: Tree
    start: NDArray[np.int32] | None
    margins: tuple[float, ...]
    loss: LossSettings
    step: StepSettings
    schedule: Schedule
    validation_share: float
    retrain: bool
    folder: str | os.PathLike[str] | None
    callback: Callable[[EpochRecord], object] | None
    device: Any
    n_jobs: int | None
    verbose: bool


@dataclass(frozen=True, slots=True)
class Fitting:
    """What a fit came to.

    Parameters
    ----------
    tree : Tree
        Each word on its most probable parent.
    learned : Learned
        Scores, lengths and parents.
    margin : float
        The margin taken.
    epoch : int
        The epoch taken.
    records : tuple of EpochRecord
        Epoch after epoch, training after training.
    stopped : bool
        Whether it ended before its time.
    """

    tree: Tree
    learned: Learned
    margin: float
    epoch: int
    records: tuple[EpochRecord, ...]
    stopped: bool


def fit_tree(documents: LabelledDocuments, plan: Plan) -> Fitting:
    """Train for each margin, take the best, train again on all documents if wanted.

    Parameters
    ----------
    documents : LabelledDocuments
        None of them empty.
    plan : Plan

    Returns
    -------
    Fitting

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C comes before the first epoch is finished: there is nothing to keep.
    """
    held = split_documents(documents, plan.validation_share, plan.schedule.seed)
    training = documents.rows(np.flatnonzero(~held))
    validation = documents.rows(np.flatnonzero(held)) if held.any() else None
    candidates = plan.margins if validation is not None else plan.margins[:1]
    records: list[EpochRecord] = []
    tried: list[tuple[float, Trained]] = []
    with _followed(plan) as report:
        for candidate in candidates:
            trained = _train(plan, f"margin {candidate:g}", candidate, training, validation, report)
            records += trained.records
            tried = [min([*tried, (candidate, trained)], key=lambda pair: pair[1].error)]  # the first of equals
            if trained.stopped:
                break
        if not records:
            raise KeyboardInterrupt
        margin, best = tried[0]
        retrain = plan.retrain and validation is not None
        stopped = trained.stopped and (retrain or candidate != candidates[-1] or not trained.complete)
        if retrain and not stopped:
            shorter = replace(plan, schedule=replace(plan.schedule, epochs=best.epoch, patience=None))
            again = _train(shorter, "all documents", margin, documents, None, report)
            records, stopped = records + list(again.records), again.stopped and not again.complete
            best = best if stopped else again
    return Fitting(hang_words(plan.tree, best.learned), best.learned, margin, best.epoch, tuple(records), stopped)


def split_documents(documents: LabelledDocuments, share: float, seed: int) -> NDArray[np.bool_]:
    """Hold documents out for validation, equal ones together; none where there are fewer than ten.

    Every class keeps a document to learn from. Equal documents too many for the room left are passed over, until nine
    tenths of the share are held out.

    Parameters
    ----------
    documents : LabelledDocuments
    share : float
        How many of them, from zero to below one.
    seed : int
        Chooses them.

    Returns
    -------
    ndarray of bool, shape (n_documents,)
        Which are held out.
    """
    if len(documents) < _FEWEST or share == 0:
        return np.zeros(len(documents), dtype=bool)
    groups = np.unique(fingerprints(documents.histograms), return_inverse=True)[1].ravel()
    sizes = np.bincount(groups)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
    room, left = share * len(documents), np.bincount(documents.labels)
    enough = _NEAR_ENOUGH * room
    held = np.zeros(len(documents), dtype=bool)
    for group in np.random.default_rng([seed, 1]).permutation(sizes.size):
        if sizes[group] > room:
            if room <= enough:
                break
            continue
        taken = np.bincount(documents.labels[members[group]], minlength=left.size)
        if (taken < left)[taken > 0].all():
            held[members[group]] = True
            left, room = left - taken, room - sizes[group]
    return held


def first_scores(plan: Plan, n_words: int) -> NDArray[np.float32]:
    """Draw the scores to start from; a word with a given node starts there with about half of the probability."""
    generator = np.random.default_rng([plan.schedule.seed, 2])
    scores = generator.standard_normal((n_words, plan.tree.n_nodes), dtype=np.float32)
    scores *= np.float32(_SPREAD)
    if plan.start is not None:
        scores[np.arange(n_words), plan.start] += np.float32(np.log(plan.tree.n_nodes))
    return scores


def hang_words(tree: Tree, learned: Learned) -> Tree:
    """Hang each word from its most probable parent, the first of equals: the paper's D₂*.

    Parameters
    ----------
    tree : Tree
        The internal nodes.
    learned : Learned
        Scores, and lengths and parents where they were learned.

    Returns
    -------
    Tree

    Examples
    --------
    >>> hang_words(Tree([-1, 0]), Learned(np.array([[0.0, 1.0], [2.0, 2.0]]))).word_nodes
    array([1, 0], dtype=int32)
    """
    scores = learned.scores
    nodes = [scores[start : start + _ROWS].argmax(axis=1) for start in range(0, scores.shape[0], _ROWS)]
    edges, leaves = (tree.edge_lengths, None) if learned.lengths is None else learned.lengths
    return Tree(tree.parents if learned.parents is None else learned.parents, edges, np.concatenate(nodes), leaves)


def _train(
    plan: Plan,
    name: str,
    margin: float,
    documents: LabelledDocuments,
    validation: LabelledDocuments | None,
    report: Callable[[EpochRecord], object],
) -> Trained:
    """Train once."""
    loss = replace(plan.loss, margin=margin)
    n_words = documents.histograms.shape[1]
    with _engine(plan, loss, n_words) as engine:
        checkpoints = None
        if plan.folder is not None:
            description = _description(plan, loss, documents, validation)
            folder = name if validation is not None else f"{name} margin {margin:g}"
            checkpoints = Checkpoints(Path(plan.folder) / folder.replace(" ", "-"), description)
        error = None if validation is None else _validation_error(plan, documents, validation)
        run = Run(name, documents, validation, loss.mass, plan.schedule, error, report, checkpoints)
        return train(engine, run)


def _uses_torch(plan: Plan) -> bool:
    """Tell whether torch is wanted, by its device, or needed."""
    return plan.device is not None or plan.loss.parents != "softmax" or plan.step.learn_lengths or plan.step.learn_tree


@contextmanager
def _engine(plan: Plan, loss: LossSettings, n_words: int) -> Iterator[Engine]:
    """Make what takes the steps: compiled loops, or torch on one thread where it is wanted or needed."""
    scores = first_scores(plan, n_words)
    if not _uses_torch(plan):
        yield CompiledEngine(plan.tree, scores, loss, plan.step, plan.n_jobs)
        return
    from treewass.extras import require

    torch = require("torch", purpose="SupervisedTreeWasserstein with these options", extra="train")
    from treewass.learners.soft.torch_engine import TorchEngine

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order, whatever the machine
    try:
        yield TorchEngine(plan.tree, scores, loss, plan.step, plan.device or "cpu")
    finally:
        torch.set_num_threads(threads)


def _validation_error(
    plan: Plan, documents: LabelledDocuments, validation: LabelledDocuments
) -> Callable[[Engine], float]:
    """Make the function that classifies validation documents by their nearest training documents."""

    def error(engine: Engine) -> float:
        from treewass.classify.votes import fallback_vote
        from treewass.search.index import TreeIndex
        from treewass.trees.metric import TreeMetric

        learned = Learned(engine.scores, engine.learned_lengths(), engine.learned_parents())
        index = TreeIndex(TreeMetric(hang_words(plan.tree, learned)), n_jobs=plan.n_jobs)
        index.add(documents.histograms)
        _, ids = index.search(validation.histograms, _NEIGHBORS)
        shares = fallback_vote(documents.labels[ids], int(max(documents.labels.max(), validation.labels.max())) + 1)
        return float(np.mean(shares.argmax(axis=1) != validation.labels))

    return error


@contextmanager
def _followed(plan: Plan) -> Iterator[Callable[[EpochRecord], object]]:
    """Log every epoch, show a bar if wanted, and ask the callback whether to stop."""
    total = plan.schedule.epochs * len(plan.margins)
    with epoch_bar("training", total, plan.verbose) as advance:

        def report(record: EpochRecord) -> object:
            text = f"{record.run}, epoch {record.epoch}: loss {record.loss:.4f}"
            if record.validation_loss is not None:
                text += f", validation {record.validation_loss:.4f}"
            if record.validation_error is not None:
                text += f", error {100 * record.validation_error:.1f} %"
            _logger.info("%s, %.2f s", text, record.seconds)
            advance(text)
            return plan.callback is not None and plan.callback(record)

        yield report


def _description(
    plan: Plan, loss: LossSettings, documents: LabelledDocuments, validation: LabelledDocuments | None
) -> dict[str, Any]:
    """Describe all that a training depends on, for its checkpoint."""
    schedule = asdict(plan.schedule)
    del schedule["epochs"], schedule["patience"]  # a training may go on for longer
    digest = hashlib.sha256()
    for part in (documents, validation) if validation is not None else (documents,):
        for array in (part.histograms.indptr, part.histograms.indices, part.labels):
            digest.update(array.astype(np.int64).tobytes())  # whatever the width of scipy's indices
        digest.update(np.ascontiguousarray(part.histograms.data).tobytes())
    tree = hashlib.sha256(b"".join(array.tobytes() for array in (plan.tree.parents, plan.tree.edge_lengths)))
    start = None if plan.start is None else hashlib.sha256(plan.start.tobytes()).hexdigest()
    settings = {**asdict(loss), **asdict(plan.step), **schedule}
    return {
        **settings,
        "n_words": documents.histograms.shape[1],
        "documents": digest.hexdigest(),
        "tree": tree.hexdigest(),
        "start": start,
        "engine": "torch" if _uses_torch(plan) else "compiled",
    }
