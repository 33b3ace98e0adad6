"""``python -m treewass_bench duplicates``: errors on test documents that the training documents do not already hold."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, Split, load_split, load_vectors
from treewass_bench.layout import figure, sets_of, table
from treewass_bench.methods import METHODS, equal_documents
from treewass_bench.rows import Row, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DUPLICATE_METHODS",
    "duplicate_cells",
    "duplicates_markdown",
    "kept_documents",
    "kept_errors",
]

DUPLICATE_METHODS = ("bow", "tfidf", "quadtree", "tsw-10", "profile-fallback", "profile", "svm")
_PROTOCOL = (
    "one fit on all training documents of the first split; error on all test documents, and on those kept: no document "
    "with the same shares of words is among the training documents, nor among the test documents with another label"
)
_SECONDS = {"bow": 0.5, "tfidf": 0.5, "quadtree": 1.5, "tsw-10": 4.0, "profile-fallback": 2.0, "profile": 6.0}
_SVM_SECONDS = {"ohsumed": 15.0, "twitter": 2.0, "bbcsport": 2.0}
_SHOWN = ("bow", "tfidf", "quadtree", "tsw-10", "stw-default", "profile-fallback", "profile", "svm")


def duplicate_cells(
    data: str | os.PathLike[str] | None = None,
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = DUPLICATE_METHODS,
) -> list[Cell]:
    """List the cells of the duplicate-free errors, on the first split of each set.

    The paper's learner has none: its figures are in the rows of ``ablation``, from the fit there.
    """
    return [
        Cell(
            "duplicates",
            {"set": name, "split": 0, "method": method, "vote": METHODS[method].vote},
            partial(_errors, name, method, data),
            _PROTOCOL,
            0.7 + (_SVM_SECONDS.get(name, 5.0) if method == "svm" else _SECONDS.get(method, 5.0)),
        )
        for name in sets
        for method in methods
    ]


def kept_documents(split: Split) -> NDArray[np.bool_]:
    """Find the test documents that no training document equals, and no test document of another label.

    Documents are equal if they hold the same words in the same shares: every distance between them is zero.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> train, test = csr_array([[1, 0], [1, 1]]), csr_array([[2, 2], [0, 1], [1, 2], [1, 2]])
    >>> split = Split(np.array(["a", "b"]), train, np.array(["x", "y"]), test, np.array(["y", "x", "x", "y"]), [], [])
    >>> kept_documents(split)
    array([False,  True, False, False])
    """
    from scipy.sparse import vstack

    n_train = split.X_train.shape[0]
    groups = equal_documents(vstack([split.X_train, split.X_test], format="csr"))
    trained, tested = groups[:n_train], groups[n_train:]
    _, labels = np.unique(split.y_test, return_inverse=True)
    lowest, highest = np.full(groups.max() + 1, labels.max()), np.zeros(groups.max() + 1, dtype=labels.dtype)
    np.minimum.at(lowest, tested, labels)
    np.maximum.at(highest, tested, labels)
    return np.asarray(~np.isin(tested, trained) & (lowest == highest)[tested])


def _errors(name: str, method: str, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Fit a method and classify the test documents, all and those kept."""
    split, chosen = load_split(name, 0, data), METHODS[method]
    model = chosen.make(load_vectors(split.words, data) if "vectors" in chosen.needs else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        wrong = model.fit(split.X_train, split.y_train).predict(split.X_test) != split.y_test
    return kept_errors(wrong, kept_documents(split))


def kept_errors(wrong: NDArray[np.bool_], kept: NDArray[np.bool_]) -> dict[str, Value]:
    """Say the error on all test documents and on those kept, in per cent, and how many there are.

    Returns
    -------
    dict
        The second error is None if no document is kept.

    Examples
    --------
    >>> kept_errors(np.array([True, False, False, True]), np.array([True, True, False, False]))
    {'error_percent': 50.0, 'kept_error_percent': 50.0, 'documents': 4, 'kept': 2}
    """
    return {
        "error_percent": round(100 * float(np.mean(wrong)), 3),
        "kept_error_percent": round(100 * float(np.mean(wrong[kept])), 3) if kept.any() else None,
        "documents": wrong.size,
        "kept": int(kept.sum()),
    }


def duplicates_markdown(rows: Iterable[Row]) -> str:
    """Lay out errors on all test documents and on those that are no repeats.

    Examples
    --------
    >>> measures = {"error_percent": 44.0, "kept_error_percent": 40.0, "documents": 100, "kept": 90}
    >>> row = Row("duplicates", {"set": "ohsumed", "method": "bow"}, measures, "", environment={})
    >>> print(duplicates_markdown([row]).splitlines()[3])
    | bag of words, L1, k = 19 fall-back | 44.0 → 40.0 |
    """
    own = [row for row in rows if row.benchmark in ("duplicates", "ablation") and not row.case.get("split")]
    found = {(str(row.case["set"]), str(row.case["method"])): row for row in own}
    sets = sets_of(own)
    left = [_left_out(next(row for row in own if row.case["set"] == name)) for name in sets]
    lines = [("test documents left out", left)]
    for method in _SHOWN:
        if any((name, method) in found for name in sets):
            lines.append((METHODS[method].title, [_change(found.get((name, method))) for name in sets]))
    return table("test error in %, all → without repeats", [name.upper() for name in sets], lines) + (
        "\nFirst split only; one fit on all training documents. Left out are test documents whose words and shares a "
        "training document has too, and those that stand among the test documents with another label as well, which "
        "no method can get all right.\n"
    )


def _left_out(row: Row) -> str:
    documents, kept = int(row.measures["documents"] or 0), int(row.measures["kept"] or 0)
    return f"{documents - kept} of {documents}"


def _change(row: Row | None) -> str:
    if row is None:
        return "–"
    return f"{figure(row.measures['error_percent'])} → {figure(row.measures['kept_error_percent'])}"
