"""``treewass bench train``: the cost of a step of the paper's learner beside its algorithm 1 with dense matrices."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.rows import Row, Value
from treewass.learners.soft.batches import Batch, LabelledDocuments, rows_of_epoch
from treewass.learners.soft.compiled_engine import CompiledEngine
from treewass.learners.soft.settings import LossSettings, StepSettings
from treewass.trees.shapes import perfect_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.tree import Tree

__all__ = ["CASES", "bench_train", "learning_documents", "random_scores"]

CASES = ("dense", "memory", "vocabulary", "depth", "ablation")
_ARITY, _DEPTH, _BATCH = 5, 5, 100
_ROUND = 5
_RIVALS = {
    "algorithm": "algorithm 1, dense",
    "loop": "loop over pairs, extrapolated",
    "torch": "the same steps by torch",
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a measurement is: REUTERS by default, a toy with `quick`."""

    repetitions: int = 3
    depth: int = _DEPTH
    quick: bool = False


def bench_train(
    cases: Sequence[str] = CASES, data: str | os.PathLike[str] | None = None, quick: bool = False
) -> Iterator[Row]:
    """Measure training by the paper's learner.

    Parameters
    ----------
    cases : sequence of {"dense", "memory", "vocabulary", "depth", "ablation"}
        Seconds of a step beside the dense form of algorithm 1, and beside a loop over pairs; peak memory; seconds
        against the number of words, and against the depth of the tree; what each option does.
    data : path-like, optional
        Folder of the text sets, for REUTERS and TWITTER; that of the variable TREEWASS_DATA by default.
    quick : bool, default=False
        Small generated documents and a small tree; for tests.

    Yields
    ------
    Row
    """
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(CASES)}, got {', '.join(unknown)}.")
    size = Size(1, 2, quick=True) if quick else Size()
    if "dense" in cases:
        yield from _dense(size, data)
    if "memory" in cases:
        from treewass.bench.train_memory import memory_rows

        yield from memory_rows(size.depth, None if quick else data, quick)
    if "vocabulary" in cases:
        from treewass.bench.train_growth import vocabulary_rows

        yield from vocabulary_rows(quick)
    if "depth" in cases:
        from treewass.bench.train_growth import depth_rows

        yield from depth_rows(data, quick)
    if "ablation" in cases:
        from treewass.bench.train_ablation import ablation_rows

        yield from ablation_rows(data, quick)


def learning_documents(data: str | os.PathLike[str] | None, quick: bool) -> tuple[LabelledDocuments, str]:
    """Return the training documents of REUTERS and their name, or a few generated ones.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets.
    quick : bool
        Whether to generate some.
    """
    from treewass.documents.histograms import to_histograms

    if quick:
        from treewass.documents.synthetic import make_documents

        counts, labels = make_documents(300, n_words=400, words_per_document=10, n_classes=8)
        return LabelledDocuments(to_histograms(counts), np.asarray(labels, dtype=np.int64)), "generated"
    from treewass.bench.datasets import load_set

    split = load_set("reuters", data).split(0)
    rows = np.flatnonzero(np.diff(split.X_train.indptr))
    labels = np.unique(split.y_train, return_inverse=True)[1][rows]
    return LabelledDocuments(to_histograms(split.X_train[rows]), labels.astype(np.int64)), "reuters"


def random_scores(n_words: int, tree: Tree) -> NDArray[np.float32]:
    """Draw scores to start from, as the learner does.

    Parameters
    ----------
    n_words : int
    tree : Tree

    Returns
    -------
    ndarray of float32, shape (n_words, n_nodes)
    """
    scores = np.random.default_rng(0).standard_normal((n_words, tree.n_nodes), dtype=np.float32)
    scores *= np.float32(0.1)
    return scores


def _dense(size: Size, data: str | os.PathLike[str] | None) -> Iterator[Row]:
    """Time ours and algorithm 1 in turns, on the same batches and one thread."""
    from threadpoolctl import threadpool_limits

    from treewass.bench.train_baselines import DenseAlgorithm, PairLoop, one_torch_thread
    from treewass.learners.soft.torch_engine import TorchEngine

    documents, name = learning_documents(data, size.quick)
    tree = perfect_tree(_ARITY, size.depth)
    start = random_scores(documents.histograms.shape[1], tree)
    ours = {
        updates: CompiledEngine(tree, start.copy(), LossSettings(), StepSettings(updates=updates))
        for updates in ("sparse", "dense")
    }
    with one_torch_thread(), threadpool_limits(limits=1):
        dense, loop = DenseAlgorithm(tree, start.copy()), PairLoop(tree, start.copy())
        structured = TorchEngine(tree, start.copy(), LossSettings(), StepSettings())
        rows = rows_of_epoch(len(documents), _BATCH, 0, 1)
        for engine in ours.values():
            for some in rows:
                engine.step(_batch(documents, some))  # compiles, and gives every word running means
        times: dict[str, list[float]] = {"sparse": [], "dense": [], "algorithm": [], "loop": [], "torch": []}
        for repetition in range(size.repetitions):
            chosen = rows[1 + repetition :: size.repetitions][:_ROUND]
            for updates, engine in ours.items():
                times[updates] += [_seconds(partial(_step, engine, documents, some)) for some in chosen]
            batch = _batch(documents, chosen[0])
            times["algorithm"].append(_seconds(partial(dense.step, batch)))
            times["loop"].append(loop.seconds_of_a_step(batch))
            times["torch"].append(_seconds(partial(structured.step, batch)))
    seconds = {kind: float(np.median(found)) for kind, found in times.items()}
    case: dict[str, Value] = {"case": "dense", "set": name, "words": start.shape[0], "nodes": tree.n_nodes}
    protocol = (
        f"median CPU time of {len(times['sparse'])} steps of ours, from sparse rows to new scores, and of "
        f"{size.repetitions} of the others, in turns, batches of {_BATCH} documents, one thread, float32; "
        "algorithm 1: the inverse computed once outside the loop, one softmax, one product with it, one for "
        "all documents, all pairs at once, autograd and Adam; the loop: "
        "forward and backward of a few pairs times the number of pairs, and the product once, without its gradient"
    )
    for rival, title in _RIVALS.items():
        for updates in ours:
            measures: dict[str, Value] = {
                "our_seconds": _short(seconds[updates]),
                "their_seconds": _short(seconds[rival]),
                "ratio": _short(seconds[rival] / seconds[updates]),
            }
            yield Row("train", {**case, "against": title, "updates": updates}, measures, protocol)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _batch(documents: LabelledDocuments, rows: NDArray[np.intp]) -> Batch:
    return Batch.of(documents.rows(rows), 5.0)


def _step(engine: CompiledEngine, documents: LabelledDocuments, rows: NDArray[np.intp]) -> None:
    engine.step(_batch(documents, rows))


def _seconds(work: Callable[[], Any]) -> float:
    """Measure CPU time: others may use the machine."""
    start = time.process_time()
    work()
    return time.process_time() - start
