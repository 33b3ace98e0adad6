"""``python -m treewass_bench labels``: how well labels that were changed at random are found, beside cleanlab."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treewass.compute.extras import require
from treewass_bench.cells import Cell
from treewass_bench.datasets import load_set
from treewass_bench.layout import figure, table
from treewass_bench.rows import Row, Value
from treewass_bench.timing import one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LABEL_SETS", "changed_labels", "label_cells", "labels_markdown"]

LABEL_SETS = ("twitter", "reuters", "20news")
_SHARES = (5, 20)  # per cent of the labels
_MOST = 4000  # documents of a set
_FOLDS = 5
_PROTOCOL = (
    f"at most {_MOST} training documents of the first split, drawn at random; the given share of their labels changed "
    "to another class at random; from texts to a ranking of all labels, the most doubtful first; found: changed labels "
    "among as many first ones as were changed, which is precision and recall at once; listed: the labels that the "
    "method itself calls doubtful; CPU seconds on one thread, the fit of the model included, compiled before"
)
_TITLES = {
    "treewass": "treewass report",
    "cleanlab": "cleanlab, logistic regression on TF-IDF",
}


class _Ranking(NamedTuple):
    """Rows of documents, the most doubtful label first, and those whose label is called doubtful."""

    rows: NDArray[np.intp]
    listed: NDArray[np.intp]


def label_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] = LABEL_SETS) -> list[Cell]:
    """List the cells: every method on each set with some of its labels changed."""
    return [
        Cell(
            "labels",
            {"set": name, "changed_percent": share, "method": method},
            partial(_measure, name, share, method, data),
            _PROTOCOL,
            30.0,
            alone=True,
        )
        for name in sets
        for share in _SHARES
        for method in _METHODS
    ]


def changed_labels(labels: NDArray[np.str_], share: float, seed: int) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Change a share of labels to another class, each other class as likely; return the labels and which were changed.

    Examples
    --------
    >>> changed_labels(np.array(["a", "b", "a", "b"]), 0.5, seed=0)
    (array(['a', 'b', 'b', 'a'], dtype='<U1'), array([2, 3]))
    """
    generator = np.random.default_rng(seed)
    classes, codes = np.unique(labels, return_inverse=True)
    rows = np.sort(generator.choice(labels.size, round(share * labels.size), replace=False))
    codes[rows] = (codes[rows] + generator.integers(1, classes.size, rows.size)) % classes.size
    return classes[codes], rows


def _measure(name: str, share: int, method: str, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Change labels of a set, and let a method find them."""
    text_set = load_set(name, data)
    rows = np.asarray(text_set.train_rows[0])
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:_MOST])
    texts = [text_set.corpus.texts[row] for row in rows]
    labels, changed = changed_labels(np.array(text_set.corpus.labels)[rows], share / 100, seed=0)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word
        _METHODS[method](texts[::10], labels[::10])  # compiles
        start = time.process_time()
        found = _METHODS[method](texts, labels)
        seconds = time.process_time() - start
    listed = np.isin(found.listed, changed)
    return {
        "documents": labels.size,
        "changed": changed.size,
        "found_percent": round(100 * float(np.isin(found.rows[: changed.size], changed).mean()), 2),
        "listed": listed.size,
        "listed_precision_percent": round(100 * float(listed.mean()), 2) if listed.size else None,
        "listed_recall_percent": round(100 * float(listed.sum()) / changed.size, 2),
        "cpu_seconds": round(seconds, 2),
    }


def _by_report(texts: list[str], labels: NDArray[np.str_]) -> _Ranking:
    """Rank as ``treewass report`` does."""
    from treewass import DocumentModel
    from treewass.report import find_oddities

    found = find_oddities(DocumentModel().fit(texts, labels))
    order = np.argsort(-np.array(found.doubts), kind="stable")
    return _Ranking(np.array(found.ids)[order], np.array([suspect.document.id for suspect in found.suspects]))


def _by_cleanlab(texts: list[str], labels: NDArray[np.str_]) -> _Ranking:
    """Rank by cleanlab, with probabilities of logistic regression on TF-IDF from five folds."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline

    filtering = require("cleanlab.filter", purpose="python -m treewass_bench labels", package="cleanlab")
    ranking = require("cleanlab.rank", purpose="python -m treewass_bench labels", package="cleanlab")
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    pipeline = make_pipeline(vectorizer, LogisticRegression(C=10.0, max_iter=1000))
    codes = np.unique(labels, return_inverse=True)[1]
    shares = cross_val_predict(pipeline, texts, codes, cv=_FOLDS, method="predict_proba")
    listed = filtering.find_label_issues(codes, shares, return_indices_ranked_by="self_confidence", n_jobs=1)
    return _Ranking(np.argsort(ranking.get_label_quality_scores(codes, shares), kind="stable"), listed)


_METHODS: dict[str, Callable[[list[str], NDArray[np.str_]], _Ranking]] = {
    "treewass": _by_report,
    "cleanlab": _by_cleanlab,
}


def labels_markdown(rows: Iterable[Row]) -> str:
    """Lay out what each method finds: of as many labels as were changed, and by its own list.

    Examples
    --------
    >>> case = {"set": "reuters", "changed_percent": 5, "method": "treewass"}
    >>> measures = {"found_percent": 80.0, "listed": 90, "listed_precision_percent": 70.0}
    >>> measures |= {"listed_recall_percent": 90.0, "cpu_seconds": 9.0}
    >>> print(labels_markdown([Row("labels", case, measures, "", environment={})]).splitlines()[2])
    | reuters, 5 % changed: treewass report | 80.0 % | 70.0 % / 90.0 % (90) | 9 s |
    """
    lines = []
    for row in rows:
        name = f"{row.case['set']}, {row.case['changed_percent']} % changed: {_TITLES[str(row.case['method'])]}"
        found, precision, recall = (
            f"{figure(row.measures[key])} %"
            for key in ("found_percent", "listed_precision_percent", "listed_recall_percent")
        )
        lines.append(
            (
                name,
                (found, f"{precision} / {recall} ({row.measures['listed']})", f"{row.measures['cpu_seconds']:.0f} s"),
            )
        )
    return table("", ("found at the number of changes", "own list: precision / recall (labels)", "CPU time"), lines)
