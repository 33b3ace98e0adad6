"""``python -m treewass_bench fit`` and ``memory``: how long learning takes, and the memory of each step of the flow."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from treewass import ProfileTreeWasserstein, TreeIndex
from treewass.documents import make_documents
from treewass.trees import embed
from treewass_bench.datasets import PAPER_SETS, load_set
from treewass_bench.passes import bench_passes
from treewass_bench.rows import Row, Value
from treewass_bench.timing import alternate, call_in_new_process, watch_memory

__all__ = ["bench_fit", "bench_memory"]

_CASES = ("stage1", "search", "channel", "passes", "memory")
_PENALTIES = (0.1, 0.3, 1.0, 3.0)
_LARGE_SET = "20news"
_ROUNDS = 5
_MEMORY_PROTOCOL = (
    "generated topical documents, 20 000 words, 8 classes, seed 0; peak and kept resident memory of a process of its "
    "own during the step, beyond what was there before it; loops compiled before"
)
_Data = str | os.PathLike[str] | None


def bench_fit(cases: Sequence[str] = _CASES, data: _Data = None, n_documents: int = 1_000_000) -> Iterator[Row]:
    """Measure learning.

    Parameters
    ----------
    cases : sequence of {"stage1", "search", "channel", "passes", "memory"}
        Counting and clustering beside scikit-learn's CountVectorizer on the same texts; both stages beside a grid
        search of a linear SVM on 20news; the support vectors of the linear channel beside LIBLINEAR's; errors by the
        passes of refinement on many passages; memory on generated documents.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    n_documents : int, default=1_000_000
        Documents generated for memory.
    """
    unknown = [case for case in cases if case not in _CASES]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(_CASES)}, got {', '.join(unknown)}.")
    if "stage1" in cases:
        for name in (*PAPER_SETS, _LARGE_SET):
            yield _stage_one(name, data)
    if "search" in cases:
        yield _grid_search(data)
    if "channel" in cases:
        for name in (*PAPER_SETS, _LARGE_SET):
            split = load_set(name, data).split(0)
            yield _channel(name, split.X_train, split.y_train)
        yield _channel("generated, two classes", *make_documents(10_000, n_classes=2))
    if "passes" in cases:
        yield from bench_passes(data)
    if "memory" in cases:
        found = call_in_new_process("treewass_bench.fit:memory_of_stage_one", n_documents)
        protocol = "peak resident memory of a process of its own during fit, beyond the matrix itself"
        yield Row("fit", {"case": "memory", "set": "generated, 100000 words, 20 classes"}, found, protocol)


def bench_memory(n_documents: int = 100_000, words_per_document: int = 40) -> Iterator[Row]:
    """Measure the memory of each step from counts to neighbours.

    Parameters
    ----------
    n_documents : int, default=100_000
        Documents to generate.
    words_per_document : int, default=40
        Mean number of words of a document.
    """
    found = call_in_new_process("treewass_bench.fit:memory_of_steps", n_documents, words_per_document)
    for step, measures in found.items():
        case: dict[str, Value] = {"step": step, "documents": n_documents, "words_per_document": words_per_document}
        yield Row("memory", case, measures, _MEMORY_PROTOCOL)


def memory_of_steps(n_documents: int, words_per_document: int) -> dict[str, dict[str, Value]]:
    """Run the steps one after the other; return the peak of each and what it left, in megabytes."""
    few = min(1000, n_documents)
    X, y = make_documents(few, words_per_document=words_per_document)
    metric = ProfileTreeWasserstein().fit(X, y).metric_  # imports and compiles what the steps use
    _search(metric, X, X)
    metric.pairwise(X[:2])
    kept: dict[str, Any] = {}
    steps: dict[str, Callable[[], Any]] = {
        "generate": lambda: make_documents(n_documents, words_per_document=words_per_document),
        "fit": lambda: ProfileTreeWasserstein().fit(*kept["generate"]),
        "embed": lambda: embed(kept["fit"].metric_, kept["generate"][0]),
        "index": lambda: _search(kept["fit"].metric_, kept["generate"][0]),
        "first search": lambda: kept["index"].search(kept["generate"][0][:1], 19),
        f"search {few} queries": lambda: kept["index"].search(kept["generate"][0][:few], 19),
        f"pairwise {few} x {few}": lambda: kept["fit"].metric_.pairwise(kept["generate"][0][:few]),
    }
    found: dict[str, dict[str, Value]] = {}
    for name, step in steps.items():
        with watch_memory() as memory:
            kept[name] = step()
        found[name] = {"peak_mb": _megabytes(memory.extra_bytes), "kept_mb": _megabytes(memory.kept_bytes)}
    return found


def memory_of_stage_one(n_documents: int) -> dict[str, Value]:
    """Watch the memory of stage 1 on generated documents."""
    X, y = make_documents(n_documents, n_words=100_000, n_classes=20)
    ProfileTreeWasserstein(refine=False).fit(X[:1000], y[:1000])
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    with watch_memory() as memory:
        (timing,) = alternate([lambda _: ProfileTreeWasserstein(refine=False).fit(X, y)], rounds=1, warm_up="never")
    peak = _megabytes(memory.extra_bytes)
    return {
        "documents": n_documents,
        "matrix_megabytes": round(held / 1e6, 1),
        "peak_megabytes": peak,
        "ratio": None if peak is None else round(1e6 * peak / held, 3),
        "seconds": round(timing.median, 2),
    }


def _stage_one(name: str, data: _Data) -> Row:
    """Time stage 1 and CountVectorizer in turns."""
    from sklearn.feature_extraction.text import CountVectorizer

    split = load_set(name, data).split(0)
    counting, learning = alternate(
        [
            lambda _: CountVectorizer().fit_transform(split.train_texts),
            lambda _: ProfileTreeWasserstein(refine=False).fit(split.X_train, split.y_train),
        ],
        rounds=_ROUNDS,
    )
    measures: dict[str, Value] = {
        "train_documents": len(split.train_texts),
        "stage1_seconds": round(learning.median, 4),
        "count_vectorizer_seconds": round(counting.median, 4),
        "ratio": round(learning.over(counting)[0], 3),
    }
    protocol = f"median CPU time of {_ROUNDS} fits of each, in turns, on the training texts of the first split"
    return Row("fit", {"case": "stage1", "set": name}, measures, protocol)


def _grid_search(data: _Data) -> Row:
    """Time both stages and a grid search of a linear SVM."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    split = load_set(_LARGE_SET, data).split(0)
    ProfileTreeWasserstein().fit(split.X_train[:200], split.y_train[:200])  # compiles the kernels
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(split.X_train)
    learning, search = alternate(
        [
            lambda _: ProfileTreeWasserstein().fit(split.X_train, split.y_train),
            lambda _: GridSearchCV(LinearSVC(), {"C": _PENALTIES}).fit(weighted, split.y_train),
        ],
        rounds=2,
        warm_up="never",
    )
    measures: dict[str, Value] = {
        "both_stages_seconds": round(learning.median, 3),
        "grid_search_seconds": round(search.median, 3),
        "ratio": round(learning.over(search)[0], 3),
    }
    protocol = f"median CPU time of two of each, in turns; GridSearchCV of LinearSVC, C of {_PENALTIES}, 5 folds"
    return Row("fit", {"case": "search", "set": _LARGE_SET}, measures, protocol)


