"""Documents on their way to the compiled loops: plain arrays where they are plain, checked and copied where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treewass.documents.histograms import check_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows", "canonical_rows", "plain_rows"]

_INT32, _FLOAT64 = np.dtype(np.int32), np.dtype(np.float64)
_WEIGHTS = (np.dtype(np.int64), _FLOAT64)


class Rows(NamedTuple):
    """The three arrays of a CSR matrix, contiguous and writeable, so that few compiled forms serve all."""

    indptr: NDArray[np.int32]
    words: NDArray[np.int32]
    weights: NDArray[np.float64] | NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of documents."""
        return self.indptr.size - 1


def plain_rows(X: Any, n_words: int) -> Rows | None:
    """Take the arrays of a CSR matrix as they are, unchecked, or None if `X` is something else.

    The compiled loops check what they read, and report a row that is not canonical.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> plain_rows(csr_array([[0, 2]]), 2).words
    array([1], dtype=int32)
    >>> plain_rows([[0, 2]], 2) is None
    True
    """
    if getattr(X, "format", None) != "csr":
        return None
    shape, indptr, words, weights = X.shape, X.indptr, X.indices, X.data
    if len(shape) != 2 or shape[1] != n_words:
        return None
    kind = weights.dtype
    if kind in _WEIGHTS and words.dtype == _INT32 and indptr.dtype == _INT32:
        if weights.flags.carray and words.flags.carray and indptr.flags.carray:
            return Rows(indptr, words, weights)
    elif kind.kind not in "biuf" or indptr[-1] >= 2**31:
        return None
    return Rows(indptr.astype(_INT32), words.astype(_INT32), weights.astype(_FLOAT64))


def canonical_rows(X: Any, n_words: int) -> Rows:
    """Validate documents and bring them into canonical form.

    Raises
    ------
    ValueError
        If values are negative or not finite, or the shape is wrong.
    """
    counts = check_counts(X, n_words=n_words, caller="TreeMetric")
    return Rows(counts.indptr.astype(_INT32), counts.indices.astype(_INT32), counts.data)
