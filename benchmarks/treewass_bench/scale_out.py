"""``python -m treewass_bench scale-out``: files that are never all in memory, here and on Dask, beside a usual fit."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treewass.compute.extras import require
from treewass_bench.rows import Row, Value
from treewass_bench.timing import call_in_new_process, rounded

__all__ = ["bench_scale_out"]

_FILES = 10
_K = 10
_SAMPLE = 50_000  # the default of every way that never holds all texts
_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
_PURPOSE = "python -m treewass_bench scale-out"
_MODULE = "treewass_bench.scale_out"
_WAYS = ("in memory", "file by file", "two Dask workers", "in memory, refined on all")
_IN_MEMORY = ("in memory", "in memory, refined on all")  # without a limit
_PROTOCOL = (
    "generated texts of 40 words, 20 000 different ones, 8 classes, in ten Parquet files; fit, index and save, then "
    "label the texts scored, which are others; CPU time of all processes; each way in a new process. The metric is "
    "learned from the counts of all texts, and refined on the same 50 000 of them where there are more: the same model "
    "to the bit, so that all ways do the same work; only 'in memory, refined on all' is the usual fit. In memory, all "
    "texts are held at once, read and counted once, and memory has no limit; file by file and with Dask, every process "
    "may have so much anonymous memory and no more (RLIMIT_DATA; Arrow uses the system's allocator, since its own "
    "reserves a gigabyte of addresses, which the limit counts). The peak is the resident memory of the largest process"
)
_SEARCH_PROTOCOL = (
    "top 10 of one query at a time, in turns, by the clock: median; then all queries as one batch; shards mapped in "
    "this process by one thread and on two Dask workers; equal counts queries with the same ids and distances"
)


def bench_scale_out(
    n_documents: int, n_scored: int, ways: Sequence[str] = _WAYS, *, limit_gb: float = 2.0, n_queries: int = 100
) -> Iterator[Row]:
    """Fit, index and score generated files in several ways, and ask the shards through Dask.

    Parameters
    ----------
    n_documents : int
        Texts to learn from.
    n_scored : int
        Texts to label.
    ways : sequence of str
        Of "in memory", "file by file", "two Dask workers" and "in memory, refined on all".
    limit_gb : float, default=2.0
        Anonymous memory of each process, but in memory.
    n_queries : int, default=100
        Queries to the shards of the last model; none after "in memory" alone.
    """
    require("pyarrow", purpose=_PURPOSE, extra="files")
    with TemporaryDirectory() as folder:
        call_in_new_process(f"{_MODULE}:write_files", folder, n_documents, n_scored)
        for number, way in enumerate(ways):
            limit = None if way in _IN_MEMORY else int(limit_gb * 2**30)
            found = call_in_new_process(f"{_MODULE}:run_way", folder, way, limit, f"model-{number}")
            case: dict[str, Value] = {"documents": n_documents, "scored": n_scored, "way": way}
            measures: dict[str, Value] = {"limit_gb": None if limit is None else limit_gb, **found}
            yield Row("scale-out", case, measures, _PROTOCOL)
        if set(ways) - set(_IN_MEMORY):
            last = max(number for number, way in enumerate(ways) if way not in _IN_MEMORY)
            for where, found in call_in_new_process(
                f"{_MODULE}:ask_shards", folder, f"model-{last}", n_queries
            ).items():
                asked: dict[str, Value] = {"documents": n_documents, "scored": n_queries, "way": f"search, {where}"}
                yield Row("scale-out", asked, found, _SEARCH_PROTOCOL)


def write_files(folder: str, n_documents: int, n_scored: int) -> None:
    """Write texts to learn from and texts to label as Parquet files."""
    import pyarrow
    import pyarrow.parquet

    from treewass_bench.datasets import generated_texts

    texts, labels = generated_texts(n_documents + n_scored)
    names = [f"class {label}" for label in labels.tolist()]
    for part, rows in (("train", range(n_documents)), ("score", range(n_documents, n_documents + n_scored))):
        Path(folder, part).mkdir()
        for number, own in enumerate(np.array_split(np.array(rows), _FILES)):
            chosen = slice(int(own[0]), int(own[-1]) + 1)
            table = pyarrow.table({"text": texts[chosen], "label": names[chosen]})
            pyarrow.parquet.write_table(table, Path(folder, part, f"{number}.parquet"), row_group_size=20_000)


def run_way(folder: str, way: str, limit: int | None, name: str) -> dict[str, Value]:
    """Fit, index, save and score in one of the ways; return figures."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # before Arrow is loaded, here and in workers
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    fit = dict(zip(_WAYS, (_fit_in_memory, _fit_by_file, _fit_with_dask, _fit_on_all), strict=True))[way]
    start = time.perf_counter()
    before = _cpu_seconds()
    fitted, scored = fit(Path(folder), Path(folder, name))
    return {
        "wall_seconds": rounded(time.perf_counter() - start),
        "cpu_seconds": rounded(_cpu_seconds() - before),
        "fit_cpu_seconds": None if fitted is None else rounded(fitted - before),
        "peak_megabytes": round(max(resource.getrusage(who).ru_maxrss for who in _WHO) / 1024),
        "metric": hash_of_metric(Path(folder, name)),
        "error_percent": rounded(100 * scored.n_wrong / scored.n_documents),
    }


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in _WHO]
    return sum(one.ru_utime + one.ru_stime for one in used)


