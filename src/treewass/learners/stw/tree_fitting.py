"""From documents to a tree: validation documents, the choice of a margin, the most probable parents."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.memory import refuse_beyond_memory
from treewass.compute.progress import show_progress
from treewass.documents.histograms import fingerprints
from treewass.learners.stw.contrastive_batches import LabelledHistograms
from treewass.learners.stw.epochs import Checkpoints, Engine, EpochRecord, Schedule, StepSettings, Trainer, Training
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

__all__ = ["FittedTree", "Plan", "fit_tree", "hang_words", "hold_out", "nearest_rows"]

_logger = logging.getLogger("treewass")
_SPREAD = 0.1
_FEWEST = 10
_NEAR_ENOUGH = 0.1
_NEIGHBORS = 19
_ROWS = 1024
_FEW = 2**24  # numbers compared: below this, NumPy answers before the search engine would be compiled


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a fit depends on but the documents; named as the parameters of `SupervisedTreeWasserstein`."""

    tree: Tree
    margins: tuple[float, ...]
    step: StepSettings
    schedule: Schedule
    validation_fraction: float
    checkpoint: str | os.PathLike[str] | None
    device: Any
    n_jobs: int | None
    verbose: bool
    start: NDArray[Any] | None = None

    @property
    def uses_torch(self) -> bool:
        """Whether torch is wanted, by its device, or needed."""
        return self.device is not None or self.step.parents != "softmax"


@dataclass(frozen=True, slots=True)
class FittedTree:
    """What a fit learned: the tree of the most probable parents, the scores (Θ, transposed), and how it went.

    `margin` and `epoch` are those taken. `stopped` says whether Ctrl-C ended it before its time.
    """

    tree: Tree
    scores: NDArray[Any]
    margin: float
    epoch: int
    records: tuple[EpochRecord, ...]
    stopped: bool


def fit_tree(documents: LabelledHistograms, plan: Plan) -> FittedTree:
    """Train for each margin and take the one with the lowest validation error, the first of equals.

    No document is empty. If Ctrl-C comes before the first epoch is finished, there is nothing to keep: the
    KeyboardInterrupt goes on to the caller.
    """
    _refuse_too_much(documents.histograms.shape[1], plan)
    held = hold_out(documents, plan.validation_fraction, plan.schedule.seed)
    learning = documents.rows(np.flatnonzero(~held))
    validation = documents.rows(np.flatnonzero(held)) if held.any() else None
    margins = plan.margins if validation is not None else plan.margins[:1]
    records: list[EpochRecord] = []
    tried: list[tuple[float, Training]] = []
    with _reporting(plan) as report:
        for margin in margins:
            training = _train(plan, margin, learning, validation, report)
            records += training.records
            tried = [min([*tried, (margin, training)], key=lambda pair: pair[1].error)]  # the first of equals
            if training.interrupted:
                break
    taken, best = tried[0]
    if best.best is None or not records:
        raise KeyboardInterrupt
    stopped = training.interrupted and (margin != margins[-1] or not training.is_complete(plan.schedule))
    return FittedTree(hang_words(plan.tree, best.best), best.best, taken, best.best_epoch, tuple(records), stopped)


def _refuse_too_much(n_words: int, plan: Plan) -> None:
    """Refuse scores that do not fit the machine's memory, which would end in a killed process."""
    arrays = 3 + (plan.validation_fraction > 0)  # scores, two running means, the best scores
    needed = arrays * 4 * n_words * plan.tree.n_nodes
    refuse_beyond_memory(
        needed,
        f"the scores of {n_words} words for {plan.tree.n_nodes} nodes",
        "Leave out rare words, such as by CountVectorizer(min_df=2), or choose a smaller depth or arity.",
    )


