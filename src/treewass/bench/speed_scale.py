"""Search in large collections, its growth, and approximate indexes beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.datasets import Split
from treewass.bench.rows import Row, Value
from treewass.bench.speed_timing import milliseconds_to_read, speed_row, time_in_turns, turns_protocol
from treewass.documents.synthetic import make_documents
from treewass.extras import require
from treewass.search.embedding import embed, unknown_rows
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import perfect_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["approximate_rows", "growth_rows", "large_rows"]

_WORDS = 20_000
_ROUNDS, _PASSES = 3, 5


def large_rows(quick: bool) -> Iterator[Row]:
    """Measure large collections: against FAISS, and against reading memory.

    Parameters
    ----------
    quick : bool
        A tenth of the documents.

    Yields
    ------
    Row
    """
    yield _against_faiss(10_000 if quick else 100_000)
    for generator, tree in (("topical", "profile learner"), ("topical", "random"), ("Zipf", "random")):
        yield _one_million(100_000 if quick else 1_000_000, generator, tree)


def _drawn(n_documents: int, generator: str, words: float = 40.0) -> tuple[csr_array, csr_array, NDArray[np.int64]]:
    """Draw documents and 20 queries; Zipf's law without topics, or with."""
    topicality = 0.5 if generator == "topical" else 0.0
    counts, labels = make_documents(
        n_documents + 20, n_words=_WORDS, words_per_document=words, topicality=topicality, random_state=0
    )
    return counts[:n_documents], counts[n_documents:], labels[:n_documents]


def _metric(tree: str, counts: csr_array, labels: NDArray[np.int64]) -> TreeMetric:
    shape = perfect_tree(5, 5)
    if tree == "random":
        return TreeMetric(shape.with_words(np.random.default_rng(0).integers(0, shape.n_nodes, _WORDS)))
    from treewass.learners.profile import ProfileTreeWasserstein

    return ProfileTreeWasserstein().fit(counts[:20_000], labels[:20_000]).metric_


def _queries(metric: TreeMetric, counts: csr_array) -> list[csr_array]:
    return [counts[[row]] for row in np.setdiff1d(np.arange(counts.shape[0]), unknown_rows(metric, counts))]


def _against_faiss(n_documents: int) -> Row:
    """Time top 10 against FAISS on the internal nodes alone: with the words it would not fit into memory."""
    faiss = require("faiss", purpose="treewass bench speed", extra="bench")
    documents, others, labels = _drawn(n_documents, "topical")
    metric = _metric("random", documents, labels)
    queries = _queries(metric, others)
    n_internal = metric.trees[0].n_nodes - 1
    flat = faiss.IndexFlat(n_internal, faiss.METRIC_L1)
    for start in range(0, n_documents, 5000):
        flat.add(embed(metric, documents[start : start + 5000])[:, :n_internal].toarray().astype(np.float32))
    index = TreeIndex(metric)
    index.add(documents)
    items = [(query, embed(metric, query)[:, :n_internal].toarray().astype(np.float32)) for query in queries[:10]]
    methods: list[Callable[[Any], Any]] = [
        lambda item: index.search(item[0], 10),
        lambda item: flat.search(item[1], 10),
    ]
    times = time_in_turns(methods, items, _ROUNDS, _PASSES)
    case: dict[str, Value] = {
        "measure": "one query, top 10",
        "data": f"topical, {n_documents} documents",
        "tree": "random",
    }
    case |= {"rival": "FAISS flat L1, internal nodes only"}
    ratio = float(times[1] / times[0])
    measures: dict[str, Value] = {"ours_us": float(times[0]), "rival_us": float(times[1]), "ratio": ratio, "bar": 80.0}
    return speed_row(case, measures, turns_protocol(len(items), _ROUNDS, _PASSES))


def _one_million(n_documents: int, generator: str, tree: str) -> Row:
    """Time top 10 among many documents against reading memory."""
    documents, others, labels = _drawn(n_documents, generator)
    metric = _metric(tree, documents, labels)
    index = TreeIndex(metric)
    start = time.perf_counter()
    index.add(documents)
    seconds = time.perf_counter() - start
    del documents
    megabytes = 250 if generator == "topical" else 420
    reading = milliseconds_to_read(megabytes * n_documents)
    queries = _queries(metric, others)
    times = time_in_turns([lambda query: index.search(query, 10)], queries, _ROUNDS, _PASSES)
    reading = min(reading, milliseconds_to_read(megabytes * n_documents))
    case: dict[str, Value] = {
        "measure": "one query, top 10",
        "data": f"{generator}, {n_documents} documents",
        "tree": tree,
    }
    case |= {"rival": f"reading {megabytes} bytes a document"}
    measures: dict[str, Value] = {
        "ours_us": float(times[0]),
        "rival_us": reading * 1e3,
        "ratio": reading * 1e3 / float(times[0]),
        "bar": 1.0,
        "index_megabytes": index.n_bytes / 1e6,
        "index_megabytes_bar": 1500.0 * n_documents / 1e6,
        "seconds_to_build": seconds,
    }
    protocol = f"{turns_protocol(len(queries), _ROUNDS, _PASSES)}; reading: smallest of 5 times before and 5 after"
    return speed_row(case, measures, protocol)


