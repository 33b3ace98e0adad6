"""Word counts of documents: what is accepted, and how each row becomes a histogram of mass one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.corpus import Corpus

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "EmptyDocumentWarning",
    "check_counts",
    "empty_rows",
    "fingerprints",
    "first_few",
    "histogram_prints",
    "refuse_texts",
    "refuse_values",
    "row_totals",
    "scale_rows",
    "short_bounds",
    "to_histograms",
    "warn_about_empty_rows",
]

_ROWS = 1 << 13  # rows hashed at a time


class EmptyDocumentWarning(UserWarning):
    """Some documents hold no known word, so that they have no distance to any other."""


def short_bounds(bounds: NDArray[np.integer]) -> NDArray[np.integer]:
    """Hold the bounds of sparse rows in 32 bits where they fit; SciPy widens column numbers to the kind of the bounds.

    Examples
    --------
    >>> short_bounds(np.array([0, 2, 3])).dtype
    dtype('int32')
    """
    return bounds.astype(np.int32 if bounds[-1] < 2**31 else np.int64, copy=False)


def to_histograms(X: Any, *, n_words: int | None = None) -> csr_array:
    """Normalise word counts so that each document has mass one.

    Parameters
    ----------
    X : sparse matrix, sparse array or array-like of shape (n_documents, n_words)
        Non-negative counts or weights of any integer, boolean or floating type.
    n_words : int, optional
        The number of columns to demand; by default any.

    Returns
    -------
    csr_array of shape (n_documents, n_words), float64
        Canonical rows (sorted, no duplicates, no stored zeros) that sum to one.
        A document without any word stays a row of zeros.

    Raises
    ------
    ValueError
        For negative, infinite or missing values, a wrong shape, or totals that overflow.
    TypeError
        For values that are not real numbers.

    Examples
    --------
    >>> to_histograms([[1, 3], [0, 0], [2, 2]]).toarray()
    array([[0.25, 0.75],
           [0.  , 0.  ],
           [0.5 , 0.5 ]])
    """
    counts = check_counts(X, n_words=n_words)
    return scale_rows(counts, row_totals(counts))


def check_counts(X: Any, *, n_words: int | None = None, caller: str = "treewass") -> csr_array:
    """Validate word counts and bring them into canonical CSR form, without normalising.

    Rows are sorted, without duplicates or stored zeros, and share no memory with `X`. `caller` is named in messages.

    Examples
    --------
    >>> check_counts([[2, 0, 1]]).indices
    array([0, 2], dtype=int32)
    """
    counts = _as_csr(X)
    if n_words is not None and counts.shape[1] != n_words:
        raise ValueError(
            f"X has {counts.shape[1]} features, but {caller} is expecting {n_words} features as input: "
            f"one column per word of the vocabulary. Vectorise with the vocabulary used for fitting."
        )
    refuse_values(counts, caller=caller)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def row_totals(counts: csr_array) -> NDArray[np.float64]:
    """Sum each canonical row from left to right, the one order that every embedding uses; all totals are finite."""
    totals: NDArray[np.float64] = counts @ np.ones(counts.shape[1])
    if not np.isfinite(totals).all():
        rows = first_few(np.flatnonzero(~np.isfinite(totals)))
        raise ValueError(f"Expected row totals that fit a float64, but rows {rows} overflow. Scale X down.")
    return totals


def scale_rows(counts: csr_array, totals: NDArray[np.float64]) -> csr_array:
    """Divide each row by its total; rows of total zero stay empty."""
    from scipy.sparse import csr_array

    data = counts.data / np.repeat(totals, np.diff(counts.indptr))
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def fingerprints(rows: csr_array) -> NDArray[np.uint64]:
    """Hash the columns and values of each canonical row, so that equal rows have equal fingerprints.

    Two of a million different rows agree by accident about once in 10⁸ matrices.

    Examples
    --------
    >>> first, second, third = fingerprints(check_counts([[1, 2], [2, 1], [1, 2]])).tolist()
    >>> first == third, first == second
    (True, False)
    """
    found = np.empty(rows.shape[0], dtype=np.uint64)
    for start in range(0, found.size, _ROWS):
        bounds = rows.indptr[start : start + _ROWS + 1].astype(np.intp)
        part = slice(bounds[0], bounds[-1])
        columns = _mixed(rows.indices[part].astype(np.uint64) + np.uint64(1))
        entries = _mixed(columns ^ _mixed(rows.data[part].astype(np.float64).view(np.uint64)))
        sums = np.zeros(entries.size + 1, dtype=np.uint64)
        np.cumsum(entries, out=sums[1:])
        found[start : start + _ROWS] = np.diff(sums[bounds - bounds[0]])
    return found


def histogram_prints(X: Any) -> NDArray[np.uint64]:
    """Hash the histogram of each row of counts: see `to_histograms` and `fingerprints`, without a copy of all rows.

    Examples
    --------
    >>> first, second = histogram_prints(np.array([[1, 2], [2, 4]]))
    >>> bool(first == second)
    True
    """
    blocks = (X[start : start + _ROWS] for start in range(0, X.shape[0], _ROWS))
    return np.concatenate([np.zeros(0, np.uint64), *(fingerprints(to_histograms(block)) for block in blocks)])


def refuse_texts(X: Any) -> None:
    """Raise a TypeError where texts are given instead of counts, and say how to count."""
    first = X[0] if isinstance(X, list | tuple) and X else X.flat[0] if isinstance(X, np.ndarray) and X.size else X
    if isinstance(first, str | Corpus) and getattr(X, "ndim", 1) == 1:
        raise TypeError(
            "Expected a matrix of word counts, got texts. Count words first, for instance with scikit-learn: "
            "make_pipeline(CountVectorizer(), TreeWassersteinClassifier()), or CountVectorizer().fit_transform(texts)."
        )


def refuse_values(X: Any, *, caller: str) -> None:
    """Raise a ValueError that names the first rows with a missing, infinite or negative value, of CSR or dense rows.

    Examples
    --------
    >>> refuse_values(np.array([[1.0, 2.0], [0.0, np.nan]]), caller="treewass")
    Traceback (most recent call last):
        ...
    ValueError: Input X contains NaN or infinity, passed to treewass: 1 row(s), first 1, such as the value nan. ...
    """
    values = X.data if hasattr(X, "indptr") else X
    if values.min(initial=0) >= 0 and values.max(initial=0) < np.inf:  # neither is true of NaN
        return
    offending, problem = ~np.isfinite(values), "Input X contains NaN or infinity, passed to"
    if not offending.any():
        offending, problem = values < 0, "Negative values in data passed to"
    entries = np.flatnonzero(offending)
    places = np.searchsorted(X.indptr, entries, side="right") - 1 if values is not X else entries // X.shape[1]
    rows = np.unique(places)
    raise ValueError(
        f"{problem} {caller}: {rows.size} row(s), first {first_few(rows)}, such as the value "
        f"{values.flat[entries[0]]}. Expected finite non-negative counts or weights."
    )


def empty_rows(counts: csr_array) -> NDArray[np.intp]:
    """Find the rows without any entry."""
    return np.flatnonzero(np.diff(counts.indptr) == 0)


def warn_about_empty_rows(rows: NDArray[np.intp], consequence: str, places: Sequence[str] | None = None) -> None:
    """Warn that some documents hold no known word, and say what becomes of them; `places` name all documents."""
    if rows.size:
        named = f"rows {first_few(rows)}" if places is None else first_few([places[row] for row in rows])
        warnings.warn(
            f"{rows.size} document(s) hold no known word ({named}): {consequence}",
            EmptyDocumentWarning,
            stacklevel=_callers_level(),
        )


def _callers_level() -> int:
    """Return the level of the stack, as seen by the function that asks, where the library was called."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treewass."):
        level, frame = level + 1, frame.f_back
    return level


