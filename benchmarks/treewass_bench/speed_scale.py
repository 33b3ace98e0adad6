"""Search in large collections, its growth, and approximate indexes beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import ProfileTreeWasserstein, TreeIndex, TreeMetric
from treewass.compute.extras import require
from treewass.documents import make_documents
from treewass.trees import embed
from treewass_bench.datasets import Split
from treewass_bench.rows import Row, Value
from treewass_bench.speed_rivals import known_documents, random_metric
from treewass_bench.timing import alternate, rounded, turns_protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["approximate_rows", "drawn_collection", "growth_rows", "large_rows"]

_WORDS = 20_000
_ROUNDS, _PASSES = 3, 4
_PURPOSE = "python -m treewass_bench speed"


def drawn_collection(
    n_documents: int, generator: str = "topical", words: float = 40.0
) -> tuple[csr_array, csr_array, NDArray[np.int64]]:
    """Draw documents and 20 queries by Zipf's law, with topics or without; return the documents' labels too."""
    topicality = 0.5 if generator == "topical" else 0.0
    counts, labels = make_documents(
        n_documents + 20, n_words=_WORDS, words_per_document=words, topicality=topicality, random_state=0
    )
    return counts[:n_documents], counts[n_documents:], labels[:n_documents]


def large_rows(quick: bool) -> Iterator[Row]:
    """Measure large collections, a tenth of them if `quick`: against FAISS, and against reading memory."""
    yield _against_faiss(10_000 if quick else 100_000)
    for generator, tree in (("topical", "profile learner"), ("topical", "random"), ("Zipf", "random")):
        yield _against_reading(100_000 if quick else 1_000_000, generator, tree)


def growth_rows(quick: bool) -> Iterator[Row]:
    """Show how the time of a query grows with documents, words a document, and threads; less of it if `quick`."""
    sizes = (500, 1000, 10_000) if quick else (500, 1000, 3000, 10_000, 30_000, 100_000, 300_000)
    for n_documents in sizes:
        yield _growth_row("growth with documents", n_documents, 40.0)
    for words in (10.0, 100.0) if quick else (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0):
        yield _growth_row("growth with words a document", 10_000, words)
    yield from _thread_rows(3000 if quick else 30_000)


def approximate_rows(name: str, split: Split, quick: bool) -> Iterator[Row]:
    """Measure approximate indexes on a set's training documents: recall, time a query, time to build.

    Parameters
    ----------
    name : str
        The set.
    split : Split
        Its documents.
    quick : bool
        Fewer documents, and no pynndescent, whose loops take minutes to compile.
    """
    metric = random_metric(split.X_train.shape[1])
    documents = known_documents(metric, split.X_train)[: 500 if quick else None]
    queries = _queries(metric, split.X_test[: 30 if quick else 200])
    start = time.process_time()
    index = TreeIndex(metric)
    index.add(documents)
    ours_seconds = time.process_time() - start
    makers: dict[str, Callable[[TreeMetric, Any], tuple[Any, Any]]] = {"FAISS HNSW L1 (M=32, efSearch=64)": _hnsw}
    if not quick:
        makers["pynndescent (Manhattan, CSR)"] = _pynndescent
    for rival, make in makers.items():
        make(metric, documents[:200])  # whatever is compiled on first use
        start = time.process_time()
        prepare, search = make(metric, documents)
        seconds = time.process_time() - start
        items = [(query, prepare(query)) for query in queries]
        contenders = [lambda item: index.search(item[0], 10), _second_with(search)]
        case: dict[str, Value] = {"measure": "approximate index, top 10", "data": f"{name}, {len(index)} documents"}
        measures, protocol = _compared(contenders, items)
        measures |= {
            "rival_recall": rounded(float(np.mean([_recall(index, query, search(own)) for query, own in items]))),
            "seconds_to_build": rounded(ours_seconds),
            "rival_seconds_to_build": rounded(seconds),
        }
        yield Row("speed", case | {"tree": "random", "rival": rival}, measures, protocol)


def _compared(contenders: list[Callable[[Any], Any]], items: list[Any]) -> tuple[dict[str, Value], str]:
    """Time ours and one rival in turns; return the measures and the protocol."""
    from treewass_bench.speed import side_by_side

    ours, rival = alternate(contenders, items, rounds=_ROUNDS, passes=_PASSES, warm_up="each round")
    return side_by_side(ours, rival), turns_protocol(len(items), _ROUNDS, _PASSES)


def _metric(tree: str, counts: csr_array, labels: NDArray[np.int64]) -> TreeMetric:
    if tree == "random":
        return random_metric(_WORDS)
    return ProfileTreeWasserstein().fit(counts[:20_000], labels[:20_000]).metric_


def _queries(metric: TreeMetric, counts: csr_array) -> list[csr_array]:
    known = known_documents(metric, counts)
    return [known[[row]] for row in range(known.shape[0])]


def _against_faiss(n_documents: int) -> Row:
    """Time top 10 against FAISS on the internal nodes alone: with the words it would not fit into memory."""
    faiss = require("faiss", purpose=_PURPOSE, package="faiss-cpu")
    documents, others, _ = drawn_collection(n_documents)
    metric = random_metric(_WORDS)
    n_internal = metric.trees[0].n_nodes - 1

    def nodes(counts: csr_array) -> NDArray[np.float32]:
        return np.asarray(embed(metric, counts)[:, :n_internal].toarray(), dtype=np.float32)

    flat = faiss.IndexFlat(n_internal, faiss.METRIC_L1)
    for start in range(0, n_documents, 5000):
        flat.add(nodes(documents[start : start + 5000]))
    index = TreeIndex(metric)
    index.add(documents)
    items = [(query, nodes(query)) for query in _queries(metric, others)[:10]]
    measures, protocol = _compared(
        [lambda item: index.search(item[0], 10), lambda item: flat.search(item[1], 10)], items
    )
    case: dict[str, Value] = {
        "measure": "one query, top 10",
        "data": f"topical, {n_documents} documents",
        "tree": "random",
        "rival": "FAISS flat L1, internal nodes only",
    }
    return Row("speed", case, {**measures, "bar": 80.0}, protocol)


def _against_reading(n_documents: int, generator: str, tree: str) -> Row:
    """Time top 10 among many documents against reading memory."""
    documents, others, labels = drawn_collection(n_documents, generator)
    metric = _metric(tree, documents, labels)
    index = TreeIndex(metric)
    start = time.process_time()
    index.add(documents)
    seconds = time.process_time() - start
    del documents
    read = 250 if generator == "topical" else 420
    memory = np.ones(read * n_documents // 8, dtype=np.int64)
    queries = _queries(metric, others)
    measures, protocol = _compared([lambda query: index.search(query, 10), lambda _: memory.sum()], queries)
    case: dict[str, Value] = {
        "measure": "one query, top 10",
        "data": f"{generator}, {n_documents} documents",
        "tree": tree,
        "rival": f"reading {read} bytes a document",
    }
    measures |= {
        "bar": 1.0,
        "index_megabytes": rounded(index.n_bytes / 1e6),
        "index_megabytes_bar": 1500.0 * n_documents / 1e6,
        "seconds_to_build": rounded(seconds),
    }
    return Row("speed", case, measures, protocol)


def _growth_row(measure: str, n_documents: int, words: float) -> Row:
    documents, others, _ = drawn_collection(n_documents, words=words)
    metric = random_metric(_WORDS)
    index = TreeIndex(metric)
    index.add(documents)
    queries = _queries(metric, others)
    (ours,) = alternate(
        [lambda query: index.search(query, 10)], queries, rounds=_ROUNDS, passes=_PASSES, warm_up="each round"
    )
    case: dict[str, Value] = {"measure": measure, "data": f"topical, {n_documents} documents", "tree": "random"}
    case |= {"threads": 1, "words_a_document": words}
    protocol = f"top 10; {turns_protocol(len(queries), _ROUNDS, _PASSES)}"
    return Row("speed", case, {"ours_us": rounded(ours.microseconds)}, protocol)


def _thread_rows(n_documents: int) -> Iterator[Row]:
    """Time a batch on one thread and on two, in turns: by the clock, since two threads take the CPU time of both."""
    documents, _, _ = drawn_collection(n_documents)
    batch, n_times = documents[:640], 5
    indexes = {n_jobs: TreeIndex(random_metric(_WORDS), n_jobs=n_jobs) for n_jobs in (1, 2)}
    best = dict.fromkeys(indexes, np.inf)
    for index in indexes.values():
        index.add(documents)
        index.search(batch, k=10)
    for _ in range(n_times):
        for n_jobs, index in indexes.items():
            start = time.perf_counter()
            index.search(batch, k=10)
            best[n_jobs] = min(best[n_jobs], time.perf_counter() - start)
    for n_jobs, seconds in best.items():
        case: dict[str, Value] = {"measure": "growth with threads", "data": f"topical, {n_documents} documents"}
        case |= {"tree": "random", "threads": n_jobs, "words_a_document": 40.0}
        protocol = f"time a query, smallest of {n_times} times by the clock, in turns, a batch of 640 queries, top 10"
        yield Row("speed", case, {"ours_us": rounded(1e6 * seconds / 640)}, protocol)


def _second_with(search: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Search with the second thing of an item: what was prepared."""
    return lambda item: search(item[1])