def _channel(name: str, counts: Any, labels: Any) -> Row:
    """Time the solver of the linear channel and LIBLINEAR, told to stop as early, on the same features."""
    from scipy.sparse import csr_array
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.svm import LinearSVC

    from treewass.votes.linear_scores import support_vectors

    wide = csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
    features = wide.indptr.astype(np.int64), wide.indices.astype(np.int32), wide.data.astype(np.float32)
    classes, codes = np.unique(labels, return_inverse=True)
    shape, costs = (classes.size, wide.shape[1]), np.ones(codes.size)
    machine = LinearSVC(C=1.0, dual=True, tol=0.05, max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, theirs = alternate(
            [lambda _: support_vectors(features, codes, *shape, costs), lambda _: machine.fit(wide, codes)],
            rounds=_ROUNDS,
        )
    measures: dict[str, Value] = {
        "train_documents": codes.size,
        "seconds": round(ours.median, 4),
        "liblinear_seconds": round(theirs.median, 4),
        "ratio": round(ours.over(theirs)[0], 3),
    }
    protocol = (
        f"median CPU time of {_ROUNDS} fits of each, in turns, C = 1, TF-IDF of words, documents of the first split"
    )
    return Row("fit", {"case": "channel", "set": name}, measures, protocol)


def _search(metric: Any, documents: Any, queries: Any = None) -> TreeIndex:
    index = TreeIndex(metric)
    index.add(documents)
    if queries is not None:
        index.search(queries, 1)
    return index


def _megabytes(n_bytes: int | None) -> float | None:
    return None if n_bytes is None else round(n_bytes / 1e6, 1)
