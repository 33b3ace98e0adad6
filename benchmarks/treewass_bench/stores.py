"""``python -m treewass_bench stores``: exact search in other people's stores beside TreeIndex."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import ProfileTreeWasserstein, TreeIndex
from treewass.compute.extras import require
from treewass.stores import PostgresIndex, search_sql, write_postings
from treewass_bench.datasets import load_split
from treewass_bench.postgres_server import PostgresServer
from treewass_bench.rows import Row, Value
from treewass_bench.timing import rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass import TreeMetric

__all__ = ["answer_with_clickhouse", "answer_with_duckdb", "bench_stores"]

_K = 10
_BREADTHS = (40, 100, 400)
_PURPOSE = "python -m treewass_bench stores"
Answer = tuple["NDArray[np.float64]", "NDArray[np.int64]"]


@dataclass(frozen=True, slots=True)
class _Store:
    """Documents in a store: how it answers one query, and what it took to get there."""

    name: str
    answer: Callable[[csr_array], Answer]
    seconds: float
    n_bytes: int
    is_exact: bool = True


def bench_stores(
    sets: Sequence[str], n_queries: int | None = None, folder: str | os.PathLike[str] | None = None
) -> Iterator[Row]:
    """Load the training documents of sets into every store, and ask all of them the test documents, in turns.

    Parameters
    ----------
    sets : sequence of str
        Names of text sets; their first splits are taken.
    n_queries : int, optional
        The first so many test documents; all by default.
    folder : path-like, optional
        Where the text sets are.
    """
    for name in sets:
        split = load_split(name, 0, folder)
        metric = ProfileTreeWasserstein().fit(split.X_train, split.y_train).metric_.for_float32()
        known = split.X_test[:, np.flatnonzero(metric.known_words)]
        queries = split.X_test[np.flatnonzero(np.asarray(known.sum(axis=1)).ravel() > 0)][:n_queries]
        with ExitStack() as stack:
            stores = list(_open_stores(metric, split.X_train, stack))
            yield from _rows(name, stores, queries, split.X_train.shape[0])


def _open_stores(metric: TreeMetric, documents: csr_array, stack: ExitStack) -> Iterator[_Store]:
    """Load every store, TreeIndex first; the stack closes them."""
    TreeIndex(metric).add(documents[:2])  # so that nothing is compiled or loaded while the clock runs
    index = TreeIndex(metric)
    start = time.perf_counter()
    index.add(documents)
    yield _Store("TreeIndex", lambda query: index.search(query, _K), time.perf_counter() - start, index.n_bytes)
    yield from _postgres(metric, documents, stack)
    place = Path(stack.enter_context(TemporaryDirectory())) / "postings"
    start = time.perf_counter()
    write_postings(index, place)
    seconds = time.perf_counter() - start
    n_bytes = sum((place / f"{name}.parquet").stat().st_size for name in ("documents", "postings"))
    duckdb = stack.enter_context(require("duckdb", purpose=_PURPOSE, package="duckdb").connect())
    clickhouse = stack.enter_context(closing(require("chdb", purpose=_PURPOSE, package="chdb").connect(":memory:")))
    for name, answer in (
        ("DuckDB, Parquet", lambda query: answer_with_duckdb(duckdb, place, metric, query)),
        ("ClickHouse (chdb), Parquet", lambda query: answer_with_clickhouse(clickhouse, place, metric, query)),
    ):
        yield _Store(name, answer, seconds, n_bytes)


def _postgres(metric: TreeMetric, documents: csr_array, stack: ExitStack) -> Iterator[_Store]:
    server = PostgresServer()
    stack.callback(server.stop)
    table = stack.enter_context(PostgresIndex(server.dsn, metric))

    def size() -> int:
        with table.transaction() as connection:
            found = connection.execute("SELECT pg_total_relation_size('documents_1')").fetchone()
        return int(found[0]) if found else 0

    start = time.perf_counter()
    table.add(documents)
    seconds, n_bytes = time.perf_counter() - start, size()
    yield _Store("PostgreSQL, exact", lambda query: table.search(query, _K), seconds, n_bytes)
    start = time.perf_counter()
    table.build_graph()
    seconds = time.perf_counter() - start
    for ef in _BREADTHS:

        def answer(query: csr_array, ef: int = ef) -> Answer:
            with table.transaction() as connection:
                connection.execute("SET LOCAL enable_seqscan = off")  # small tables would be read whole
                return table.search(query, _K, approximate=True, ef=ef)

        yield _Store(f"PostgreSQL, HNSW, ef {ef}", answer, seconds, size() - n_bytes, is_exact=False)


def answer_with_duckdb(connection: Any, folder: Path, metric: TreeMetric, query: csr_array, k: int = _K) -> Answer:
    """Search files of `write_postings` with DuckDB."""
    rows = connection.execute(search_sql("duckdb", folder, metric, query, k)).fetchnumpy()
    return np.asarray(rows["distance"])[None], np.asarray(rows["doc"])[None]


def answer_with_clickhouse(connection: Any, folder: Path, metric: TreeMetric, query: csr_array, k: int = _K) -> Answer:
    """Search files of `write_postings` with ClickHouse in this process."""
    table = connection.query(search_sql("clickhouse", folder, metric, query, k), "ArrowTable")
    return table["distance"].to_numpy()[None], table["doc"].to_numpy()[None]


def _rows(name: str, stores: Sequence[_Store], queries: csr_array, n_documents: int) -> Iterator[Row]:
    """Ask every store each query in turn; compare the answers with those of the first."""
    seconds = np.empty((len(stores), queries.shape[0]))
    equal, found = np.zeros(len(stores), dtype=int), np.zeros(len(stores))
    for store in stores:
        for row in range(min(3, queries.shape[0])):
            store.answer(queries[[row]])
    for row in range(queries.shape[0]):
        answers = []
        for number, store in enumerate(stores):
            start = time.perf_counter()
            answers.append(store.answer(queries[[row]]))
            seconds[number, row] = time.perf_counter() - start
        nearest = answers[0]
        for number, (distances, ids) in enumerate(answers):
            equal[number] += np.array_equal(distances, nearest[0]) and np.array_equal(ids, nearest[1])
            found[number] += (distances <= nearest[0][0, -1]).sum() / nearest[0].shape[1]
    protocol = (
        f"top {_K}, one query at a time; every store is asked each query in turn, by the clock, which counts what "
        "other programs do, too; the median over all queries, and the median of the ratios to TreeIndex; equal counts "
        "queries whose ids, order and distances are those of TreeIndex; recall counts ties as found; loading from "
        "counts in memory; PostgreSQL as it is installed, but made to walk the graph for HNSW, where it might read the "
        "whole table; the seconds and bytes of HNSW are those of the graph alone"
    )
    for number, store in enumerate(stores):
        case: dict[str, Value] = {"set": name, "store": store.name}
        measures: dict[str, Value] = {
            "documents": n_documents,
            "queries": queries.shape[0],
            "load_seconds": rounded(store.seconds),
            "query_ms": rounded(1e3 * float(np.median(seconds[number]))),
            "times_tree_index": rounded(float(np.median(seconds[number] / seconds[0]))),
            "bytes_a_document": round(store.n_bytes / n_documents),
            "equal": int(equal[number]),
            "recall": rounded(float(found[number] / queries.shape[0])),
        }
        yield Row("stores", case, measures, protocol)
