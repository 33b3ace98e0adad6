"""``python -m treewass_bench speed``: exact search against other libraries, in one run and on one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from treewass import ProfileTreeWasserstein, SupervisedTreeWasserstein, TreeIndex, TreeMetric
from treewass.documents import to_histograms
from treewass.trees import embed
from treewass_bench.datasets import PAPER_SETS, Split, load_set
from treewass_bench.rows import Row, Value
from treewass_bench.speed_rivals import RIVALS, drawn_documents, known_documents, random_metric, weighted_features
from treewass_bench.speed_scale import approximate_rows, growth_rows, large_rows
from treewass_bench.start import checked_opening_row, first_search_row
from treewass_bench.timing import (
    Timing,
    alternate,
    alternate_cold,
    geometric_mean,
    one_thread,
    rounded,
    turns_protocol,
)

__all__ = ["PARTS", "bench_speed", "one_query_rows", "side_by_side", "speed_markdown", "whole_set_row"]

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
    "median CPU time over {} queries, {} times each, one thread: methods take turns on every single query, and before "
    "each of them {} MB of other memory are read and written, more than the second-level cache holds; a larger third "
    "level keeps what it has room for"
)
_HEADINGS = {
    _WARM: "One query against 500 documents, exact top 19",
    _COLD: "One query against 500 documents, exact top 19, caches emptied",
    "whole test set, top 19": "A whole test set",
    "embedding all training documents": "Embedding",
    "first search in a new process, CPU time": "First search in a new process",
    "opening a stored index and checking it on first use, CPU time": "Opening a large index",
    "one query, top 10": "One query against many documents, exact top 10",
    "approximate index, top 10": "Approximate indexes beside the exact one, top 10",
    "growth with documents": "Growth with documents",
    "growth with words a document": "Growth with words a document",
    "growth with threads": "Growth with threads (a batch; time a query)",
}


def bench_speed(
    quick: bool = False, folder: str | os.PathLike[str] | None = None, parts: Sequence[str] = PARTS
) -> Iterator[Row]:
    """Measure search on the paper's sets and on drawn collections.

    Parameters
    ----------
    quick : bool, default=False
        Few queries, rounds and documents: minutes become seconds, figures become rough.
    folder : path-like, optional
        Where the text sets are.
    parts : sequence of str, optional
        Which of PARTS to measure.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ValueError(f"Expected parts among {', '.join(PARTS)}, got {', '.join(unknown)}.")
    with one_thread("faiss"):
        names = PAPER_SETS[:2] if quick else PAPER_SETS
        splits = {name: load_set(name, folder).split(0) for name in names}
        name = "reuters" if "reuters" in splits else names[0]
        makers: dict[str, Callable[[], Iterable[Row]]] = {
            "query": lambda: one_query_rows(splits, quick),
            "set": lambda: [whole_set_row(name, splits[name], quick)],
            "embedding": lambda: [_embedding_row(name, splits[name], quick)],
            "start": lambda: _start_rows(quick),
            "large": lambda: large_rows(quick),
            "growth": lambda: growth_rows(quick),
            "approximate": lambda: approximate_rows(name, splits[name], quick),
        }
        for part, make in makers.items():
            if part in parts:
                yield from make()


def _start_rows(quick: bool) -> Iterator[Row]:
    yield first_search_row(2 if quick else 7)
    yield checked_opening_row(20_000 if quick else 1_000_000, 2 if quick else 5)


