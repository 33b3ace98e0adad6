"""``treewass bench speed``: exact search against other libraries, in one run and on one thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.datasets import PAPER_SETS, Split, load_set
from treewass.bench.rows import Row, Value
from treewass.bench.speed_rivals import RIVALS, sklearn_brute, weighted_features
from treewass.bench.speed_scale import approximate_rows, growth_rows, large_rows
from treewass.bench.speed_start import start_row
from treewass.bench.speed_timing import (
    geometric_mean,
    one_thread,
    speed_row,
    time_in_turns,
    time_with_emptied_caches,
    turns_protocol,
)
from treewass.documents.histograms import check_counts, to_histograms
from treewass.search.embedding import embed_units, unknown_rows
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import perfect_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["PARTS", "bench_speed", "one_query_rows", "random_metric", "whole_set_row"]

PARTS = ("query", "set", "embedding", "start", "large", "growth", "approximate")
_K = 19
_BARS = {
    "paper's SciPy form": 250.0,
    "FAISS flat L1": 150.0,
    "scikit-learn brute force on CSR": 60.0,
    "compiled merge of sorted rows": 10.0,
}
_WARM = "one query, 500 documents, top 19"
_COLD = "one query, 500 documents, top 19, caches emptied"
_TREES = ("random", "profile learner", "paper's learner")
_MEGABYTES = 8
_EMPTIED = (
    "median over {} queries, {} times each, by the clock, one thread: methods take turns on every single query, and "
    "before each of them {} MB of other memory are read and written, more than the second-level cache holds; a larger "
    "third level keeps what it has room for"
)


def bench_speed(
    quick: bool = False, folder: str | os.PathLike[str] | None = None, parts: Sequence[str] = PARTS
) -> Iterator[Row]:
    """Measure search on the paper's sets and on drawn collections.

    Parameters
    ----------
    quick : bool, default=False
        Few queries, repetitions and documents: minutes become seconds, figures become rough.
    folder : path-like, optional
        Where the text sets are.
    parts : sequence of str, optional
        Which of PARTS to measure.

    Yields
    ------
    Row

    Raises
    ------
    ValueError
        If there is no such part.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ValueError(f"Expected parts among {', '.join(PARTS)}, got {', '.join(unknown)}.")
    with one_thread():
        names = PAPER_SETS[:2] if quick else PAPER_SETS
        splits = {name: load_set(name, folder).split(0) for name in names}
        name = "reuters" if "reuters" in splits else names[0]
        makers: dict[str, Callable[[], Iterable[Row]]] = {
            "query": lambda: one_query_rows(splits, quick),
            "set": lambda: [whole_set_row(name, splits[name], quick)],
            "embedding": lambda: [_embedding(name, splits[name], quick)],
            "start": lambda: [start_row(quick)],
            "large": lambda: large_rows(quick),
            "growth": lambda: growth_rows(quick),
            "approximate": lambda: approximate_rows(name, splits[name], quick),
        }
        for part, make in makers.items():
            if part in parts:
                yield from make()


def one_query_rows(splits: Mapping[str, Split], quick: bool = False) -> Iterator[Row]:
    """Measure one query against 500 documents on three kinds of trees, and with emptied caches on the random one.

    Parameters
    ----------
    splits : mapping of str to Split
        The sets by name.
    quick : bool, default=False
        Few queries, repetitions and epochs.

    Yields
    ------
    Row
        For every set and rival, then the means over sets.
    """
    for tree in _TREES:
        rows = [row for name, split in splits.items() for row in _one_query(name, split, tree, quick)]
        yield from rows
        yield from _means([row for row in rows if row.case["measure"] == _WARM], _BARS if tree == "random" else {})
        if tree == "random":
            yield from _means([row for row in rows if row.case["measure"] == _COLD], {})


def whole_set_row(name: str, split: Split, quick: bool) -> Row:
    """Time all test documents against all training documents, ours before and after scikit-learn.

    Parameters
    ----------
    name : str
        The set.
    split : Split
        Its documents.
    quick : bool
        100 test documents and fewer repetitions.

    Returns
    -------
    Row
    """
    metric = random_metric(split.X_train.shape[1])
    queries = _known(metric, split.X_test)[: 100 if quick else None]
    index = TreeIndex(metric)
    index.add(split.X_train)
    prepare, search = sklearn_brute(metric, _known(metric, split.X_train), _K)
    embedded, repetitions = prepare(queries), 2 if quick else 7
    before = [_cpu_microseconds(lambda: index.search(queries, _K)) for _ in range(repetitions)]
    rival = _cpu_microseconds(lambda: search(embedded))
    after = [_cpu_microseconds(lambda: index.search(queries, _K)) for _ in range(repetitions)]
    ours = min(before + after)
    case: dict[str, Value] = {
        "measure": "whole test set, top 19",
        "data": f"{name}, {queries.shape[0]} × {len(index)}",
        "tree": "random",
        "rival": "scikit-learn brute force on CSR",
    }
    measures: dict[str, Value] = {"ours_us": ours, "rival_us": rival, "ratio": rival / ours, "bar": 200.0}
    protocol = (
        f"CPU time, one thread; ours: smallest of {2 * repetitions}, half of them before and half after scikit-learn's "
        "one run, on embedded rows"
    )
    return speed_row(case, measures, protocol)


def random_metric(n_words: int, seed: int = 0) -> TreeMetric:
    """Place words at random below the paper's perfect tree of arity 5 and depth 5, with unit lengths."""
    shape = perfect_tree(5, 5)
    nodes = np.random.default_rng(seed).integers(0, shape.n_nodes, n_words)
    return TreeMetric(shape.with_words(nodes))