def hash_of_metric(model: Path) -> str:
    """Return the first figures of a hash of a model's metric and vote: equal models have equal ones."""
    from treewass.model.model_folder import load_contents

    held = load_contents(model)
    parts = [held.index.metric.masses, *held.vote.prior, held.vote.temperature]
    return sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()[:12]


def _fit_in_memory(folder: Path, target: Path) -> tuple[float, Any]:
    from treewass import DocumentModel, TreeIndex
    from treewass.documents import read_corpus
    from treewass.documents.samples import Sampling, document_hash
    from treewass.learners import ClassCounts
    from treewass.model.fitting import learned_contents
    from treewass.model.labelled_texts import NewTexts, class_numbers
    from treewass.model.vectorizers import WordCounter

    corpus = read_corpus(str(folder / "train" / "*.parquet"))
    texts, labels, sampling = list(corpus.texts), list(corpus.labels or ()), Sampling(_SAMPLE)
    del corpus
    counter, sequences = WordCounter().learned(texts, anew=True)
    counted = counter.count(texts, sequences)
    for text, label in zip(texts, labels, strict=True):
        sampling.add(text, label)
    sample, weights, rows = sampling.sample(), None, np.arange(len(texts))
    if not sample.is_whole:
        hashes = np.array([document_hash(*one) for one in zip(texts, labels, strict=True)], dtype=np.uint64)
        distinct, first = np.unique(hashes, return_index=True)
        rows = first[np.searchsorted(distinct, sample.hashes)]
        weights = None if (sample.copies == 1).all() else sample.copies.astype(np.float64)
    model = DocumentModel()
    chosen = [texts[row] for row in rows], [labels[row] for row in rows]
    counts = ClassCounts.from_matrix(counted, labels, counter.words)
    learned = learned_contents(model, counter, counts, *chosen, weights)
    index = TreeIndex(learned.index.metric)
    ids = index.add(counted)
    kept = NewTexts(texts, labels).kept(ids, class_numbers(labels, learned.classes), keep_texts=True)
    model.contents_ = learned.changed(index=index, documents=kept)
    model.save(target)
    del model, learned, index, kept, counted, counts, sequences, texts, chosen
    return _cpu_seconds(), _score(folder, target, None)


