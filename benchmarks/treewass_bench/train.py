"""``python -m treewass_bench train``: what a step of the paper's learner costs, its memory, its growth, its options."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import SupervisedTreeWasserstein, TreeWassersteinClassifier
from treewass.documents import make_documents, to_histograms
from treewass.learners.stw.compiled_steps import CompiledEngine
from treewass.learners.stw.contrastive_batches import ContrastiveBatch, LabelledHistograms, rows_of_epoch
from treewass.learners.stw.epochs import StepSettings
from treewass.trees import Tree, perfect_tree
from treewass_bench.datasets import load_set
from treewass_bench.rows import Row, Value
from treewass_bench.timing import alternate, call_in_new_process, one_thread, peak_bytes, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CASES", "bench_train", "learning_documents", "random_scores"]

_ARITY, _DEPTH, _BATCH = 5, 5, 100
_STEP_ROUNDS, _GROWTH_ROUNDS = 3, 8
_MEMORY_EPOCHS = 2
_VOCABULARIES = {5: (10_000, 30_000, 100_000), 3: (10_000, 1_000_000)}  # by the depth of the tree
_DEPTHS = (3, 4, 5)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"parents": "sparsemax"},
    {"parents": "rankmax"},
    {"absolute": "huber"},
    {"optimizer": "lars"},
)
_OPTION_SEEDS, _OPTION_EPOCHS = 2, 8
_Data = str | os.PathLike[str] | None


def bench_train(cases: Sequence[str] | None = None, data: _Data = None, quick: bool = False) -> Iterator[Row]:
    """Measure training by the paper's learner.

    Parameters
    ----------
    cases : sequence of {"dense", "memory", "vocabulary", "depth", "ablation"}, optional
        Seconds of a step beside the dense form of algorithm 1, and beside a loop over pairs; peak memory; seconds
        against the number of words, and against the depth of the tree; what each option does. All by default.
    data : path-like, optional
        Folder of the text sets, for REUTERS and TWITTER; that of the variable TREEWASS_DATA by default.
    quick : bool, default=False
        Small generated documents and a small tree; for tests.
    """
    chosen = CASES if cases is None else tuple(cases)
    unknown = [case for case in chosen if case not in CASES]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(CASES)}, got {', '.join(unknown)}.")
    for case in CASES:
        if case in chosen:
            yield from _MAKERS[case](data, quick)


def learning_documents(data: _Data, quick: bool) -> tuple[LabelledHistograms, str]:
    """Return the training documents of REUTERS and their name, or a few generated ones if `quick`."""
    if quick:
        return _generated(300, 400, 10), "generated"
    split = load_set("reuters", data).split(0)
    rows = np.flatnonzero(np.diff(split.X_train.indptr))
    labels = np.unique(split.y_train, return_inverse=True)[1][rows]
    return LabelledHistograms(to_histograms(split.X_train[rows]), labels.astype(np.int64)), "reuters"


def random_scores(n_words: int, tree: Tree) -> NDArray[np.float32]:
    """Draw scores to start from, as the learner does: float32, shape (n_words, n_nodes)."""
    scores = np.random.default_rng(0).standard_normal((n_words, tree.n_nodes), dtype=np.float32)
    scores *= np.float32(0.1)
    return scores


def _generated(n_documents: int, n_words: int, words_per_document: int) -> LabelledHistograms:
    counts, labels = make_documents(n_documents, n_words=n_words, words_per_document=words_per_document, n_classes=8)
    return LabelledHistograms(to_histograms(counts), np.asarray(labels, dtype=np.int64))


def _stepper(engine: Any, documents: LabelledHistograms) -> Callable[[Any], Any]:
    """Take a step from the row numbers of a batch, its making included."""
    return lambda rows: engine.step(ContrastiveBatch.of(documents.rows(rows)))


def _dense_rows(data: _Data, quick: bool) -> Iterator[Row]:
    """Time ours and algorithm 1 in turns, on the same batch and one thread."""
    from treewass.learners.stw.torch_steps import TorchEngine
    from treewass_bench.train_baselines import DenseAlgorithm, PairLoop

    documents, name = learning_documents(data, quick)
    tree, rounds = perfect_tree(_ARITY, 2 if quick else _DEPTH), 1 if quick else _STEP_ROUNDS
    start = random_scores(documents.histograms.shape[1], tree)
    extrapolated: list[float] = []
    with one_thread("torch"):
        dense, loop = DenseAlgorithm(tree, start.copy()), PairLoop(tree, start.copy())
        ours = _stepper(CompiledEngine(tree, start.copy(), StepSettings()), documents)
        rivals = {
            "algorithm 1, dense": _stepper(dense, documents),
            "the same steps by torch": _stepper(TorchEngine(tree, start.copy(), StepSettings()), documents),
        }
        rows = rows_of_epoch(len(documents), _BATCH, 0, 1)
        for some in rows:
            ours(some)  # compiles, and gives every word running means

        def loop_over_pairs(some: Any) -> None:
            extrapolated.append(loop.seconds_of_a_step(ContrastiveBatch.of(documents.rows(some))))

        contenders = [ours, *rivals.values(), loop_over_pairs]
        times = alternate(contenders, [rows[0]], rounds=rounds, warm_up="never")
    seconds = dict(zip(rivals, (timing.median for timing in times[1:]), strict=False))
    seconds["loop over pairs, extrapolated"] = float(np.median(extrapolated))
    case: dict[str, Value] = {"case": "dense", "set": name, "words": start.shape[0], "nodes": tree.n_nodes}
    protocol = (
        f"median CPU time of {rounds} steps of each, from sparse rows to new scores, in turns, a batch of {_BATCH} "
        "documents, one thread, float32; algorithm 1: the inverse computed once outside the loop, one softmax, one "
        "product with it, one for all documents, all pairs at once, autograd and Adam; the loop: "
        "forward and backward of a few pairs times the number of pairs, and the product once, without its gradient"
    )
    for rival, their_seconds in seconds.items():
        measures: dict[str, Value] = {
            "our_seconds": rounded(times[0].median),
            "their_seconds": rounded(their_seconds),
            "ratio": rounded(their_seconds / times[0].median),
        }
        yield Row("train", {**case, "against": rival}, measures, protocol)


def _memory_rows(data: _Data, quick: bool) -> Iterator[Row]:
    """Measure the peak memory of training in a process of its own."""
    folder = None if data is None else os.fspath(data)
    found = call_in_new_process("treewass_bench.train:memory_of_a_fit", 2 if quick else _DEPTH, folder, quick)
    measures: dict[str, Value] = {
        "held_megabytes": round(found["held"] / 1e6, 1),
        "peak_megabytes": round(found["peak"] / 1e6, 1),
        "ratio": round(found["peak"] / found["held"], 3),
    }
    protocol = (
        f"fit with {_MEMORY_EPOCHS} epochs and validation in a process of its own: peak resident memory of the "
        "process, Python, libraries, documents and the best scores included, over that of scores and the state of Adam"
    )
    yield Row("train", {"case": "memory", "set": found["set"]}, measures, protocol)


def memory_of_a_fit(depth: int, data: str | None, quick: bool) -> dict[str, Any]:
    """Fit, and return the bytes of scores and running means, and the peak of this process."""
    documents, name = learning_documents(data, quick)
    learner = SupervisedTreeWasserstein(depth=depth, epochs=_MEMORY_EPOCHS)
    learner.fit(documents.histograms, documents.labels)
    return {"held": 3 * 4 * learner.scores_.size, "peak": peak_bytes(), "set": name}


def _vocabulary_rows(_: _Data, quick: bool) -> Iterator[Row]:
    """Time steps on the same documents among more and more words that none of them holds."""
    vocabularies = {1: (500, 1000)} if quick else _VOCABULARIES
    documents = _generated(500, min(sizes[0] for sizes in vocabularies.values()), 40)
    for depth, sizes in vocabularies.items():
        yield from _growth_rows("vocabulary", [_widened(documents, size) for size in sizes], [depth] * len(sizes))


def _depth_rows(data: _Data, quick: bool) -> Iterator[Row]:
    """Time steps on perfect trees of several depths."""
    documents, _ = learning_documents(data, quick)
    depths = (1, 2) if quick else _DEPTHS
    yield from _growth_rows("depth", [documents] * len(depths), depths)


def _growth_rows(kind: str, documents: Sequence[LabelledHistograms], depths: Sequence[int]) -> Iterator[Row]:
    """Time the same batches in every case, in turns."""
    trees = [perfect_tree(_ARITY, depth) for depth in depths]
    steppers = []
    for tree, some in zip(trees, documents, strict=True):
        scores = random_scores(some.histograms.shape[1], tree)
        steppers.append(_stepper(CompiledEngine(tree, scores, StepSettings()), some))
    batches = rows_of_epoch(len(documents[0]), _BATCH, 0, 1)[:5]
    words = np.mean([np.unique(documents[0].histograms[rows].indices).size for rows in batches])
    protocol = (
        f"median of {_GROWTH_ROUNDS} CPU times, each the mean over {len(batches)} batches of {_BATCH} documents, cases "
        "in turns; row-sparse Adam, one thread; from sparse rows to new scores"
    )
    times = alternate(steppers, batches, rounds=_GROWTH_ROUNDS)
    for tree, some, timing in zip(trees, documents, times, strict=True):
        named: dict[str, Value] = {"case": kind, "words": some.histograms.shape[1], "nodes": tree.n_nodes}
        measures: dict[str, Value] = {"batch_words": round(float(words)), "step_seconds": rounded(timing.median)}
        yield Row("train", named, measures, protocol)


def _widened(documents: LabelledHistograms, n_words: int) -> LabelledHistograms:
    """Spread the words over a larger vocabulary."""
    from scipy.sparse import csr_array

    counts = documents.histograms
    places = np.sort(np.random.default_rng(0).permutation(n_words)[: counts.shape[1]])
    wide = csr_array((counts.data, places[counts.indices], counts.indptr), shape=(counts.shape[0], n_words))
    return LabelledHistograms(wide, documents.labels)


def _option_rows(data: _Data, quick: bool) -> Iterator[Row]:
    """Fit with one option at a time on TWITTER, all else at its default; means over seeds."""
    documents, name = _option_documents(data, quick)
    small = {"arity": 2, "depth": 1, "epochs": 2} if quick else {"depth": 3, "epochs": _OPTION_EPOCHS}
    for option in _OPTIONS[1:2] if quick else _OPTIONS:
        found = [_fitted({**small, **option, "random_state": seed}, *documents) for seed in range(_OPTION_SEEDS)]
        measures: dict[str, Value] = {
            measure: round(float(np.mean([each[measure] for each in found])), 3) for measure in found[0]
        }
        measures["error_deviation"] = round(float(np.std([each["error_percent"] for each in found])), 3)
        told = ", ".join(f"{key}={value!r}" for key, value in option.items()) or "defaults"
        protocol = (
            f"mean of {_OPTION_SEEDS} seeds, 5-ary tree of depth 3, {_OPTION_EPOCHS} epochs, else defaults; fall-back "
            "vote, k = 19. Losses are those of the epoch taken"
        )
        yield Row("train", {"case": "ablation", "set": name, "option": told}, measures, protocol)


def _option_documents(data: _Data, quick: bool) -> tuple[tuple[Any, Any, Any, Any], str]:
    """Return training and test documents with labels, of the first split of TWITTER or generated, and the name."""
    if quick:
        counts, labels = make_documents(100, n_words=50, words_per_document=8, n_classes=2)
        return (counts[:60], labels[:60], counts[60:], labels[60:]), "generated"
    split = load_set("twitter", data).split(0)
    return (split.X_train, split.y_train, split.X_test, split.y_test), "twitter"


def _fitted(settings: dict[str, Any], X: Any, y: Any, Z: Any, truth: Any) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word
        learner = SupervisedTreeWasserstein(**settings).fit(X, y)
        classifier = TreeWassersteinClassifier(learner.metric_, vote="fallback").fit(X, y)
        error = 100 * float(np.mean(classifier.predict(Z) != truth))
    taken = learner.history_[learner.best_epoch_ - 1]
    return {
        "error_percent": error,
        "validation_percent": 100 * float(taken.validation_error or 0.0),
        "loss": taken.loss,
        "validation_loss": float(taken.validation_loss or 0.0),
        "epoch": float(learner.best_epoch_),
        "epoch_seconds": float(np.median([record.seconds for record in learner.history_])),
    }


_MAKERS = {
    "dense": _dense_rows,
    "memory": _memory_rows,
    "vocabulary": _vocabulary_rows,
    "depth": _depth_rows,
    "ablation": _option_rows,
}
CASES = tuple(_MAKERS)
