"""``treewass bench memory``: how much memory each step of the flow needs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from treewass.bench.rows import Row, Value
from treewass.documents.synthetic import make_documents
from treewass.learners.profile import ProfileTreeWasserstein
from treewass.search.distance_matrix import pairwise
from treewass.search.embedding import embed
from treewass.search.index import TreeIndex

__all__ = ["bench_memory"]

_MEGABYTE = 1e6
_PROTOCOL = (
    "generated topical documents, 20 000 words, 8 classes, seed 0; peak and kept memory that numpy and Python "
    "allocate during the step (tracemalloc), beyond what was there before it"
)


def bench_memory(n_documents: int = 100_000, words_per_document: int = 40) -> Iterator[Row]:
    """Measure the memory of each step from counts to neighbours.

    Parameters
    ----------
    n_documents : int, default=100_000
        Documents to generate.
    words_per_document : int, default=40
        Mean number of words of a document.

    Yields
    ------
    Row
        One a step, as soon as it is measured.
    """
    few = min(1000, n_documents)
    tracemalloc.start()
    try:
        (X, y), row = _measured("generate", n_documents, words_per_document, _generate(n_documents, words_per_document))
        yield row
        _warm_up(X[:few], y[:few])
        learner, row = _measured("fit", n_documents, words_per_document, lambda: ProfileTreeWasserstein().fit(X, y))
        yield row
        index = TreeIndex(learner.metric_)
        steps: dict[str, Callable[[], Any]] = {
            "embed": lambda: embed(learner.metric_, X),
            "index": lambda: index.add(X),
            "first search": lambda: index.search(X[:1], 19),
            f"search {few} queries": lambda: index.search(X[:few], 19),
            f"pairwise {few} x {few}": lambda: pairwise(learner.metric_, X[:few]),
        }
        for name, step in steps.items():
            yield _measured(name, n_documents, words_per_document, step)[1]
    finally:
        tracemalloc.stop()


def _warm_up(X: Any, y: Any) -> None:
    """Import and compile what the steps use: that memory is not theirs."""
    metric = ProfileTreeWasserstein().fit(X, y).metric_
    index = TreeIndex(metric)
    index.add(X)
    index.search(X, 1)
    embed(metric, X[:2])
    pairwise(metric, X[:2])


def _generate(n_documents: int, words_per_document: int) -> Callable[[], Any]:
    return lambda: make_documents(n_documents, words_per_document=words_per_document)


def _measured(step: str, n_documents: int, words_per_document: int, work: Callable[[], Any]) -> tuple[Any, Row]:
    """Run a step; return its result and its row."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    result = work()
    after, peak = tracemalloc.get_traced_memory()
    case: dict[str, Value] = {"step": step, "documents": n_documents, "words_per_document": words_per_document}
    measures = {"peak_mb": round((peak - before) / _MEGABYTE, 1), "kept_mb": round((after - before) / _MEGABYTE, 1)}
    return result, Row("memory", case, measures, _PROTOCOL)
