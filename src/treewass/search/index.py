"""Exact nearest neighbours among documents that come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import warn_about_empty_rows
from treewass.search.distance_matrix import pairwise
from treewass.search.embedding import embed_units, refuse_unknown, unknown_rows
from treewass.search.postings import Postings
from treewass.search.threads import run_in_blocks
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["TreeIndex"]


class TreeIndex:
    """An exact index of documents under a tree metric.

    Neighbours come in the order of their distance, ties in the order of their ids. For one set of
    (id, document) pairs the results do not depend on the order of insertion, nor on the number of threads.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    n_jobs : int, optional
        Threads for a batch of queries; -1 for all cores.

    Attributes
    ----------
    metric : TreeMetric
    ids : ndarray of int64, shape (n_documents,)
        Ids of the documents held, ascending.

    Examples
    --------
    >>> from treewass import TreeIndex, TreeMetric
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(3)))
    >>> index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    array([0, 1, 2])
    >>> distances, ids = index.search([[2, 1, 0]], k=2)
    >>> ids
    array([[1, 0]])
    >>> distances.round(3)
    array([[0.333, 0.667]])
    """

    def __init__(self, metric: TreeMetric, *, n_jobs: int | None = None) -> None:
        from scipy.sparse import csr_array

        if not isinstance(metric, TreeMetric):
            raise TypeError(f"Expected a TreeMetric, got {type(metric).__name__}.")
        self.metric = metric
        self.n_jobs = n_jobs
        self.ids: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._units: csr_array = csr_array((0, metric.n_features), dtype=np.int32)
        self._postings: Postings | None = None
        self._unknown: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # ids of documents without a known word
        self._next_id = 0

    def __len__(self) -> int:
        return self.ids.size

    def __repr__(self) -> str:
        return f"TreeIndex({self.metric!r}, n_documents={len(self)})"

    def add(self, X: Any, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Add documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. A document without a known word is held under its id, with a warning, but is
            never a neighbour.
        ids : array-like of int, shape (n_documents,), optional
            Unique and not in the index yet. By default the next numbers, which are never used twice.

        Returns
        -------
        ndarray of int64, shape (n_documents,)
            The ids of the documents added.
        """
        from scipy.sparse import vstack

        units = embed_units(self.metric, X)
        added = self._new_ids(ids, units.shape[0])
        unknown = unknown_rows(self.metric, X)
        warn_about_empty_rows(unknown, "they are held, but are never returned as neighbours.")
        together = np.concatenate([self.ids, added])
        order = np.argsort(together, kind="stable")
        self._units = vstack([self._units, units], format="csr")[order]
        self.ids = together[order]
        self._unknown = np.union1d(self._unknown, added[unknown])
        self._next_id = max(self._next_id, int(added.max(initial=-1)) + 1)
        self._postings = None
        return added

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents by their ids.

        Parameters
        ----------
        ids : array-like of int
            All of them must be in the index; otherwise nothing is removed.
        """
        removed = _as_ids(ids)
        absent = np.setdiff1d(removed, self.ids)
        if absent.size:
            raise ValueError(f"Expected ids in the index, but {absent.size} are not: {absent[:5].tolist()}.")
        kept = ~np.isin(self.ids, removed)
        self._units, self.ids, self._postings = self._units[kept], self.ids[kept], None
        self._unknown = np.setdiff1d(self._unknown, removed)

    def search(self, X: Any, k: int = 10) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest documents of each query.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words)
            Counts or weights, each row with at least one known word.
        k : int, default=10
            Neighbours a query, at least 1.

        Returns
        -------
        distances : ndarray of float64, shape (n_queries, min(k, n))
            Ascending; n is the number of documents in the index that hold a known word.
        ids : ndarray of int64, shape (n_queries, min(k, n))
            Ties stand in ascending order of id.

        Raises
        ------
        ValueError
            If k is below 1, or a query holds no known word.
        """
        if k < 1:
            raise ValueError(f"Expected k of at least 1, got {k}.")
        refuse_unknown(self.metric, X, "X")
        queries = embed_units(self.metric, X)
        postings, searchable = self._searchable()
        k = min(k, searchable.size)
        units = np.empty((queries.shape[0], k), dtype=np.int64)
        ids = np.empty((queries.shape[0], k), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            from treewass.search.kernels import nearest

            distances = np.empty(searchable.size, dtype=np.int64)
            for row in range(start, stop):
                postings.distances(queries, row, distances)
                positions = nearest(distances, k)
                units[row], ids[row] = distances[positions], searchable[positions]

        if k:
            run_in_blocks(work, queries.shape[0], self.n_jobs)
        return np.ldexp(units, -self.metric.fraction_bits), ids

    def pairwise(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Compute the distance between each row of `X` and each row of `Y`, independently of what is held.

        Parameters
        ----------
        X, Y : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights; `Y` defaults to `X`.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        return pairwise(self.metric, X, Y, n_jobs=self.n_jobs)

    def _searchable(self) -> tuple[Postings, NDArray[np.int64]]:
        """Return the documents that can be neighbours by feature, and their ids."""
        known = ~np.isin(self.ids, self._unknown)
        if self._postings is None:
            self._postings = Postings.of(self._units[known])
        return self._postings, self.ids[known]

    def _new_ids(self, ids: ArrayLike | None, count: int) -> NDArray[np.int64]:
        """Choose ids for new documents, or check those given."""
        if ids is None:
            return np.arange(self._next_id, self._next_id + count, dtype=np.int64)
        new = _as_ids(ids)
        if new.size != count:
            raise ValueError(f"Expected one id per document ({count}), got {new.size}.")
        values, counts = np.unique(new, return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"Expected unique ids, got {values[counts > 1][:5].tolist()} more than once.")
        held = np.intersect1d(values, self.ids)
        if held.size:
            raise ValueError(f"Expected new ids, but {held[:5].tolist()} are in the index: remove them first.")
        return new


def _as_ids(ids: ArrayLike) -> NDArray[np.int64]:
    array = np.atleast_1d(np.asarray(ids))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TypeError(f"Expected ids as a list of integers, got dtype {array.dtype} of shape {array.shape}.")
    return array.astype(np.int64)
