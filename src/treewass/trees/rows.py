"""Documents on their way to the compiled loops: plain arrays where they are plain, checked and copied where not."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treewass.documents.histograms import check_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["Rows", "arrays_of", "canonical_rows", "count_rows", "part_of", "plain_rows"]

_INT32, _FLOAT64 = np.dtype(np.int32), np.dtype(np.float64)


# The three arrays of a CSR matrix, contiguous and writeable, so that one compiled form serves all.
Rows: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]"


def count_rows(rows: Rows) -> int:
    """Return the number of documents."""
    return rows[0].size - 1


def part_of(rows: Rows, start: int, stop: int) -> Rows:
    """Return the documents from `start` to `stop`."""
    return rows[0][start : stop + 1], rows[1], rows[2]


def plain_rows(X: Any, n_words: int) -> Rows | None:
    """Take the arrays of a CSR matrix as they are, unchecked, or None if `X` is something else.

    The compiled loops check what they read. They report a row with a value that is negative or not finite, or with a
    word twice.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> plain_rows(csr_array([[0, 2]]), 2)[1]
    array([1], dtype=int32)
    >>> plain_rows([[0, 2]], 2) is None
    True
    """
    if not _is_csr(X.__class__):
        return None
    shape, indptr, words, weights = X.shape, X.indptr, X.indices, X.data
    if len(shape) != 2 or shape[1] != n_words:
        return None
    is_plain = weights.dtype is _FLOAT64
    if not is_plain and weights.dtype.kind not in "biuf":
        return None
    if words.dtype is _INT32 and indptr.dtype is _INT32:
        weights = weights if is_plain and weights.flags.carray else weights.astype(_FLOAT64)
        if words.flags.carray and indptr.flags.carray:
            return indptr, words, weights
    elif indptr[-1] >= 2**31:
        return None
    return indptr.astype(_INT32), words.astype(_INT32), weights.astype(_FLOAT64)


@lru_cache(maxsize=64)
def _is_csr(kind: type) -> bool:
    """Tell whether a type is one of SciPy's CSR matrices."""
    if "scipy.sparse" not in sys.modules:  # whoever holds such a matrix has imported it
        return False
    from scipy.sparse import csr_array, csr_matrix

    return issubclass(kind, csr_array | csr_matrix)


def canonical_rows(X: Any, n_words: int) -> Rows:
    """Validate documents and bring them into canonical form.

    Raises
    ------
    ValueError
        If values are negative or not finite, or the shape is wrong.
    """
    return arrays_of(check_counts(X, n_words=n_words, caller="TreeMetric"))


def arrays_of(counts: csr_array) -> Rows:
    """Return the arrays of documents that `check_counts` has brought into canonical form."""
    if counts.indptr[-1] >= 2**31:
        raise ValueError(
            f"Expected fewer than 2**31 entries at a time, got {counts.indptr[-1]}. Give the documents in parts."
        )
    return counts.indptr.astype(_INT32), counts.indices.astype(_INT32), counts.data