def growth_rows(quick: bool) -> Iterator[Row]:
    """Show how the time of a query grows with documents, words a document, and threads.

    Parameters
    ----------
    quick : bool
        Fewer and smaller collections.

    Yields
    ------
    Row
    """
    sizes = (500, 1000, 10_000) if quick else (500, 1000, 3000, 10_000, 30_000, 100_000, 300_000)
    for n_documents in sizes:
        yield _growth_row("growth with documents", n_documents, 40.0)
    for words in (10.0, 100.0) if quick else (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0):
        yield _growth_row("growth with words a document", 10_000, words)
    documents, _, labels = _drawn(3000 if quick else 30_000, "topical")
    metric = _metric("random", documents, labels)
    batch = documents[:640]
    for n_jobs in (1, 2):
        index = TreeIndex(metric, n_jobs=n_jobs)
        index.add(documents)
        microseconds = float(time_in_turns([partial(index.search, k=10)], [batch], rounds=1, passes=6)[0])
        case: dict[str, Value] = {"measure": "growth with threads", "data": f"topical, {len(index)} documents"}
        case |= {"tree": "random", "threads": n_jobs, "words_a_document": 40.0}
        yield speed_row(
            case,
            {"ours_us": microseconds / 640},
            "time a query, smallest of 5 times by the clock, a batch of 640 queries, top 10, answered 6 times in "
            "succession, the first time to warm up",
        )


def _growth_row(measure: str, n_documents: int, words: float) -> Row:
    documents, others, labels = _drawn(n_documents, "topical", words)
    metric = _metric("random", documents, labels)
    index = TreeIndex(metric)
    index.add(documents)
    queries = _queries(metric, others)
    microseconds = float(time_in_turns([lambda query: index.search(query, 10)], queries, _ROUNDS, _PASSES)[0])
    case: dict[str, Value] = {"measure": measure, "data": f"topical, {n_documents} documents", "tree": "random"}
    case |= {"threads": 1, "words_a_document": words}
    return speed_row(case, {"ours_us": microseconds}, f"top 10; {turns_protocol(len(queries), _ROUNDS, _PASSES)}")


def approximate_rows(name: str, split: Split, quick: bool) -> Iterator[Row]:
    """Measure approximate indexes on a set's training documents: recall, time a query, time to build.

    Parameters
    ----------
    name : str
        The set.
    split : Split
        Its documents.
    quick : bool
        Fewer documents.

    Yields
    ------
    Row
    """
    from scipy.sparse import csr_array

    shape, n_words = perfect_tree(5, 5), split.X_train.shape[1]
    metric = TreeMetric(shape.with_words(np.random.default_rng(0).integers(0, shape.n_nodes, n_words)))
    documents, others = csr_array(split.X_train), csr_array(split.X_test)
    documents = documents[np.setdiff1d(np.arange(documents.shape[0]), unknown_rows(metric, documents))]
    documents = documents[:500] if quick else documents
    queries = _queries(metric, others[: 30 if quick else 200])
    start = time.perf_counter()
    index = TreeIndex(metric)
    index.add(documents)
    ours_seconds = time.perf_counter() - start
    makers: dict[str, Callable[[TreeMetric, Any], tuple[Any, Any]]] = {
        "FAISS HNSW L1 (M=32, efSearch=64)": _hnsw,
    }
    if not quick:  # compiling pynndescent alone takes minutes
        makers["pynndescent (Manhattan, CSR)"] = _pynndescent
    for rival, make in makers.items():
        make(metric, documents[:200])  # whatever is compiled on first use
        start = time.perf_counter()
        prepare, search = make(metric, documents)
        seconds = time.perf_counter() - start
        items = [(query, prepare(query)) for query in queries]
        times = time_in_turns([lambda item: index.search(item[0], 10), _second_with(search)], items, _ROUNDS, _PASSES)
        recalls = [_recall(index, query, search(prepared)) for query, prepared in items]
        case: dict[str, Value] = {"measure": "approximate index, top 10", "data": f"{name}, {len(index)} documents"}
        case |= {"tree": "random", "rival": rival}
        measures: dict[str, Value] = {
            "ours_us": float(times[0]),
            "rival_us": float(times[1]),
            "ratio": float(times[1] / times[0]),
            "rival_recall": float(np.mean(recalls)),
            "seconds_to_build": ours_seconds,
            "rival_seconds_to_build": seconds,
        }
        yield speed_row(case, measures, turns_protocol(len(items), _ROUNDS, _PASSES))


def _second_with(search: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Search with the second thing of an item: what was prepared."""
    return lambda item: search(item[1])


def _recall(index: TreeIndex, query: csr_array, found: NDArray[np.int64]) -> float:
    """Return the share of the ids found that are as near as the tenth neighbour: ties count as found."""
    tenth = index.search(query, 10)[0][0, -1]
    distances, _ = index.distances(query, ids=found[found >= 0])
    return float((distances <= tenth).sum() / 10)


def _hnsw(metric: TreeMetric, documents: csr_array) -> tuple[Any, Any]:
    faiss = require("faiss", purpose="treewass bench speed", extra="bench")
    graph = faiss.IndexHNSWFlat(metric.n_features, 32, faiss.METRIC_L1)
    graph.hnsw.efSearch = 64
    graph.add(embed(metric, documents).toarray().astype(np.float32))
    return lambda counts: embed(metric, counts).toarray().astype(np.float32), lambda query: graph.search(query, 10)[1][
        0
    ]


def _pynndescent(metric: TreeMetric, documents: csr_array) -> tuple[Any, Any]:
    from scipy.sparse import csr_matrix

    pynndescent = require("pynndescent", purpose="treewass bench speed", extra="bench")
    rows = csr_matrix(embed(metric, documents).astype(np.float32))
    graph = pynndescent.NNDescent(rows, metric="manhattan", n_neighbors=30, random_state=0, n_jobs=1)
    graph.prepare()
    return (
        lambda counts: csr_matrix(embed(metric, counts).astype(np.float32)),
        lambda query: graph.query(query, k=10)[0][0],
    )
