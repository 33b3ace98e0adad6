"""Fingerprints of sparse rows: equal rows have equal ones, whatever the order in which they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["fingerprints"]


def fingerprints(rows: csr_array) -> NDArray[np.uint64]:
    """Hash the columns and values of each row.

    Two of a million different rows agree by accident about once in 10⁸ matrices.

    Parameters
    ----------
    rows : csr_array of shape (n_rows, n_columns), float64
        Canonical rows.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> first, second, third = fingerprints(check_counts([[1, 2], [2, 1], [1, 2]])).tolist()
    >>> first == third, first == second
    (True, False)
    """
    columns = _mixed(rows.indices.astype(np.uint64) + np.uint64(1))
    entries = _mixed(columns ^ _mixed(rows.data.astype(np.float64).view(np.uint64)))
    sums = np.zeros(entries.size + 1, dtype=np.uint64)
    np.cumsum(entries, out=sums[1:])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of whole numbers, so that their sums seldom agree."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