def first_few(values: Collection[Any], most: int = 5) -> str:
    """List the first few values, such as row numbers, for a message, and count the others.

    Examples
    --------
    >>> first_few(range(42)), first_few([2, 4])
    ('0, 1, 2, 3, 4 and 37 more', '2, 4')
    """
    shown = ", ".join(str(value) for value in islice(values, most))
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown


def _as_csr(X: Any) -> csr_array:
    """Copy any matrix of real numbers into a float64 CSR array."""
    from scipy.sparse import csr_array, issparse

    refuse_texts(X)
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("Expected counts without a mask, got a masked array. Fill it first: X.filled(0).")
    if not issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected a 2D array of shape (n_documents, n_words), got {X.ndim}D of shape {X.shape}. "
                "Reshape your data: X.reshape(1, -1) makes one document of a single row."
            )
    elif X.ndim != 2:
        raise ValueError(f"Expected a 2D sparse array of shape (n_documents, n_words), got {X.ndim}D.")
    if X.dtype.kind not in "biuf":
        raise TypeError(
            f"Expected counts or weights as real numbers, got dtype {X.dtype}. "
            "Texts become counts with scikit-learn's CountVectorizer."
        )
    counts = csr_array(X.astype(np.float64))  # a copy, whose duplicates are summed in float64, not in a small type
    counts.check_format(full_check=True)
    return counts


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of whole numbers, so that their sums seldom agree."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
