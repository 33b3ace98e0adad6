"""Embedded documents turned by feature: which of them have a feature, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["Postings"]


@dataclass(frozen=True, slots=True)
class Postings:
    """Documents by feature, ready to be scanned.

    Parameters
    ----------
    bounds : ndarray of int64, shape (n_features + 1,)
        Where each feature's documents begin in the next two arrays.
    documents : ndarray of int32, shape (n_entries,)
        Rows in which the feature is not zero, ascending within a feature.
    values : ndarray of int32, shape (n_entries,)
        Values there, in units of the metric's resolution.
    norms : ndarray of int64, shape (n_documents,)
        L1 norm of each document, in units.
    """

    bounds: NDArray[np.int64]
    documents: NDArray[np.int32]
    values: NDArray[np.int32]
    norms: NDArray[np.int64]

    @classmethod
    def of(cls, units: csr_array) -> Postings:
        """Turn embedded documents by feature.

        Parameters
        ----------
        units : csr_array of shape (n_documents, n_features), int32
            As `embed_units` makes it.

        Returns
        -------
        Postings
        """
        by_feature = units.tocsc()
        return cls(
            by_feature.indptr.astype(np.int64, copy=False),
            by_feature.indices.astype(np.int32, copy=False),
            by_feature.data,
            row_norms(units),
        )

    def distances(self, query: csr_array, row: int, out: NDArray[np.int64]) -> None:
        """Write the distances of one row of `query` to every document, in units, into `out`.

        Parameters
        ----------
        query : csr_array of shape (n_queries, n_features), int32
            As `embed_units` makes it.
        row : int
            The row to compare.
        out : ndarray of int64, shape (n_documents,)
            Receives the distances.
        """
        from treewass.search.kernels import scan

        entries = slice(query.indptr[row], query.indptr[row + 1])
        columns, values = query.indices[entries].astype(np.int32, copy=False), query.data[entries]
        norm = int(values.sum(dtype=np.int64))
        scan(columns, values, norm, self.bounds, self.documents, self.values, self.norms, out)


def row_norms(units: csr_array) -> NDArray[np.int64]:
    """Add up each row in int64."""
    norms: NDArray[np.int64] = units.astype(np.int64) @ np.ones(units.shape[1], dtype=np.int64)
    return norms
