"""How long one query takes against a whole training set, by each method's own way of answering it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from treewass.bench.cells import Cell
from treewass.bench.datasets import load_split
from treewass.bench.depth import FULL_DEPTHS
from treewass.bench.rows import Value
from treewass.bench.speed_timing import time_for_seconds
from treewass.bench.time_methods import (
    BLOCK,
    Answer,
    TimedSet,
    grown_tree,
    learned_mover,
    load_timed_set,
    ready,
    stacked,
)
from treewass.learners.stars import bow_metric, tfidf_metric
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric

__all__ = ["QUERIED", "QUERY_MEASURE", "measure_query", "query_cells"]

QUERY_MEASURE = "one query, whole training set"
QUERIED = (
    "wmd", "swmd", "rwmd", "flowtree", "quadtree", "tsw-1", "tsw-5", "tsw-10", "stw", "profile", "bow", "tfidf", "svm",
    "logistic", "minilm",
)  # fmt: skip
_SLOW = ("wmd", "swmd", "rwmd", "flowtree", "svm", "logistic", "minilm")  # to answer, to fit, or to load
_COMPARED = ("wmd", "rwmd", "flowtree")  # ten queries a call
_NEIGHBORS, _SECONDS = 19, 3.0
_PROTOCOL = (
    "one test document against all training documents of the first split, words with a vector only, one call a "
    "document (WMD, RWMD and Flowtree: ten a call, which share what it does for the collection), CPU time, one "
    "thread: the top 19 of the index (tree metrics, bag of words, TF-IDF), the top 19 by bounds (WMD, S-WMD), all "
    "distances (RWMD, Flowtree), decision_function (linear models, penalty 1), the embedding of the whole text and all "
    "cosines (sentence embeddings; those of the collection are drawn); mean over up to 100 seeded test documents "
    "(queries) of the smallest of up to five times, as many as fit into the seconds a cell is given; STW's tree has "
    "learned for two epochs and S-WMD's map for one step"
)


def query_cells(name: str, data: str | None = None) -> Iterator[Cell]:
    """List the cells of one set, one for each method of the table of errors.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the text sets.

    Yields
    ------
    Cell
    """
    for method in QUERIED:
        case: dict[str, Value] = {"measure": QUERY_MEASURE, "set": name, "method": method}
        measure = partial(measure_query, name, data, method)
        seconds = 6.0 if method in _SLOW else 1.0
        yield Cell("time", case, measure, _PROTOCOL, seconds=seconds, alone=True)


def measure_query(name: str, data: str | None, method: str) -> dict[str, Value]:
    """Time a method's answer to one document.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the text sets.
    method : str
        A name of `treewass.methods.METHODS`.

    Returns
    -------
    dict
        ``query_ms``, ``documents``, ``queries`` and ``rounds``.
    """
    from threadpoolctl import threadpool_limits

    timed = load_timed_set(name, data)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answer, items = _answer(timed, name, data, method), _items(timed, name, data, method)
        answer(items[0])  # compiles and imports
        if method in _COMPARED:
            spent = time_for_seconds(answer, items, _SECONDS, least=1, block=BLOCK)
        else:
            spent = time_for_seconds(answer, items, _SECONDS)
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
    from treewass.bench.sentences import load_network

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
