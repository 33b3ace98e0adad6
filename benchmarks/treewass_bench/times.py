"""``python -m treewass_bench batch``: the time of comparing one document with many, by method, batch size and depth."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from treewass import TreeIndex
from treewass.learners import bow_metric, tfidf_metric
from treewass.trees import TreeMetric
from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, load_set, load_split
from treewass_bench.depth import FULL_DEPTHS
from treewass_bench.rows import Value
from treewass_bench.time_forms import (
    BLOCK,
    PAIRED,
    Answer,
    TimedSet,
    grown_tree,
    learned_mover,
    load_timed_set,
    ready,
    stacked,
)
from treewass_bench.timing import one_thread, time_within

__all__ = [
    "BATCHES",
    "BATCH_MEASURE",
    "QUERIED",
    "QUERY_MEASURE",
    "batch_cells",
    "measure_batch",
    "measure_query",
    "query_cells",
    "time_cells",
]

BATCH_MEASURE = "one document against a batch"
BATCHES = (100, 500, 1000, 2500, 5000)
_PAPER_BATCH = 500
_PROTOCOL = (
    "all distances between one test document and a batch of training documents, seeded, of the first split; words "
    "with a vector only, as in the paper's sets; CPU time, one thread; mean over up to 100 test documents (queries) "
    "of the smallest of up to five times (rounds), as many as fit into the seconds a cell is given; ms_for_500 is "
    "query_ms over the batch, times 500; normalising and embedding the query are in it, and for SciPy and dense "
    "torch the products too, as in the paper; WMD, Sinkhorn, S-WMD and Flowtree answer ten queries a call, which "
    "share what the call does for the batch; trees and what is done once for the batch are prepare_seconds "
    "(learning is left out); STW's tree has learned for two epochs and S-WMD's map for one step; Sinkhorn: torch, "
    "regularisation 0.1 and at most 200 iterations, as the public S-WMD code; the compiled merge stands for the "
    "public C++ of Quadtree"
)
QUERY_MEASURE = "one query, whole training set"
QUERIED = (
    "wmd", "swmd", "rwmd", "flowtree", "quadtree", "tsw-1", "tsw-5", "tsw-10", "stw", "profile", "bow", "tfidf", "svm",
    "logistic", "minilm",
)  # fmt: skip
_SLOW = ("wmd", "swmd", "rwmd", "flowtree", "svm", "logistic", "minilm")  # to answer, to fit, or to load
_COMPARED = ("wmd", "rwmd", "flowtree")  # ten queries a call
_NEIGHBORS, _SECONDS = 19, 3.0
_QUERY_PROTOCOL = (
    "one test document against all training documents of the first split, words with a vector only, one call a "
    "document (WMD, RWMD and Flowtree: ten a call, which share what it does for the collection), CPU time, one "
    "thread: the top 19 of the index (tree metrics, bag of words, TF-IDF), the top 19 by bounds (WMD, S-WMD), all "
    "distances (RWMD, Flowtree), decision_function (linear models, penalty 1), the embedding of the whole text and all "
    "cosines (sentence embeddings; those of the collection are drawn); mean over up to 100 seeded test documents "
    "(queries) of the smallest of up to five times, as many as fit into the seconds a cell is given; STW's tree has "
    "learned for two epochs and S-WMD's map for one step"
)


@dataclass(frozen=True, slots=True)
class _Timed:
    """A method in one form.

    Parameters
    ----------
    method, form : str
        As `treewass_bench.time_forms.ready` takes them.
    varied : bool
        Whether all batch sizes are measured, or only the paper's.
    depths : tuple of int
        Depths of the tree beside the method's own, measured at the paper's batch size.
    seconds : float
        What a cell is given.
    """

    method: str
    form: str
    varied: bool = True
    depths: tuple[int, ...] = ()
    seconds: float = 1.5


_QUICK = ("index", "compiled merge")  # end before their time is up

_SLICES, _LEVELS = (4, 5), (3, 4)

_SLICED = ("tsw-1", "tsw-5", "tsw-10")

_TIMED = (
    _Timed("wmd", "exact", seconds=10.0),
    _Timed("wmd-sinkhorn", "Sinkhorn", seconds=10.0),
    _Timed("swmd", "exact, learned", seconds=10.0),
    _Timed("flowtree", "flows"),
    _Timed("quadtree", "compiled merge"),
    _Timed("quadtree", "index"),
    *(_Timed(method, "SciPy", varied=False, depths=_SLICES) for method in _SLICED),
    *(_Timed(method, "index", depths=_SLICES) for method in _SLICED),
    _Timed("stw", "dense torch"),
    _Timed("stw", "SciPy", depths=_LEVELS),
    _Timed("stw", "compiled merge", varied=False),
    _Timed("stw", "index", depths=_LEVELS),
    _Timed("profile", "index"),
)


def time_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] = PAPER_SETS) -> list[Cell]:
    """List all that is timed: batches and depths, then one query against the whole training set.

    Returns
    -------
    list of Cell
        Set by set, so that neighbours share what is loaded and learned.
    """
    folder = None if data is None else os.fspath(data)
    return [cell for name in sets for cell in (*batch_cells(name, folder), *query_cells(name, folder))]


def batch_cells(name: str, data: str | None = None) -> Iterator[Cell]:
    """List the cells of one set: batch sizes, and depths at a batch of 500.

    Yields
    ------
    Cell
        The case ``batch`` is a number, or ``"all"`` training documents; larger numbers are left out, as in the paper.
    """
    n_documents = _training_documents(name, data)
    batches: list[int | str] = [batch for batch in BATCHES if batch < n_documents]
    for timed in _TIMED:
        sizes = [*batches, "all"] if timed.varied else [_PAPER_BATCH]
        cases = [(size, FULL_DEPTHS.get(timed.method)) for size in sizes]
        cases += [(_PAPER_BATCH, depth) for depth in timed.depths]
        for batch, depth in cases:
            case: dict[str, Value] = {"measure": BATCH_MEASURE, "set": name, "method": timed.method}
            case |= {"form": timed.form, "batch": batch}
            case |= {} if depth is None else {"depth": depth}
            measure = partial(measure_batch, name, data, timed.method, timed.form, batch, depth, timed.seconds)
            seconds = _expected(timed, n_documents if batch == "all" else int(batch))
            yield Cell("time", case, measure, _PROTOCOL, seconds=seconds, alone=True)


@lru_cache(maxsize=16)
def _training_documents(name: str, data: str | None) -> int:
    return int(load_set(name, data).train_rows[0].size)


def _expected(timed: _Timed, n_documents: int) -> float:
    """Guess how long a cell takes."""
    products = n_documents / 250 if timed.form == "dense torch" else 0.0
    return products + (0.6 if timed.form in _QUICK else 1.5 * timed.seconds)


def measure_batch(
    name: str, data: str | None, method: str, form: str, batch: int | str, depth: int | None, seconds: float
) -> dict[str, Value]:
    """Time a method in one form.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the text sets.
    method, form, depth
        As in `treewass_bench.time_forms.ready`.
    batch : int or "all"
        Training documents to compare with.
    seconds : float
        How long to go on.

    Returns
    -------
    dict
        ``ms_for_500``, ``query_ms``, ``documents``, ``queries``, ``rounds`` and ``prepare_seconds``.
    """
    timed = load_timed_set(name, data)
    documents = timed.documents if batch == "all" else timed.documents[: int(batch)]
    libraries: tuple[Literal["torch"], ...] = ("torch",) if form in ("dense torch", "Sinkhorn") else ()
    with one_thread(*libraries):
        few, _ = ready(name, data, method, form, depth, documents[:8])
        few(timed.queries[0])  # compiles and imports
        answer, prepared = ready(name, data, method, form, depth, documents)
        if form in _QUICK:
            answer(timed.queries[0])  # an index of many documents has other loops than one of few
        least = 1 if form == "dense torch" else 2  # which takes the same time for any document
        if form in PAIRED:
            spent = time_within(answer, stacked(timed.queries), seconds, least=1, block=BLOCK)
        else:
            spent = time_within(answer, timed.queries, seconds, least=least)
    return {
        "ms_for_500": float(f"{spent.milliseconds / documents.shape[0] * 500:.4g}"),
        "query_ms": float(f"{spent.milliseconds:.4g}"),
        "documents": documents.shape[0],
        "queries": spent.items,
        "rounds": spent.rounds,
        "prepare_seconds": float(f"{prepared:.3g}"),
    }


def query_cells(name: str, data: str | None = None) -> Iterator[Cell]:
    """List the cells of one set, one for each method of the table of errors."""
    for method in QUERIED:
        case: dict[str, Value] = {"measure": QUERY_MEASURE, "set": name, "method": method}
        measure = partial(measure_query, name, data, method)
        seconds = 6.0 if method in _SLOW else 1.0
        yield Cell("time", case, measure, _QUERY_PROTOCOL, seconds=seconds, alone=True)


def measure_query(name: str, data: str | None, method: str) -> dict[str, Value]:
    """Time a method's answer to one document.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the text sets.
    method : str
        A name of `treewass_bench.methods.METHODS`.

    Returns
    -------
    dict
        ``query_ms``, ``documents``, ``queries`` and ``rounds``.
    """
    timed = load_timed_set(name, data)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answer, items = _answer(timed, name, data, method), _items(timed, name, data, method)
        answer(items[0])  # compiles and imports
        if method in _COMPARED:
            spent = time_within(answer, items, _SECONDS, least=1, block=BLOCK)
        else:
            spent = time_within(answer, items, _SECONDS)
    return {
        "query_ms": float(f"{spent.milliseconds:.4g}"),
        "documents": timed.documents.shape[0],
        "queries": spent.items,
        "rounds": spent.rounds,
    }


def _items(timed: TimedSet, name: str, data: str | None, method: str) -> Sequence[Any]:
    """List what the method is asked with: counts, blocks of them, or texts."""
    if method in _COMPARED:
        return stacked(timed.queries)
    return load_split(name, 0, data).test_texts[:100] if method == "minilm" else timed.queries


def _answer(timed: TimedSet, name: str, data: str | None, method: str) -> Answer:
    """Make a method ready for one document at a time."""
    if method in ("svm", "logistic"):
        return _linear(timed, method)
    if method == "flowtree":
        return ready(name, data, method, "flows", None, timed.documents)[0]
    if method == "swmd":
        mover = learned_mover(name, data)
        return lambda query: mover.kneighbors(query, _NEIGHBORS)
    if method in ("wmd", "rwmd"):
        return _compared(timed, method)
    if method == "minilm":
        return _sentences(timed)
    index = TreeIndex(_metric(timed, name, data, method))
    index.add(timed.documents)
    return lambda query: index.search(query, _NEIGHBORS)


def _metric(timed: TimedSet, name: str, data: str | None, method: str) -> TreeMetric:
    if method == "bow":
        return bow_metric(timed.documents.shape[1])
    if method == "tfidf":
        return tfidf_metric(timed.documents)
    return grown_tree(name, data, method, FULL_DEPTHS.get(method))[0]


def _compared(timed: TimedSet, method: str) -> Answer:
    from treewass.distances import rwmd, wmd_neighbors

    options: dict[str, Any] = {"word_vectors": timed.vectors}
    if method == "rwmd":
        return lambda query: rwmd(query, timed.documents, **options)
    return lambda query: wmd_neighbors(query, timed.documents, n_neighbors=_NEIGHBORS, **options)


def _sentences(timed: TimedSet) -> Answer:
    """Embed a text, and compare it with as many embeddings as there are documents."""
    from treewass_bench.methods import load_network

    network, random = load_network(), np.random.default_rng(0)

    def embedded(text: str) -> Any:
        return network.encode([text], show_progress_bar=False, normalize_embeddings=True)[0]

    held = random.normal(size=(timed.documents.shape[0], embedded("a tree").size))
    return lambda text: held @ embedded(text)


def _linear(timed: TimedSet, method: str) -> Answer:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    model = LinearSVC() if method == "svm" else LogisticRegression(max_iter=1000)
    fitted = make_pipeline(TfidfTransformer(sublinear_tf=True), model).fit(timed.documents, timed.labels)
    return lambda query: fitted.decision_function(query)
