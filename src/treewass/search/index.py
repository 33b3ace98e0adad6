"""Exact nearest neighbours among documents that come and go."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from treewass.documents.histograms import check_counts, warn_about_empty_rows
from treewass.search.answers import all_distances, distances_to_positions, one_row, within_radius
from treewass.search.distance_matrix import pairwise
from treewass.search.embedding import unknown_rows
from treewass.search.plans import make_plan
from treewass.search.queries import checked_queries, refuse_query
from treewass.search.rows import Rows, count_rows, part_of, plain_rows
from treewass.search.scratch import BATCH, Scratch
from treewass.search.snapshots import Snapshot, as_ids
from treewass.search.threads import count_threads, run_in_blocks
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["TreeIndex"]

_INT64 = np.dtype(np.int64)


class TreeIndex:
    """An exact index of documents under a tree metric.

    Neighbours come in the order of their distance, ties in the order of their ids. For one set of
    (id, document) pairs the results do not depend on the order of insertion, nor on the number of threads.
    Any number of threads may search while another adds or removes: a search sees the index as it was when it began.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    n_jobs : int, optional
        Threads for a batch of queries; -1 for all cores.

    Attributes
    ----------
    metric : TreeMetric
    n_jobs : int or None
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
        if not isinstance(metric, TreeMetric):
            raise TypeError(f"Expected a TreeMetric, got {type(metric).__name__}.")
        count_threads(n_jobs)
        self.metric = metric
        self.n_jobs = n_jobs
        self._snapshot = Snapshot((), 0)
        self._prepare()

    def _prepare(self) -> None:
        """Make what is not stored: the lock of those who change the index, and the memory of each thread."""
        self._n_words = self.metric.n_words
        self._changing = threading.Lock()
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {"metric": self.metric, "n_jobs": self.n_jobs, "_snapshot": self._snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def __len__(self) -> int:
        return self._snapshot.n_held

    def __contains__(self, number: object) -> bool:
        ids = self.ids
        place = np.searchsorted(ids, number) if isinstance(number, int | np.integer) else ids.size
        return bool(place < ids.size and ids[place] == number)

    def __repr__(self) -> str:
        return f"TreeIndex({self.metric!r}, n_documents={len(self)})"

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the documents held, ascending, shape (n_documents,)."""
        return self._snapshot.ids

    @property
    def n_bytes(self) -> int:
        """Bytes of memory that the documents take, as words and by feature."""
        return sum(segment.n_bytes for segment in self._snapshot.segments)

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

        Notes
        -----
        New documents make a small segment of their own; it takes in earlier ones that are not much larger, so that
        there are few segments, and a document is moved a few times only.
        """
        counts = check_counts(X, n_words=self.metric.n_words, caller="TreeMetric")
        with self._changing:
            added = self._snapshot.new_ids(ids, counts.shape[0])
            self._snapshot = self._snapshot.with_documents(self.metric, counts, added)
        warn_about_empty_rows(unknown_rows(self.metric, counts), "they are held, but are never returned as neighbours.")
        return added

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents by their ids.

        Parameters
        ----------
        ids : array-like of int
            All of them must be in the index; otherwise nothing is removed.
        """
        with self._changing:
            self._snapshot = self._snapshot.without_documents(self.metric, as_ids(ids))

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
        if type(k) is not int or k < 1:
            k = _checked_count(k)
        snapshot = self._snapshot
        if k > snapshot.n_searchable:
            k = snapshot.n_searchable
        queries = plain_rows(X, self._n_words) or checked_queries(self.metric, X)
        shape = (queries[0].size - 1, k)
        distances, ids = np.empty(shape), np.empty(shape, _INT64)
        if self._nearest(snapshot, queries, distances, ids)[0] >= 0:
            row, reason = self._nearest(snapshot, checked_queries(self.metric, X), distances, ids)
            if row >= 0:
                refuse_query(row, reason)
        return distances, ids

    def within(self, X: Any, radius: float) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find all documents within a radius of each query.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words)
            Counts or weights, each row with at least one known word.
        radius : float
            The largest distance to return, at least 0.

        Returns
        -------
        distances : list of ndarray of float64
            An array a query, ascending.
        ids : list of ndarray of int64
            The ids of these documents; ties stand in ascending order.

        Examples
        --------
        >>> from treewass import TreeIndex, TreeMetric
        >>> from treewass.trees import star_tree
        >>> index = TreeIndex(TreeMetric(star_tree(2)))
        >>> index.add([[1, 0], [1, 1], [0, 1]])
        array([0, 1, 2])
        >>> index.within([[1, 0]], radius=1.0)
        ([array([0., 1.])], [array([0, 1])])
        """
        if not radius >= 0:
            raise ValueError(f"Expected a radius of at least 0, got {radius}.")
        snapshot, queries = self._snapshot, checked_queries(self.metric, X)
        units = int(min(np.floor(np.ldexp(float(radius), self.metric.fraction_bits)), 2**31))
        n_rows = count_rows(queries)
        distances: list[NDArray[np.float64]] = [np.empty(0)] * n_rows
        ids: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * n_rows

        def work(start: int, stop: int) -> None:
            for row in range(start, stop):
                found = within_radius(self.metric, snapshot, self._plan(snapshot), queries, row, units)
                distances[row], ids[row] = found

        run_in_blocks(work, n_rows, self.n_jobs, BATCH)
        return distances, ids

    def distances(self, x: Any, ids: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Compute the distances of one document to all documents that hold a known word, or to chosen ones.

        Parameters
        ----------
        x : sparse matrix or array-like of shape (1, n_words)
            Counts or weights, with at least one known word.
        ids : array-like of int, optional
            Documents to compare with, in any order, each in the index and with a known word. By default all that
            hold one, in ascending order of id.

        Returns
        -------
        distances : ndarray of float64, shape (n,)
        ids : ndarray of int64, shape (n,)
            The documents that the distances belong to.

        Examples
        --------
        >>> from treewass import TreeIndex, TreeMetric
        >>> from treewass.trees import star_tree
        >>> index = TreeIndex(TreeMetric(star_tree(2)))
        >>> index.add([[1, 0], [1, 1], [0, 1]])
        array([0, 1, 2])
        >>> index.distances([[1, 0]], ids=[2, 0])
        (array([2., 0.]), array([2, 0]))
        """
        snapshot = self._snapshot
        if ids is None:
            return all_distances(self.metric, snapshot, self._scratch(snapshot), x)
        query = one_row(checked_queries(self.metric, x, "x"))
        wanted = as_ids(ids)
        distances = np.empty(wanted.size)
        for segment, positions, places in snapshot.locate(wanted):
            if np.setdiff1d(positions, segment.searchable).size:
                empty = np.setdiff1d(segment.ids[positions], segment.ids[segment.searchable])
                raise ValueError(
                    f"Expected documents with a known word, but those of ids {empty[:5].tolist()} have none."
                )
            distances[places] = distances_to_positions(self.metric, segment, query, positions)
        return distances, wanted

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

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index to a folder, all of it or nothing.

        Parameters
        ----------
        folder : path-like
            Made, or replaced if it holds an index.

        See Also
        --------
        load : Read it again, or map it into memory.
        """
        from treewass.search.files import save_index

        save_index(folder, self.metric, self._snapshot)

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], *, mmap: bool = True, verify: bool | None = None, n_jobs: int | None = None
    ) -> TreeIndex:
        """Open an index that `save` wrote.

        Parameters
        ----------
        folder : path-like
            The folder given to `save`.
        mmap : bool, default=True
            Map the documents into memory instead of reading them: opening takes milliseconds, and processes on one
            machine share what they read. The files must not change meanwhile; `save` never changes one.
        verify : bool, optional
            Whether to read every byte and check hashes and all invariants. By default only if `mmap` is False.
            The metric, the sizes of all arrays and the version are always checked.
        n_jobs : int, optional
            Threads for a batch of queries.

        Returns
        -------
        TreeIndex
            Documents can be added and removed; the folder stays as it is.

        Raises
        ------
        ValueError
            If the folder holds no index, one of another version, or a damaged one; the message says which.

        Notes
        -----
        Do not map files that you do not trust without `verify`: their numbers are believed. Damage that goes unseen
        makes answers meaningless, though a search stays within the arrays.
        """
        from treewass.search.files import load_index

        metric, snapshot = load_index(folder, mmap=mmap, verify=not mmap if verify is None else verify)
        index = cls(metric, n_jobs=n_jobs)
        index._snapshot = snapshot
        return index

    def _plan(self, snapshot: Snapshot) -> NDArray[np.int64]:
        """Return the plan of a thread's searches, kept for the next one without keeping the snapshot in memory."""
        kept: tuple[ref[Snapshot], NDArray[np.int64], Scratch] | None = getattr(self._local, "plan", None)
        if kept is not None and kept[0]() is snapshot:
            return kept[1]
        scratch = self._scratch(snapshot)
        plan = make_plan(self.metric, scratch, [segment for segment in snapshot.segments if segment.n_searchable])
        self._local.plan = (ref(snapshot), plan, scratch)
        return plan

    def _scratch(self, snapshot: Snapshot) -> Scratch:
        """Return the memory of this thread, with room for the index's largest tile."""
        scratch: Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None or scratch.tile < snapshot.tile:
            scratch = Scratch(self.metric.n_words, self.metric.n_features, snapshot.tile)
            self._local.scratch = scratch
        return scratch

    def _nearest(
        self, snapshot: Snapshot, queries: Rows, distances: NDArray[np.float64], ids: NDArray[np.int64]
    ) -> tuple[int, int]:
        """Write the nearest documents of all queries; return the first row that cannot be embedded and why."""
        search_rows = _compiled_search()
        n_rows = ids.shape[0]
        if n_rows <= BATCH:
            failure: tuple[int, int] = search_rows(self._plan(snapshot), *queries, distances, ids)
            return failure
        failures: list[tuple[int, int]] = []

        def work(start: int, stop: int) -> None:
            part, block = part_of(queries, start, stop), slice(start, stop)
            row, reason = search_rows(self._plan(snapshot), *part, distances[block], ids[block])
            if row >= 0:
                failures.append((start + row, reason))

        run_in_blocks(work, n_rows, self.n_jobs, BATCH)
        return min(failures, default=(-1, 0))


@cache
def _compiled_search() -> Callable[..., tuple[int, int]]:
    """Import the compiled loops when they are needed: that takes a moment."""
    from treewass.search.kernels.searches import search_rows

    return search_rows


def _checked_count(k: Any) -> int:
    """Refuse a number of neighbours that is not a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"Expected k as an integer of at least 1, got {k!r}.")
    return int(k)
