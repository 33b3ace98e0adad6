"""A large collection in shards on the disk: built, mapped, searched in this process and on two Dask workers."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import ShardedIndex, TreeIndex
from treewass.compute.extras import require
from treewass.documents import make_documents
from treewass_bench.cells import Report
from treewass_bench.rows import Value
from treewass_bench.speed_rivals import random_metric
from treewass_bench.timing import rounded

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "ARRAYS",
    "BATCH",
    "QUERIES",
    "WORDS",
    "K",
    "measure_actors",
    "measure_collection",
    "remove_shards",
    "seconds_of",
]

WORDS, QUERIES, BATCH, K = 20_000, 40, 300, 10
ARRAYS = {
    "words": ("words",),
    "weights": ("weights",),
    "dense": ("dense",),
    "postings": ("postings",),
    "directory": ("directory", "tiles", "starts"),
    "other": ("ids", "held", "document_bounds", "norms"),
}
_THREADS = 4  # that ask at the same time


def measure_collection(n_documents: int, n_shards: int, folder: Path, say: Report | None = None) -> dict[str, Value]:
    """Build shards, map them, and search; what was built before the command was killed is built no more."""
    say = say or _silent
    folders, cost = _built(n_documents, n_shards, folder, say)
    size = sum(file.stat().st_size for part in folders for file in part.rglob("*") if file.is_file())
    start = time.perf_counter()
    parts = [TreeIndex.load(part) for part in folders]
    index = ShardedIndex(parts, n_jobs=2)
    opened = time.perf_counter() - start
    queries = _queries(n_shards)
    say("first query, with checksums of all files")
    first = seconds_of(index, queries[[0]])
    n_held = n_documents // n_shards * n_shards
    found: dict[str, Value] = {
        "build, µs a document": None if cost is None else rounded(1e6 * cost),
        "file bytes a document": round(size / n_held, 1),
        "searched bytes a document": round(sum(map(_searched_bytes, parts)) / n_held, 1),
        "open, s": rounded(opened),
        "first query with checksums, s": rounded(first),
    }
    for n_jobs in (1, 2):
        say(f"{QUERIES} queries and a batch of {BATCH}, {n_jobs} thread(s)")
        index.n_jobs = n_jobs
        index.search(queries[[0]], K)
        found[f"one query, {n_jobs} thread(s), ms"] = rounded(1e3 * _median(index, queries))
        found[f"batch, {n_jobs} thread(s), queries/s"] = rounded(BATCH / seconds_of(index, queries))
    found["anonymous memory, MB"] = round(_anonymous_bytes() / 1e6)
    found["peak memory with mapped files, MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return found


def measure_actors(n_documents: int, n_shards: int, folder: Path, say: Report | None = None) -> dict[str, Value]:
    """Search shards in two threads of this process and on two Dask workers; compare answers and times."""
    say = say or _silent
    distributed: Any = require("distributed", purpose="python -m treewass_bench scale", extra="dask")
    from treewass.distributed.remote_shards import shards_on_workers

    folders, _ = _built(n_documents, n_shards, folder, say)
    here = ShardedIndex([TreeIndex.load(part) for part in folders], n_jobs=2)
    queries = _queries(n_shards)
    say("starting two Dask workers")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, direct_to_workers=True) as client:
        start = time.perf_counter()
        remote = shards_on_workers(folders, client)
        opened = time.perf_counter() - start
        say("first query of the workers, with checksums of all files")
        first = seconds_of(remote, queries[[0]])
        indexes = {"this process": here, "workers": remote}
        found: dict[str, Value] = {"open, s": rounded(opened), "first query with checksums, s": rounded(first)}
        answers = []
        for where, index in indexes.items():
            say(f"{QUERIES} queries, a batch of {BATCH}, and {_THREADS} threads, {where}")
            answers.append(index.search(queries, K))
            found[f"one query, {where}, ms"] = rounded(1e3 * _median(index, queries))
            found[f"batch, {where}, queries/s"] = rounded(BATCH / seconds_of(index, queries))
            found[f"single queries of {_THREADS} threads, {where}, queries/s"] = rounded(
                _asked_together(index, queries)
            )
    alone, workers = (float(str(found[f"one query, {where}, ms"])) for where in indexes)
    found["overhead a query, ms"] = rounded(workers - alone)
    found["same answers"] = all(np.array_equal(*pair) for pair in zip(*answers, strict=True))
    return found


def _built(n_documents: int, n_shards: int, folder: Path, say: Report) -> tuple[list[Path], float | None]:
    """Build the shards that are not there; return their folders, and the seconds a document of what was built."""
    metric, per_shard = random_metric(WORDS), n_documents // n_shards
    folders = [folder / f"shard-{number}-of-{n_shards}-with-{per_shard}" for number in range(n_shards)]
    built, seconds = 0, 0.0
    for number, part in enumerate(folders):
        if part.exists():
            continue
        say(f"building shard {number + 1} of {n_shards}, {per_shard} documents each")
        counts, _ = make_documents(per_shard, n_words=WORDS, random_state=number)
        start = time.perf_counter()
        shard = TreeIndex(metric)
        shard.add(counts, np.arange(number * per_shard, (number + 1) * per_shard))
        shard.save(folder / "unfinished")
        (folder / "unfinished").rename(part)
        seconds += time.perf_counter() - start
        built += per_shard
        del shard, counts
    return folders, seconds / built if built else None


def remove_shards(folder: Path) -> None:
    """Remove what was built, and the folder if nothing else is in it."""
    for part in (*folder.glob("shard-*-of-*-with-*"), folder / "unfinished"):
        shutil.rmtree(part, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def seconds_of(index: Any, queries: csr_array) -> float:
    """Time a search by the clock."""
    start = time.perf_counter()
    index.search(queries, K)
    return time.perf_counter() - start


def _queries(n_shards: int) -> csr_array:
    return make_documents(BATCH, n_words=WORDS, random_state=n_shards)[0]


def _median(index: Any, queries: csr_array) -> float:
    return float(np.median([seconds_of(index, queries[[row]]) for row in range(QUERIES)]))


def _asked_together(index: Any, queries: csr_array) -> float:
    """Ask single queries in several threads; return how many are answered in a second."""
    ask: Callable[[int], float] = lambda row: seconds_of(index, queries[[row]])  # noqa: E731
    with ThreadPoolExecutor(_THREADS) as pool:
        start = time.perf_counter()
        list(pool.map(ask, range(2 * QUERIES)))
        return 2 * QUERIES / (time.perf_counter() - start)


def _searched_bytes(index: TreeIndex) -> int:
    """Count the bytes of the arrays that `search` reads, without the lists of words of `rank`."""
    names = [name for group in ARRAYS.values() for name in group]
    return sum(getattr(segment, name).nbytes for segment in index._snapshot.segments for name in names)


def _anonymous_bytes() -> int:
    """Return the memory of this process that is no file's, on Linux; elsewhere 0."""
    status = Path(f"/proc/{os.getpid()}/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def _silent(_: str) -> None:
    """Say nothing."""
