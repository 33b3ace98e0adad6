"""``python -m treewass_bench scale``: bytes a document, one query in two threads, a large collection in shards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from treewass import ProfileTreeWasserstein, ShardedIndex, TreeIndex
from treewass.documents import make_documents
from treewass_bench.cells import Cell, Report
from treewass_bench.rows import Value
from treewass_bench.scale_order import measure_order
from treewass_bench.scale_shards import (
    ARRAYS,
    BATCH,
    QUERIES,
    WORDS,
    K,
    measure_actors,
    measure_collection,
    seconds_of,
)
from treewass_bench.speed_rivals import random_metric
from treewass_bench.timing import rounded

__all__ = ["measure_bytes", "measure_threads", "scale_cells"]

_TREES = ("random", "profile learner")
_LEARNED_FROM = 20_000  # documents


def scale_cells(
    cases: Sequence[str],
    documents: int,
    shards: int,
    folder: Path,
    *,
    sample: int = 200_000,
    threads: int = 400_000,
    data: str | None = None,
    say: Report | None = None,
) -> list[Cell]:
    """List what to measure.

    Parameters
    ----------
    cases : sequence of str
        Of ``bytes``, ``threads``, ``order``, ``collection`` and ``actors``.
    documents, shards : int
        The size of the collection, for the last two.
    folder : Path
        Where its shards are written; those that are there are not built again.
    sample, threads : int
        Documents to count bytes of, and to search with two threads.
    data : str, optional
        The folder of the text sets, for ``order``.
    say : callable, optional
        Takes a sentence about what it is doing.

    Returns
    -------
    list of Cell
    """
    cells = []
    if "bytes" in cases:
        protocol = (
            "arrays of the segments of one index of generated documents of 40 words in 8 classes; a random tree of "
            f"depth 5, or the tree that the profile learner makes of the first {_LEARNED_FROM} documents"
        )
        for tree in _TREES:
            for vocabulary in (20_000, 200_000, 1_000_000):
                case: dict[str, Value] = {"part": "bytes", "documents": sample, "vocabulary": vocabulary, "tree": tree}
                cells.append(Cell("scale", case, partial(measure_bytes, sample, vocabulary, tree), protocol, 10.0))
    if "threads" in cases:
        protocol = f"{QUERIES} single queries in turns, top {K}, two shards; medians of wall-clock time"
        case = {"part": "threads", "documents": threads, "shards": 2}
        cells.append(Cell("scale", case, partial(measure_threads, threads), protocol, 60.0, alone=True))
    if "order" in cases:
        cells += _order_cells(sample, data)
    drawn = f"generated documents of 40 words, vocabulary {WORDS}, random tree"
    asked = f"{QUERIES} single queries and a batch of {BATCH}, top {K}; medians of wall-clock time"
    if "collection" in cases:
        protocol = f"{drawn}; shards built one after the other, then mapped; {asked}"
        case = {"part": "collection", "documents": documents, "shards": shards}
        measure = partial(measure_collection, documents, shards, folder, say)
        cells.append(Cell("scale", case, measure, protocol, documents * 3e-5, alone=True))
    if "actors" in cases:
        protocol = (
            f"{drawn}; shards mapped by two threads of this process, and by two Dask workers of one thread each on the "
            f"same machine; {asked}; then single queries of four threads at a time"
        )
        case = {"part": "actors", "documents": documents, "shards": shards, "workers": 2}
        measure = partial(measure_actors, documents, shards, folder, say)
        cells.append(Cell("scale", case, measure, protocol, documents * 3e-5, alone=True))
    return cells


def _order_cells(sample: int, data: str | None) -> list[Cell]:
    protocol = (
        "arrays of one index, and compressed by zlib; blocks whose bound by the largest value of each feature does not "
        f"exceed the distance of the {K}th neighbour, over {QUERIES} queries; tree of the profile learner"
    )
    cells = []
    for source in ("generated", "reuters", "amazon", "ohsumed", "20news"):
        for order in ("drawn", "branches"):
            case: dict[str, Value] = {"part": "order", "source": source, "order": order}
            measure = partial(measure_order, source, sample, "profile learner", order, data)
            cells.append(Cell("scale", case | {"documents": sample}, measure, protocol, 20.0))
    return cells


def measure_bytes(n_documents: int, vocabulary: int, tree: str) -> dict[str, Value]:
    """Count the bytes of each array of an index, by document."""
    counts, labels = make_documents(n_documents, n_words=vocabulary, random_state=0)
    few = slice(_LEARNED_FROM)
    metric = random_metric(vocabulary)
    if tree != "random":
        metric = ProfileTreeWasserstein(refine=False).fit(counts[few], labels[few]).metric_
    index = TreeIndex(metric)
    index.add(counts)
    segments = index._snapshot.segments
    found: dict[str, Value] = {
        group: round(sum(getattr(s, name).nbytes for s in segments for name in names) / n_documents, 1)
        for group, names in ARRAYS.items()
    }
    return {**found, "bytes a document": round(sum(map(float, found.values())), 1)}  # type: ignore[arg-type]


def measure_threads(n_documents: int) -> dict[str, Value]:
    """Time single queries in two shards, by one thread and by two, and in one index."""
    counts, _ = make_documents(n_documents + QUERIES, n_words=WORDS, random_state=0)
    one = TreeIndex(random_metric(WORDS))
    one.add(counts[:n_documents])
    indexes: dict[str, TreeIndex | ShardedIndex] = {
        "one index": one,
        "one thread": ShardedIndex.from_index(one, 2, n_jobs=1),
        "two threads": ShardedIndex.from_index(one, 2, n_jobs=2),
    }
    queries = [counts[[row]] for row in range(n_documents, n_documents + QUERIES)]
    answers = {name: [index.search(query, K) for query in queries] for name, index in indexes.items()}
    same = all(
        np.array_equal(found[part], expected[part])
        for name in indexes
        for found, expected in zip(answers[name], answers["one index"], strict=True)
        for part in (0, 1)
    )
    times: dict[str, list[float]] = {name: [] for name in indexes}
    for _ in range(5):
        for query in queries:
            for name, index in indexes.items():
                times[name].append(seconds_of(index, query))
    medians = {name: float(np.median(own)) for name, own in times.items()}
    return {
        **{f"{name}, ms": rounded(1e3 * value) for name, value in medians.items()},
        "two threads / one thread": rounded(medians["two threads"] / medians["one thread"]),
        "two threads / one index": rounded(medians["two threads"] / medians["one index"]),
        "same answers": same,
    }