def _metric(tree: str, split: Split, epochs: int) -> TreeMetric:
    if tree == "random":
        return random_metric(split.X_train.shape[1])
    if tree == "profile learner":
        from treewass.learners.profile import ProfileTreeWasserstein

        return ProfileTreeWasserstein().fit(split.X_train, split.y_train).metric_
    from treewass.learners.stw import SupervisedTreeWasserstein

    learner = SupervisedTreeWasserstein(arity=5, depth=5, epochs=epochs, validation_share=0.0, random_state=0)
    return learner.fit(split.X_train, split.y_train).metric_


def _known(metric: TreeMetric, counts: Any) -> csr_array:
    """Leave out documents without a known word."""
    from scipy.sparse import csr_array

    rows = csr_array(counts)
    return rows[np.setdiff1d(np.arange(rows.shape[0]), unknown_rows(metric, rows))]


def _one_query(name: str, split: Split, tree: str, quick: bool) -> Iterator[Row]:
    """Time one query against 500 documents, our index and every rival."""
    n_queries, rounds, passes, repetitions, epochs = (10, 2, 3, 2, 1) if quick else (40, 9, 5, 5, 5)
    methods, queries = _methods_and_queries(_metric(tree, split, epochs), split, n_queries)
    protocol = turns_protocol(len(queries), rounds, passes)
    if tree == "paper's learner":
        protocol += f"; epochs of the learner: {epochs}"
    yield from _rival_rows(_WARM, name, tree, time_in_turns(methods, queries, rounds, passes), protocol)
    if tree == "random":
        times = time_with_emptied_caches(methods, queries, repetitions, _MEGABYTES)
        yield from _rival_rows(_COLD, name, tree, times, _EMPTIED.format(len(queries), repetitions, _MEGABYTES))


def _methods_and_queries(
    metric: TreeMetric, split: Split, n_queries: int
) -> tuple[list[Callable[[Any], Any]], list[list[Any]]]:
    """Give 500 training documents to our index and every rival; test documents, as each of them wants a query."""
    random = np.random.default_rng(0)
    documents, others = _known(metric, split.X_train), _known(metric, split.X_test)
    documents = documents[random.permutation(documents.shape[0])[:500]]
    queries: list[list[Any]] = [[others[[row]]] for row in random.permutation(others.shape[0])[:n_queries]]
    index = TreeIndex(metric)
    index.add(documents)
    methods: list[Callable[[Any], Any]] = [lambda query: index.search(query[0], _K)]
    for number, rival in enumerate(RIVALS.values(), start=1):
        prepare, search = rival(metric, documents, _K)
        for query in queries:
            query.append(prepare(query[0]))
        methods.append(_answer_with(search, number))
    return methods, queries


def _rival_rows(measure: str, name: str, tree: str, times: NDArray[np.float64], protocol: str) -> Iterator[Row]:
    """Set the time of each rival beside ours, which comes first."""
    for rival, microseconds in zip(RIVALS, times[1:], strict=True):
        case: dict[str, Value] = {"measure": measure, "data": name, "tree": tree, "rival": rival}
        measures: dict[str, Value] = {
            "ours_us": float(times[0]),
            "rival_us": float(microseconds),
            "ratio": float(microseconds / times[0]),
        }
        yield speed_row(case, measures, protocol)


def _answer_with(search: Callable[[Any], Any], number: int) -> Callable[[Any], Any]:
    """Search with what a rival prepared."""
    return lambda prepared: search(prepared[number])


def _means(rows: Sequence[Row], bars: Mapping[str, float]) -> Iterator[Row]:
    """Average the ratios of one measure and tree over the sets, and name the lowest."""
    for rival in RIVALS:
        own = [row for row in rows if row.case["rival"] == rival]
        ratios = [float(str(row.measures["ratio"])) for row in own]
        case = {**own[0].case, "data": f"geometric mean of {len(own)} sets"}
        measures: dict[str, Value] = {
            "ours_us": geometric_mean([float(str(row.measures["ours_us"])) for row in own]),
            "rival_us": geometric_mean([float(str(row.measures["rival_us"])) for row in own]),
            "ratio": geometric_mean(ratios),
            "lowest_ratio": min(ratios),
        }
        if bars:
            measures["bar"] = bars.get(rival)
        yield speed_row(case, measures, own[0].protocol)


def _cpu_microseconds(work: Callable[[], Any]) -> float:
    """Time a long call by the CPU time it takes, which other programs on the machine do not lengthen."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6


def _embedding(name: str, split: Split, quick: bool) -> Row:
    """Time embedding, counts to sorted rows, against SciPy's product of ready histograms."""
    metric = random_metric(split.X_train.shape[1])
    counts = _known(metric, check_counts(split.X_train))
    weights, histograms = weighted_features(metric), to_histograms(counts)

    def product(_: Any) -> Any:
        embedded = histograms @ weights
        embedded.sort_indices()
        return embedded

    rounds, passes = (2, 3) if quick else (7, 3)
    times = time_in_turns([lambda _: embed_units(metric, counts), product], [None], rounds, passes)
    case: dict[str, Value] = {
        "measure": "embedding all training documents",
        "data": f"{name}, {counts.shape[0]} documents",
        "tree": "random",
        "rival": "SciPy's sparse product with sorted indices",
    }
    ratio = float(times[1] / times[0])
    measures: dict[str, Value] = {"ours_us": float(times[0]), "rival_us": float(times[1]), "ratio": ratio, "bar": 2.0}
    protocol = (
        f"smallest of {rounds * (passes - 1)} times, by the clock, one thread: in each of {rounds} rounds ours, then "
        f"SciPy, embeds all documents {passes} times in succession, the first time to warm up; sorted counts (ours) "
        "and sorted histograms (SciPy)"
    )
    return speed_row(case, measures, protocol)