def one_query_rows(splits: Mapping[str, Split], quick: bool = False) -> Iterator[Row]:
    """Measure one query against 500 documents on three kinds of trees, and with emptied caches on the random one.

    Parameters
    ----------
    splits : mapping of str to Split
        The sets by name.
    quick : bool, default=False
        Few queries, rounds and epochs.

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
    """Time all test documents against all training documents, ours and scikit-learn in turns.

    Parameters
    ----------
    name : str
        The set.
    split : Split
        Its documents.
    quick : bool
        100 test documents and fewer rounds.
    """
    metric = random_metric(split.X_train.shape[1])
    documents = known_documents(metric, split.X_train)
    queries = known_documents(metric, split.X_test)[: 100 if quick else None]
    index = TreeIndex(metric)
    index.add(documents)
    prepare, search = RIVALS["scikit-learn brute force on CSR"](metric, documents, _K)
    embedded, rounds = prepare(queries), 2 if quick else 3
    contenders = [lambda _: index.search(queries, _K), lambda _: search(embedded)]
    ours, rival = alternate(contenders, rounds=rounds, warm_up="never")
    case: dict[str, Value] = {
        "measure": "whole test set, top 19",
        "data": f"{name}, {queries.shape[0]} × {len(index)}",
        "tree": "random",
        "rival": "scikit-learn brute force on CSR",
    }
    protocol = f"median of {rounds} CPU times of each, in turns, one thread; scikit-learn is given embedded rows"
    return Row("speed", case, {**side_by_side(ours, rival), "bar": 200.0}, protocol)


def speed_markdown(rows: Iterable[Row], key: str = "measure") -> str:
    """Lay rows out as Markdown, one table for each measure.

    Parameters
    ----------
    rows : iterable of Row
        As `bench_speed` makes them.
    key : str, default="measure"
        What tells one table from another in the rows' cases.

    Examples
    --------
    >>> row = Row("speed", {"measure": "growth with threads", "threads": 2}, {"ours_us": 1234.5}, "", environment={})
    >>> speed_markdown([row]).splitlines()
    ['### Growth with threads (a batch; time a query)', '', '| threads | ours us |', '|---|---|', '| 2 | 1234 |', '']
    """
    by_measure: dict[str, list[Row]] = {}
    for row in rows:
        by_measure.setdefault(str(row.case[key]), []).append(row)
    lines = []
    for measure, own in by_measure.items():
        names = list(dict.fromkeys(name for row in own for name in (*row.case, *row.measures) if name != key))
        lines += [f"### {_HEADINGS.get(measure, measure)}", ""]
        lines += ["| " + " | ".join(name.replace("_", " ") for name in names) + " |", "|" + "---|" * len(names)]
        for row in own:
            values = {**row.case, **row.measures}
            lines.append("| " + " | ".join(_shown(values.get(name)) for name in names) + " |")
        lines += [""]
    return "\n".join(lines) + "\n"


def side_by_side(ours: Timing, rival: Timing) -> dict[str, Value]:
    """Say the times of ours and a rival in microseconds, and how many times as long the rival takes."""
    ratio, low, high = rival.over(ours)
    return {
        "ours_us": rounded(ours.microseconds),
        "rival_us": rounded(rival.microseconds),
        "ratio": rounded(ratio),
        "ratio_low": rounded(low),
        "ratio_high": rounded(high),
    }


def _metric(tree: str, split: Split, epochs: int) -> TreeMetric:
    if tree == "random":
        return random_metric(split.X_train.shape[1])
    if tree == "profile learner":
        return ProfileTreeWasserstein().fit(split.X_train, split.y_train).metric_
    learner = SupervisedTreeWasserstein(arity=5, depth=5, epochs=epochs, validation_fraction=0.0, random_state=0)
    return learner.fit(split.X_train, split.y_train).metric_


def _one_query(name: str, split: Split, tree: str, quick: bool) -> Iterator[Row]:
    """Time one query against 500 documents, our index and every rival."""
    n_queries, rounds, passes, cold_rounds, epochs = (10, 2, 2, 2, 1) if quick else (40, 9, 4, 5, 5)
    contenders, queries = _contenders_and_queries(_metric(tree, split, epochs), split, n_queries)
    protocol = turns_protocol(len(queries), rounds, passes)
    if tree == "paper's learner":
        protocol += f"; epochs of the learner: {epochs}"
    times = alternate(contenders, queries, rounds=rounds, passes=passes, warm_up="each round")
    yield from _rival_rows(_WARM, name, tree, times, protocol)
    if tree == "random":
        times = alternate_cold(contenders, queries, rounds=cold_rounds, megabytes=_MEGABYTES)
        yield from _rival_rows(_COLD, name, tree, times, _EMPTIED.format(len(queries), cold_rounds, _MEGABYTES))


def _contenders_and_queries(
    metric: TreeMetric, split: Split, n_queries: int
) -> tuple[list[Callable[[Any], Any]], list[list[Any]]]:
    """Give 500 training documents to our index and every rival; test documents, as each of them wants a query."""
    documents, others = drawn_documents(metric, split, 500, n_queries)
    queries: list[list[Any]] = [[query] for query in others]
    index = TreeIndex(metric)
    index.add(documents)
    contenders: list[Callable[[Any], Any]] = [lambda query: index.search(query[0], _K)]
    for number, rival in enumerate(RIVALS.values(), start=1):
        prepare, search = rival(metric, documents, _K)
        for query in queries:
            query.append(prepare(query[0]))
        contenders.append(_answer_with(search, number))
    return contenders, queries


def _rival_rows(measure: str, name: str, tree: str, times: Sequence[Timing], protocol: str) -> Iterator[Row]:
    """Set the time of each rival beside ours, which comes first."""
    for rival, timing in zip(RIVALS, times[1:], strict=True):
        case: dict[str, Value] = {"measure": measure, "data": name, "tree": tree, "rival": rival}
        yield Row("speed", case, side_by_side(times[0], timing), protocol)


def _answer_with(search: Callable[[Any], Any], number: int) -> Callable[[Any], Any]:
    """Search with what a rival prepared."""
    return lambda prepared: search(prepared[number])


def _means(rows: Sequence[Row], bars: Mapping[str, float]) -> Iterator[Row]:
    """Average the ratios of one measure and tree over the sets, and name the lowest."""
    for rival in RIVALS:
        own = [row for row in rows if row.case["rival"] == rival]
        found = {name: [float(str(row.measures[name])) for row in own] for name in ("ours_us", "rival_us", "ratio")}
        measures: dict[str, Value] = {name: rounded(geometric_mean(values)) for name, values in found.items()}
        measures["lowest_ratio"] = min(found["ratio"])
        if bars:
            measures["bar"] = bars.get(rival)
        case = {**own[0].case, "data": f"geometric mean of {len(own)} sets"}
        yield Row("speed", case, measures, own[0].protocol)


def _embedding_row(name: str, split: Split, quick: bool) -> Row:
    """Time embedding, counts to sorted rows, against SciPy's product of ready histograms."""
    metric = random_metric(split.X_train.shape[1])
    counts = known_documents(metric, split.X_train)
    weights, histograms = weighted_features(metric), to_histograms(counts)

    def product(_: Any) -> Any:
        embedded = histograms @ weights
        embedded.sort_indices()
        return embedded

    rounds, passes = (2, 2) if quick else (7, 2)
    contenders = [lambda _: embed(metric, counts), product]
    ours, rival = alternate(contenders, rounds=rounds, passes=passes, warm_up="each round")
    case: dict[str, Value] = {
        "measure": "embedding all training documents",
        "data": f"{name}, {counts.shape[0]} documents",
        "tree": "random",
        "rival": "SciPy's sparse product with sorted indices",
    }
    protocol = (
        f"median of {rounds * passes} CPU times, one thread: in each of {rounds} rounds ours, then SciPy, embeds all "
        f"documents {passes} times in succession, after once to warm up; sorted counts (ours) and sorted histograms "
        "(SciPy)"
    )
    return Row("speed", case, {**side_by_side(ours, rival), "bar": 2.0}, protocol)


def _shown(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
