"""Queries: documents that must hold a known word."""

from __future__ import annotations

from typing import Any, NoReturn

from treewass.documents.histograms import check_counts
from treewass.search.embedding import refuse_overflow, refuse_unknown
from treewass.search.rows import Rows, canonical_rows
from treewass.trees.metric import TreeMetric

__all__ = ["checked_queries", "refuse_query"]

_OVERFLOW = -2  # as the compiled loops report it


def checked_queries(metric: TreeMetric, X: Any, name: str = "X") -> Rows:
    """Validate queries and bring them into canonical form.

    Raises
    ------
    ValueError
        If values are negative or not finite, the shape is wrong, or a row holds no known word.
    """
    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    refuse_unknown(metric, counts, name)
    return canonical_rows(counts, metric.n_words)


def refuse_query(row: int, reason: int) -> NoReturn:
    """Raise the error for a canonical query that the compiled loops could not embed."""
    if reason == _OVERFLOW:
        refuse_overflow(row)
    raise ValueError(
        f"Expected documents with at least one known word, but row {row} has none that weighs anything beside the "
        "mass factors: their product is too small for a float64. Scale X up."
    )
