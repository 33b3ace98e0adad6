"""``python -m treewass_bench unlabelled``: how good neighbours are that were found without labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import TopicTreeWasserstein, TreeIndex, TreeSlicedWasserstein
from treewass.learners import SingularTreeWasserstein, bow_metric, tfidf_metric
from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, Split, load_split
from treewass_bench.feature_hierarchy import feature_hierarchy
from treewass_bench.layout import figure, sets_of, table
from treewass_bench.rows import Row, Value
from treewass_bench.timing import one_thread
from treewass_bench.typed_search import best_rows, bm25_index, word_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNLABELLED_METHODS", "unlabelled_cells", "unlabelled_markdown"]

_K = 10
UNLABELLED_METHODS = {
    "topics": "**treewass** without labels (`TopicTreeWasserstein`)",
    "tsw-svd": "TSW-10 on latent vectors (`TreeSlicedWasserstein()`)",
    "singular": "tree singular vectors (`SingularTreeWasserstein`)",
    "hierarchy": "feature hierarchy, lengths by geodesics",
    "hierarchy-heights": "feature hierarchy, lengths by heights",
    "tfidf": "TF-IDF, L1",
    "bow": "bag of words, L1",
    "tfidf-cosine": "TF-IDF, cosine",
    "bm25": "BM25 (bm25s)",
}
_PROTOCOL = (
    "test documents of a split against its training documents; labels are hidden from every method, and only judge the "
    "answer: label_precision is the share of the ten nearest documents that have the label of the query, over all "
    "queries, one that finds fewer included; fit_seconds: CPU time to learn and to index"
)


def unlabelled_cells(
    data: str | None = None,
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = tuple(UNLABELLED_METHODS),
    splits: int = 1,
) -> list[Cell]:
    """List what is measured: each method on the first splits of each set.

    Examples
    --------
    >>> [cell.case["method"] for cell in unlabelled_cells(sets=["twitter"], methods=["topics", "bm25"])]
    ['topics', 'bm25']
    """
    unknown = [name for name in methods if name not in UNLABELLED_METHODS]
    if unknown:
        raise ValueError(f"Expected methods among {', '.join(UNLABELLED_METHODS)}, got {', '.join(unknown)}.")
    return [
        Cell(
            "unlabelled",
            {"set": name, "split": split, "method": method},
            partial(_precision, name, split, method, data),
            _PROTOCOL,
            10.0,
        )
        for name in sets
        for split in range(splits)
        for method in methods
    ]


def _precision(name: str, number: int, method: str, data: str | None) -> dict[str, Value]:
    split = load_split(name, number, data)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they find nothing
        start = time.process_time()
        found, fitted = nearest(split, method)
    same = (split.y_train[found] == split.y_test[:, None]) & (found >= 0)
    return {
        "label_precision": round(float(same.mean()), 4),
        "queries": len(found),
        "fit_seconds": round(fitted - start, 3),
    }


def nearest(split: Split, method: str) -> tuple[NDArray[np.int64], float]:
    """Find the ten nearest training documents of each test document, -1 where there are fewer.

    The second value is the time at which searching began.
    """
    if method == "bm25":
        index = bm25_index(split.X_train)
        fitted, tokens = time.process_time(), word_tokens(split.X_test)
        rows, scores = index.retrieve(tokens, k=_K, show_progress=False, n_threads=0, return_as="tuple")
        return np.where(scores > 0, rows, -1), fitted
    if method == "tfidf-cosine":
        from sklearn.feature_extraction.text import TfidfTransformer

        weigh = TfidfTransformer(sublinear_tf=True).fit(split.X_train)
        documents, fitted = weigh.transform(split.X_train), time.process_time()
        return best_rows(documents, weigh.transform(split.X_test)), fitted
    metric = _metric(method, split.X_train)
    tree_index = TreeIndex(metric)
    tree_index.add(split.X_train)
    fitted = time.process_time()
    found = np.full((split.X_test.shape[0], _K), -1, dtype=np.int64)
    known = np.flatnonzero(split.X_test @ metric.known_words.astype(np.float64) > 0)
    found[known] = tree_index.search(split.X_test[known], _K)[1]
    return found, fitted


def _metric(method: str, counts: Any) -> Any:
    if method == "bow":
        return bow_metric(counts.shape[1])
    if method == "tfidf":
        return tfidf_metric(counts)
    if method == "hierarchy":
        return feature_hierarchy(counts, lengths="geodesics", n_scales=1)  # the best of those tried on two sets
    if method == "hierarchy-heights":
        return feature_hierarchy(counts, lengths="heights", n_scales=3)  # likewise
    learners = {"topics": TopicTreeWasserstein, "tsw-svd": TreeSlicedWasserstein, "singular": SingularTreeWasserstein}
    return learners[method]().fit(counts).metric_


def unlabelled_markdown(rows: Iterable[Row]) -> str:
    """Lay out what was found, the best of each set in bold.

    Examples
    --------
    >>> case = {"set": "reuters", "split": 0, "method": "bm25"}
    >>> print(unlabelled_markdown([Row("unlabelled", case, {"label_precision": 0.25}, "", environment={})]))
    | ten nearest with the label of the query, % | REUTERS |
    |---|---|
    | BM25 (bm25s) | **25.0** |
    <BLANKLINE>
    """
    rows = list(rows)
    sets = sets_of(rows)
    found: dict[tuple[Value, Value], list[Any]] = {}
    for row in rows:
        found.setdefault((row.case["set"], row.case["method"]), []).append(row.measures["label_precision"])
    means = {case: 100 * float(np.mean(values)) for case, values in found.items()}
    best = {name: max(value for (own, _), value in means.items() if own == name) for name in sets}
    lines = []
    for method, title in UNLABELLED_METHODS.items():
        own = [means.get((name, method)) for name in sets]
        if any(value is not None for value in own):
            shown = [figure(value, ".1f") for value in own]
            pairs = zip(sets, own, shown, strict=True)
            lines.append((title, [f"**{text}**" if value == best[name] else text for name, value, text in pairs]))
    return table("ten nearest with the label of the query, %", [name.upper() for name in sets], lines)