def hold_out(documents: LabelledHistograms, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Hold documents out for validation, equal ones together; none where there are fewer than ten.

    Every class keeps a document to learn from. A group of equal documents that is too large for the room left is passed
    over, until nine tenths of the fraction are held out. Returned is a mask of those held out.
    """
    if len(documents) < _FEWEST or fraction == 0:
        return np.zeros(len(documents), dtype=bool)
    groups = np.unique(fingerprints(documents.histograms), return_inverse=True)[1].ravel()
    sizes = np.bincount(groups)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
    room, left = fraction * len(documents), np.bincount(documents.labels)
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


def hang_words(tree: Tree, scores: NDArray[Any]) -> Tree:
    """Hang each word from its most probable parent, the first of equals: the paper's D₂*.

    Examples
    --------
    >>> hang_words(Tree([-1, 0]), np.array([[0.0, 1.0], [2.0, 2.0]])).word_nodes
    array([1, 0], dtype=int32)
    """
    nodes = [scores[start : start + _ROWS].argmax(axis=1) for start in range(0, scores.shape[0], _ROWS)]
    return Tree(tree.parents, tree.edge_lengths, np.concatenate(nodes))


def nearest_rows(
    metric: TreeMetric, documents: LabelledHistograms, queries: LabelledHistograms, n_jobs: int | None
) -> NDArray[np.int64]:
    """Find the 19 nearest documents of each query, ties in ascending order: few with NumPy, many with an index."""
    if len(documents) * len(queries) * metric.n_features > _FEW:
        from treewass.search.index import TreeIndex

        index = TreeIndex(metric, n_jobs=n_jobs)
        index.add(documents.histograms)
        return index.search(queries.histograms, _NEIGHBORS)[1]
    from scipy.spatial.distance import cdist

    distances = cdist(_dense(metric, queries), _dense(metric, documents), "cityblock")  # of whole numbers: exact
    return np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBORS]


def _dense(metric: TreeMetric, documents: LabelledHistograms) -> NDArray[np.float64]:
    """Embed documents as whole numbers, without compiled loops, shape (n_documents, n_features)."""
    from treewass.trees.numpy_embedding import embed_document

    dense = np.zeros((len(documents), metric.n_features))
    rows = documents.histograms
    for row, (low, high) in enumerate(zip(rows.indptr, rows.indptr[1:], strict=False)):
        embedded = embed_document(metric, rows.indices[low:high].tolist(), rows.data[low:high].tolist())
        dense[row, list(embedded)] = list(embedded.values())
    return dense


def _train(
    plan: Plan,
    margin: float,
    documents: LabelledHistograms,
    validation: LabelledHistograms | None,
    report: Callable[[EpochRecord], object],
) -> Training:
    """Train with one margin."""
    name, step = f"margin {margin:g}", replace(plan.step, margin=margin)
    checkpoints = None
    if plan.checkpoint is not None:
        description = _description(plan, step, documents, validation)
        checkpoints = Checkpoints(Path(plan.checkpoint) / name.replace(" ", "-"), description)
    error = partial(_validation_error, plan, documents, validation)
    with _engine(plan, step, documents.histograms.shape[1]) as engine:
        return Trainer(engine, name, documents, validation, plan.schedule, error, report, checkpoints).train()


@contextmanager
def _engine(plan: Plan, step: StepSettings, n_words: int) -> Iterator[Engine]:
    """Make what takes the steps: compiled loops, or torch on one thread where it is wanted or needed."""
    if plan.start is not None:
        scores = plan.start.astype(np.float32)  # a copy
    else:
        generator = np.random.default_rng([plan.schedule.seed, 2])
        scores = generator.standard_normal((n_words, plan.tree.n_nodes), dtype=np.float32)
        scores *= np.float32(_SPREAD)
    if not plan.uses_torch:
        from treewass.learners.stw.compiled_steps import CompiledEngine

        yield CompiledEngine(plan.tree, scores, step, plan.n_jobs)
        return
    from treewass.compute.extras import require

    torch = require("torch", purpose="SupervisedTreeWasserstein with these options", extra="train")
    from treewass.learners.stw.torch_steps import TorchEngine

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order, whatever the machine
    try:
        yield TorchEngine(plan.tree, scores, step, plan.device or "cpu")
    finally:
        torch.set_num_threads(threads)


def _validation_error(
    plan: Plan, documents: LabelledHistograms, validation: LabelledHistograms | None, scores: NDArray[Any]
) -> float:
    """Classify validation documents by their nearest training documents."""
    from treewass.votes.rules import fallback_vote

    if validation is None:
        return 1.0
    ids = nearest_rows(TreeMetric(hang_words(plan.tree, scores)), documents, validation, plan.n_jobs)
    shares = fallback_vote(documents.labels[ids], int(max(documents.labels.max(), validation.labels.max())) + 1)
    return float(np.average(shares.argmax(axis=1) != validation.labels, weights=validation.weights))


@contextmanager
def _reporting(plan: Plan) -> Iterator[Callable[[EpochRecord], None]]:
    """Log every epoch, and show a bar if wanted."""
    with show_progress("training", plan.schedule.epochs * len(plan.margins), plan.verbose) as advance:

        def report(record: EpochRecord) -> None:
            text = f"{record.run}, epoch {record.epoch}: loss {record.loss:.4f}"
            if record.validation_loss is not None and record.validation_error is not None:
                text += f", validation {record.validation_loss:.4f}, error {100 * record.validation_error:.1f} %"
            advance(1, text)
            _logger.info("%s, %.2f s", text, record.seconds)

        yield report


def _description(
    plan: Plan, step: StepSettings, documents: LabelledHistograms, validation: LabelledHistograms | None
) -> dict[str, Any]:
    """Describe all that a training depends on, for its checkpoint; it may go on for longer."""
    digest = hashlib.sha256()
    for part in (documents, validation) if validation is not None else (documents,):
        for array in (part.histograms.indptr, part.histograms.indices, part.labels):
            digest.update(array.astype(np.int64).tobytes())  # whatever the width of scipy's indices
        digest.update(np.ascontiguousarray(part.histograms.data).tobytes())
        digest.update(b"" if part.weights is None else part.weights.tobytes())
    tree = hashlib.sha256(b"".join(array.tobytes() for array in (plan.tree.parents, plan.tree.edge_lengths)))
    started = {} if plan.start is None else {"start": hashlib.sha256(plan.start.tobytes()).hexdigest()}
    return {
        **asdict(step),
        **started,
        "batch_size": plan.schedule.batch_size,
        "seed": plan.schedule.seed,
        "n_words": documents.histograms.shape[1],
        "documents": digest.hexdigest(),
        "tree": tree.hexdigest(),
        "engine": "torch" if plan.uses_torch else "compiled",
    }
