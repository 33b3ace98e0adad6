"""``python -m treewass_bench scale``: bytes a document, one query in two threads, and a large collection in shards."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import ShardedIndex, TreeIndex
from treewass.documents import make_documents
from treewass_bench.cells import Cell
from treewass_bench.rows import Value
from treewass_bench.speed_rivals import random_metric
from treewass_bench.timing import rounded

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["measure_bytes", "measure_collection", "measure_threads", "scale_cells"]

_WORDS, _QUERIES, _BATCH, _K = 20_000, 40, 300, 10
_GROUPS = {
    "words": ("words",),
    "weights": ("weights",),
    "dense": ("dense",),
    "postings": ("postings",),
    "directory": ("directory", "tiles", "starts"),
    "other": ("ids", "held", "document_bounds", "norms"),
}


def scale_cells(
    cases: Sequence[str], documents: int, shards: int, folder: Path, *, sample: int = 100_000, threads: int = 400_000
) -> list[Cell]:
    """List what to measure.

    Parameters
    ----------
    cases : sequence of str
        Of ``bytes``, ``threads`` and ``collection``.
    documents, shards : int
        The size of the collection.
    folder : Path
        Where its shards are written; those that are there are not built again. Removed in the end.
    sample, threads : int
        Documents to count bytes of, and to search with two threads.

    Returns
    -------
    list of Cell
    """
    cells = []
    if "bytes" in cases:
        for vocabulary in (20_000, 200_000, 1_000_000):
            case: dict[str, Value] = {"part": "bytes", "documents": sample, "vocabulary": vocabulary}
            protocol = "arrays of the segments of one index of generated documents of 40 words, random tree"
            cells.append(Cell("scale", case, partial(measure_bytes, sample, vocabulary), protocol, 60.0))
    if "threads" in cases:
        protocol = f"{_QUERIES} single queries in turns, top {_K}, two shards; medians of wall-clock time"
        case = {"part": "threads", "documents": threads, "shards": 2}
        cells.append(Cell("scale", case, partial(measure_threads, threads), protocol, 60.0, alone=True))
    if "collection" in cases:
        protocol = (
            f"generated documents of 40 words, vocabulary {_WORDS}, random tree; shards built one after the other, "
            f"then mapped; {_QUERIES} single queries and a batch of {_BATCH}, top {_K}; medians of wall-clock time"
        )
        case = {"part": "collection", "documents": documents, "shards": shards}
        measure = partial(measure_collection, documents, shards, folder)
        cells.append(Cell("scale", case, measure, protocol, documents * 1e-4, alone=True))
    return cells


def measure_bytes(n_documents: int, vocabulary: int) -> dict[str, Value]:
    """Count the bytes of each array of an index, by document."""
    counts, _ = make_documents(n_documents, n_words=vocabulary, random_state=0)
    index = TreeIndex(random_metric(vocabulary))
    index.add(counts)
    segments = index._snapshot.segments
    found: dict[str, Value] = {
        group: round(sum(getattr(s, name).nbytes for s in segments for name in names) / n_documents, 1)
        for group, names in _GROUPS.items()
    }
    return {**found, "bytes a document": round(sum(map(float, found.values())), 1)}  # type: ignore[arg-type]


def measure_threads(n_documents: int) -> dict[str, Value]:
    """Time single queries in two shards, by one thread and by two, and in one index."""
    counts, _ = make_documents(n_documents + _QUERIES, n_words=_WORDS, random_state=0)
    one = TreeIndex(random_metric(_WORDS))
    one.add(counts[:n_documents])
    indexes: dict[str, TreeIndex | ShardedIndex] = {
        "one index": one,
        "one thread": ShardedIndex.from_index(one, 2, n_jobs=1),
        "two threads": ShardedIndex.from_index(one, 2, n_jobs=2),
    }
    queries = [counts[[row]] for row in range(n_documents, n_documents + _QUERIES)]
    answers = {name: [index.search(query, _K) for query in queries] for name, index in indexes.items()}
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
                times[name].append(_seconds(index, query))
    medians = {name: float(np.median(own)) for name, own in times.items()}
    return {
        **{f"{name}, ms": rounded(1e3 * value) for name, value in medians.items()},
        "two threads / one thread": rounded(medians["two threads"] / medians["one thread"]),
        "two threads / one index": rounded(medians["two threads"] / medians["one index"]),
        "same answers": same,
    }


def measure_collection(n_documents: int, n_shards: int, folder: Path) -> dict[str, Value]:
    """Build shards, map them, and search; what was built before the command was killed is built no more."""
    metric, per_shard = random_metric(_WORDS), n_documents // n_shards
    built, seconds = 0, 0.0
    for number in range(n_shards):
        part = folder / f"shard-{number}"
        if part.exists():
            continue
        counts, _ = make_documents(per_shard, n_words=_WORDS, random_state=number)
        start = time.perf_counter()
        shard = TreeIndex(metric)
        shard.add(counts, np.arange(number * per_shard, (number + 1) * per_shard))
        shard.save(folder / "unfinished")
        (folder / "unfinished").rename(part)
        seconds += time.perf_counter() - start
        built += per_shard
        del shard, counts
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    start = time.perf_counter()
    parts = [TreeIndex.load(folder / f"shard-{number}") for number in range(n_shards)]
    index = ShardedIndex(parts, n_jobs=2)
    opened = time.perf_counter() - start
    queries, _ = make_documents(_BATCH, n_words=_WORDS, random_state=n_shards)
    start = time.perf_counter()
    index.search(queries[[0]], _K)
    first = time.perf_counter() - start
    found: dict[str, Value] = {
        "build, µs a document": rounded(1e6 * seconds / built) if built else None,
        "file bytes a document": round(size / (per_shard * n_shards), 1),
        "searched bytes a document": round(sum(map(_searched_bytes, parts)) / (per_shard * n_shards), 1),
        "open, s": rounded(opened),
        "first query with checksums, s": rounded(first),
    }
    for n_jobs in (1, 2):
        index.n_jobs = n_jobs
        index.search(queries[[0]], _K)
        single = [_seconds(index, queries[[row]]) for row in range(_QUERIES)]
        found[f"one query, {n_jobs} thread(s), ms"] = rounded(1e3 * float(np.median(single)))
        found[f"batch, {n_jobs} thread(s), queries/s"] = rounded(_BATCH / _seconds(index, queries))
    found["anonymous memory, MB"] = round(_anonymous_bytes() / 1e6)
    found["peak memory with mapped files, MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    shutil.rmtree(folder)
    return found


def _searched_bytes(index: TreeIndex) -> int:
    """Count the bytes of the arrays that `search` reads, without the lists of words of `rank`."""
    names = [name for group in _GROUPS.values() for name in group]
    return sum(getattr(segment, name).nbytes for segment in index._snapshot.segments for name in names)


def _seconds(index: Any, queries: csr_array) -> float:
    start = time.perf_counter()
    index.search(queries, _K)
    return time.perf_counter() - start


def _anonymous_bytes() -> int:
    """Return the memory of this process that is no file's, on Linux; elsewhere 0."""
    status = Path(f"/proc/{os.getpid()}/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