def _fit_on_all(folder: Path, target: Path) -> tuple[float, Any]:
    from treewass import DocumentModel
    from treewass.documents import read_corpus

    corpus = read_corpus(str(folder / "train" / "*.parquet"))
    DocumentModel().fit(corpus.texts, corpus.labels or ()).save(target)
    del corpus
    return _cpu_seconds(), _score(folder, target, None)


def _fit_by_file(folder: Path, target: Path) -> tuple[float, Any]:
    from treewass import DocumentModel
    from treewass.documents.partitions import find_partitions
    from treewass.model.partitioned import fit_partitions

    model = DocumentModel()
    with TemporaryDirectory(dir=folder) as place:
        model.contents_ = fit_partitions(model, find_partitions(str(folder / "train" / "*.parquet")), Path(place))
        model.save(target)
    del model
    return _cpu_seconds(), _score(folder, target, None)


def _fit_with_dask(folder: Path, target: Path) -> tuple[None, Any]:
    from treewass.distributed import fit
    from treewass.distributed.files import LOCAL_SETTINGS, dask_engine

    dask: Any = require("dask", purpose=_PURPOSE, extra="dask")
    distributed: Any = require("distributed", purpose=_PURPOSE, extra="dask")
    with (
        dask.config.set(LOCAL_SETTINGS),  # as `treewass fit --workers` does
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
        distributed.Client(cluster) as client,
        TemporaryDirectory(dir=folder) as place,
    ):
        fit(str(folder / "train" / "*.parquet"), client=client, folder=place).save(target)
        scored = _score(folder, target, dask_engine(client))
    return None, scored  # the CPU time of workers is known when they have ended


def _score(folder: Path, target: Path, engine: Any) -> Any:
    from treewass.documents.partitions import find_partitions
    from treewass.model.partitioned import one_after_another
    from treewass.model.partitioned_labels import predict_partitions

    partitions = find_partitions(str(folder / "score" / "*.parquet"))
    return predict_partitions(
        target, partitions, str(folder / f"{target.name}-labels"), engine=engine or one_after_another
    )


def ask_shards(folder: str, name: str, n_queries: int) -> dict[str, dict[str, Value]]:
    """Ask the shards of a model in this process and on two Dask workers; return figures of both."""
    from treewass.distributed import open_shards
    from treewass.documents.partitions import find_partitions
    from treewass.model.model_folder import load_contents

    held = load_contents(Path(folder, name))
    partition = find_partitions(str(Path(folder, "score", "0.parquet")))[0]
    queries = held.count([document.text for document in islice(partition.documents(), n_queries)])
    distributed: Any = require("distributed", purpose=_PURPOSE, extra="dask")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster, direct_to_workers=True) as client:
        remote = open_shards(Path(folder, name), client=client)
        contenders: dict[str, Callable[..., Any]] = {"this process": held.index.search, "Dask actors": remote.search}
        answers = {where: ask(queries, _K) for where, ask in contenders.items()}  # and warm up
        seconds: dict[str, list[float]] = {where: [] for where in contenders}
        for row in range(queries.shape[0]):
            for where, ask in contenders.items():
                start = time.perf_counter()
                ask(queries[[row]], _K)
                seconds[where].append(time.perf_counter() - start)
        figures: dict[str, dict[str, Value]] = {}
        for where, ask in contenders.items():
            start = time.perf_counter()
            ask(queries, _K)
            batch = time.perf_counter() - start
            same = [np.array_equal(*pair) for pair in zip(*(answer[1] for answer in answers.values()), strict=True)]
            near = [np.array_equal(*pair) for pair in zip(*(answer[0] for answer in answers.values()), strict=True)]
            figures[where] = {
                "shards": len(remote.shards),
                "query_ms": rounded(1e3 * float(np.median(seconds[where]))),
                "batch_queries_per_second": rounded(queries.shape[0] / batch),
                "equal": int(np.sum(np.array(same) & np.array(near))),
            }
    return figures
