"""Errors without repeated documents, as a table, from rows."""

from __future__ import annotations

from collections.abc import Iterable

from treewass.bench.results.layout import figure, sets_of, table
from treewass.bench.rows import Row
from treewass.methods import METHODS

__all__ = ["duplicates_markdown"]

_SHOWN = ("bow", "tfidf", "quadtree", "tsw-10", "stw-default", "profile-fallback", "profile", "svm")


def duplicates_markdown(rows: Iterable[Row]) -> str:
    """Lay out errors on all test documents and on those that are no repeats.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmarks ``duplicates`` and ``ablation``; the latter have the paper's learner.

    Returns
    -------
    str
        A Markdown table and what to know about it.

    Examples
    --------
    >>> measures = {"error_percent": 44.0, "kept_error_percent": 40.0, "documents": 100, "kept": 90}
    >>> row = Row("duplicates", {"set": "ohsumed", "method": "bow"}, measures, "", environment={})
    >>> print(duplicates_markdown([row]).splitlines()[3])
    | bag of words, L1, k = 19 fall-back | 44.0 → 40.0 |
    """
    own = [row for row in rows if row.benchmark in ("duplicates", "ablation")]
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
