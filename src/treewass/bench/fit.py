"""``treewass bench fit``: how long learning takes beside counting words and a grid search, and its memory."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treewass.bench.datasets import PAPER_SETS, load_set
from treewass.bench.rows import Row, Value
from treewass.learners.profile import ProfileTreeWasserstein

__all__ = ["bench_fit"]

_CASES = ("stage1", "search", "memory")
_PENALTIES = (0.1, 0.3, 1.0, 3.0)
_LARGE_SET = "20news"
_REPETITIONS = 5


def bench_fit(
    cases: Sequence[str] = _CASES, data: str | os.PathLike[str] | None = None, n_documents: int = 1_000_000
) -> Iterator[Row]:
    """Measure learning.

    Parameters
    ----------
    cases : sequence of {"stage1", "search", "memory"}
        Counting and clustering beside scikit-learn's CountVectorizer on the same texts; both stages beside a grid
        search of a linear SVM on 20news; memory on generated documents.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    n_documents : int, default=1_000_000
        Documents generated for memory.

    Yields
    ------
    Row
    """
    unknown = [case for case in cases if case not in _CASES]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(_CASES)}, got {', '.join(unknown)}.")
    if "stage1" in cases:
        for name in (*PAPER_SETS, _LARGE_SET):
            yield _stage_one(name, data)
    if "search" in cases:
        yield _grid_search(data)
    if "memory" in cases:
        yield _memory(n_documents)


def _stage_one(name: str, data: str | os.PathLike[str] | None) -> Row:
    """Time stage 1 and CountVectorizer in turns."""
    from sklearn.feature_extraction.text import CountVectorizer

    split = load_set(name, data).split(0)
    counting, learning = [], []
    for _ in range(_REPETITIONS):
        counting.append(_seconds(lambda: CountVectorizer().fit_transform(split.train_texts)))
        learning.append(_seconds(lambda: ProfileTreeWasserstein(refine=False).fit(split.X_train, split.y_train)))
    measures: dict[str, Value] = {
        "train_documents": len(split.train_texts),
        "stage1_seconds": round(min(learning), 4),
        "count_vectorizer_seconds": round(min(counting), 4),
        "ratio": round(min(learning) / min(counting), 3),
    }
    protocol = f"smallest of {_REPETITIONS} fits of each, in turns, on the training texts of the first split"
    return Row("fit", {"case": "stage1", "set": name}, measures, protocol)


def _grid_search(data: str | os.PathLike[str] | None) -> Row:
    """Time both stages and a grid search of a linear SVM."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    split = load_set(_LARGE_SET, data).split(0)
    ProfileTreeWasserstein().fit(split.X_train[:200], split.y_train[:200])  # compiles the kernels
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(split.X_train)
    learning = [_seconds(lambda: ProfileTreeWasserstein().fit(split.X_train, split.y_train)) for _ in range(2)]
    search = _seconds(lambda: GridSearchCV(LinearSVC(), {"C": _PENALTIES}).fit(weighted, split.y_train))
    measures: dict[str, Value] = {
        "both_stages_seconds": round(min(learning), 3),
        "grid_search_seconds": round(search, 3),
        "ratio": round(min(learning) / search, 3),
    }
    protocol = f"smaller of two fits; one GridSearchCV of LinearSVC, C of {_PENALTIES}, 5 folds; one process"
    return Row("fit", {"case": "search", "set": _LARGE_SET}, measures, protocol)


def _memory(n_documents: int) -> Row:
    """Trace what stage 1 allocates on generated documents."""
    from treewass.documents.synthetic import make_documents

    X, y = make_documents(n_documents, n_words=100_000, n_classes=20)
    ProfileTreeWasserstein(refine=False).fit(X[:1000], y[:1000])
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    try:
        start = time.perf_counter()
        ProfileTreeWasserstein(refine=False).fit(X, y)
        seconds = time.perf_counter() - start
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    measures: dict[str, Value] = {
        "documents": n_documents,
        "matrix_megabytes": round(held / 1e6, 1),
        "peak_megabytes": round(peak / 1e6, 1),
        "ratio": round(peak / held, 3),
        "seconds": round(seconds, 2),
    }
    protocol = "peak that numpy and Python allocate during fit (tracemalloc), beyond the matrix itself"
    return Row("fit", {"case": "memory", "set": "generated, 100000 words, 20 classes"}, measures, protocol)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