def _recall(index: TreeIndex, query: csr_array, found: NDArray[np.int64]) -> float:
    """Return the share of the ids found that are as near as the tenth neighbour: ties count as found."""
    tenth = index.search(query, 10)[0][0, -1]
    distances, _ = index.distances(query, ids=found[found >= 0])
    return float((distances <= tenth).sum() / 10)


def _hnsw(metric: TreeMetric, documents: csr_array) -> tuple[Any, Any]:
    faiss = require("faiss", purpose=_PURPOSE, package="faiss-cpu")
    graph = faiss.IndexHNSWFlat(metric.n_features, 32, faiss.METRIC_L1)
    graph.hnsw.efSearch = 64
    graph.add(embed(metric, documents).toarray().astype(np.float32))
    return lambda counts: embed(metric, counts).toarray().astype(np.float32), lambda query: graph.search(query, 10)[1][
        0
    ]


def _pynndescent(metric: TreeMetric, documents: csr_array) -> tuple[Any, Any]:
    from scipy.sparse import csr_matrix

    pynndescent = require("pynndescent", purpose=_PURPOSE, package="pynndescent")
    rows = csr_matrix(embed(metric, documents).astype(np.float32))
    graph = pynndescent.NNDescent(rows, metric="manhattan", n_neighbors=30, random_state=0, n_jobs=1)
    graph.prepare()
    return (
        lambda counts: csr_matrix(embed(metric, counts).astype(np.float32)),
        lambda query: graph.query(query, k=10)[0][0],
    )
