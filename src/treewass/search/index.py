"""Exact nearest neighbours among documents that come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treewass.compute.threads import ForkSafeLock, count_threads
from treewass.documents.histograms import warn_about_empty_rows
from treewass.search.nearest import Comparer
from treewass.search.numpy_ranking import statistics_of
from treewass.search.ranking import Ranker, check_query_counts
from treewass.search.snapshot import NEVER_FOUND, Snapshot, as_ids, checked_count, compacted, new_ids, wide_counts
from treewass.search.word_lists import Statistics
from treewass.trees.embedding import RefusedQuery, known_rows, unknown_rows
from treewass.trees.metric import TreeMetric
from treewass.trees.rows import Rows, arrays_of, plain_rows

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

__all__ = ["TreeIndex"]

Found = TypeVar("Found")


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
        self._snapshot: Snapshot = Snapshot((), 0)
        self._prepare()

    def _prepare(self) -> None:
        """Make what is not stored: the lock of those who change the index, and the memory of each thread."""
        self._n_words = self.metric.n_words
        self._changing = ForkSafeLock()
        self._comparer = Comparer(self.metric)
        self._ranker = Ranker(self.metric)

    def __getstate__(self) -> dict[str, Any]:
        return {"metric": self.metric, "n_jobs": self.n_jobs, "_snapshot": self._snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def __copy__(self) -> TreeIndex:
        """Return an index of the same documents, which goes on by itself and uses the memory of each thread as well."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._changing = ForkSafeLock()
        return made

    if not TYPE_CHECKING:  # lest every name be one

        def __getattr__(self, name: str) -> Any:
            """Check the files of an index that was loaded before its documents are first used, for whatever."""
            opened = vars(self).get("_opened")
            if name != "_snapshot" or opened is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            snapshot, check = opened
            check()
            return vars(self).setdefault("_snapshot", snapshot)  # another thread may have changed it meanwhile

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
    def next_id(self) -> int:
        """The id that the next document gets: larger than every id ever held."""
        return self._snapshot.next_id

    @property
    def n_bytes(self) -> int:
        """Bytes of memory that the documents take, as words and by feature."""
        return sum(segment.n_bytes for segment in self._snapshot.segments)

    def add(self, X: Any, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Add documents.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_columns)
            Counts or weights, of the metric's words and, if there are more columns, of words beyond it. Those have
            no mass: only `rank` counts them. A document without a known word is held under its id, with a warning,
            but is never a neighbour.
        ids : array-like of int, shape (n_documents,), optional
            Any int64, unique and new here; `rank` says -1 for none. By default the next numbers, never used twice.

        Returns
        -------
        ndarray of int64, shape (n_documents,)
            The ids of the documents added.

        Notes
        -----
        New documents make a small segment of their own; it takes in earlier ones that are not much larger, so that
        there are few segments, and a document is moved a few times only.
        """
        added, unknown = self.hold(X, ids)
        warn_about_empty_rows(unknown, NEVER_FOUND)
        return added

    def hold(self, X: Any, ids: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Add documents as `add` does; return their ids, and the rows without a known word instead of a warning."""
        counts = wide_counts(X, self._n_words)
        with self._changing:
            before = self._snapshot
            added = new_ids(ids, counts.shape[0], held=lambda: before.ids, next_id=before.next_id)
            self._snapshot = before.with_documents(self.metric, counts, added)
        return added, unknown_rows(self.metric, counts)

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents by their ids.

        Parameters
        ----------
        ids : array-like of int
            All of them must be in the index; otherwise nothing is removed.
        """
        with self._changing:
            self._snapshot = self._snapshot.without_documents(self.metric, as_ids(ids))

    def compact(self) -> None:
        """Drop what is left of removed documents, which `remove` only marks: searches and files do without them.

        Examples
        --------
        >>> from treewass import TreeIndex, TreeMetric
        >>> from treewass.trees import star_tree
        >>> index = TreeIndex(TreeMetric(star_tree(3)))
        >>> ids = index.add([[1, 0, 0], [1, 1, 0]])
        >>> index.remove([0])
        >>> index.compact()
        >>> index.ids
        array([1])
        """
        with self._changing:
            self._snapshot = compacted(self._snapshot, self.metric)

    def search(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest documents of each query.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words)
            Counts or weights, each row with at least one known word.
        k : int, default=10
            Neighbours per query, at least 1.
        where : array-like of int or bool, optional
            The only documents to consider: their ids, each in the index, or a mask over `ids`.

        Returns
        -------
        distances : ndarray of float64, shape (n_queries, min(k, n))
            Ascending; n is the number of documents considered that hold a known word.
        ids : ndarray of int64, shape (n_queries, min(k, n))
            Ties are in ascending order of id.

        Raises
        ------
        ValueError
            If k is below 1, a query holds no known word, or `where` names a document that is not there.
        """
        if type(k) is not int or k < 1:
            k = checked_count(k)
        snapshot = self._snapshot if where is None else self._snapshot.restricted(where)
        return self._answer(self._comparer.nearest, X, self._n_words, self._known_rows, snapshot, k, self.n_jobs)

    def _answer(
        self, answer: Callable[..., Found], X: Any, n_columns: int, check: Callable[[Any], Rows], *arguments: Any
    ) -> Found:
        """Answer queries as they are given; if the loops refuse one, check and mend all of them, and answer these.

        All questions come in here. To check with SciPy takes ten times as long as a search among 500 documents. Without
        documents, in the snapshot that is the first of the arguments, no loop looks at a query.
        """
        queries = plain_rows(X, n_columns)
        if queries is not None and arguments[0].segments:
            try:
                return answer(queries, *arguments)
            except RefusedQuery:
                pass
        return answer(check(X), *arguments)

    def _known_rows(self, X: Any) -> Rows:
        return known_rows(self.metric, X)

    def statistics(self) -> Statistics:
        """Return what ranking needs to know of the documents held: how many, how long, and how many hold each word.

        Those of disjoint indexes add up with ``+``. While the index does not change, it is the same object.
        """
        return statistics_of(self.metric, self._snapshot)

    def rank(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None, statistics: Statistics | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find documents by the words of a query: the best for each query by the words they hold and their topic.

        `search` compares whole documents. `rank` is for a few typed words: a document that holds them is found, be it
        long and about other things as well. Documents that hold about as much of the query come in the order of the
        branches of the tree that they share with it.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_columns)
            Counts of the metric's words and, if there are more columns, of words beyond it, as given to `add`.
        k : int, default=10
            Documents per query, at least 1.
        where : array-like of int or bool, optional
            The only documents to consider: their ids, each in the index, or a mask over `ids`. How rare a word is
            and how long documents are is still that of all documents held.
        statistics : Statistics, optional
            Those of a larger collection, if this index is a part of it; by default the index's own.

        Returns
        -------
        scores : ndarray of float64, shape (n_queries, min(k, n))
            Falling; n is the number of documents considered. A score of 0 means that there is no further hit: only a
            document that holds a word of the query is one.
        ids : ndarray of int64, shape (n_queries, min(k, n))
            Ties are in ascending order of id; -1 where the score is 0.

        Raises
        ------
        ValueError
            If a count, of a query or of a document that was added, is not a whole number, k is below 1, or `where`
            names a document that is not there.

        Notes
        -----
        Scores are whole numbers of 2**-30, the same for any number of threads, any batch and order of insertion, on
        every machine. See `treewass.search.numpy_ranking` for the formula.

        Examples
        --------
        >>> from treewass import TreeIndex, TreeMetric
        >>> from treewass.trees import star_tree
        >>> index = TreeIndex(TreeMetric(star_tree(3)))
        >>> index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
        array([0, 1, 2])
        >>> scores, ids = index.rank([[0, 1, 0]], k=2)
        >>> ids
        array([[ 1, -1]])
        >>> scores.round(3)
        array([[0.378, 0.   ]])
        """
        k, whole = checked_count(k), self._snapshot
        snapshot = whole if where is None else whole.restricted(where)
        statistics = statistics_of(self.metric, whole) if statistics is None else statistics
        n_columns = max([self._n_words, *getattr(X, "shape", ())[-1:]])
        return self._answer(self._ranker.rank, X, n_columns, self._query_counts, snapshot, statistics, k, self.n_jobs)

    def _query_counts(self, X: Any) -> Rows:
        """Validate queries of whole counts and bring them into canonical form."""
        queries = arrays_of(wide_counts(X, self._n_words))
        check_query_counts(queries)
        return queries

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
            One array per query, ascending.
        ids : list of ndarray of int64
            The ids of these documents; ties are in ascending order.

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
        units = int(min(np.floor(np.ldexp(float(radius), self.metric.fraction_bits)), 2**31))
        arguments = self._snapshot, units, self.n_jobs
        return self._answer(self._comparer.within, X, self._n_words, self._known_rows, *arguments)

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
        wanted = None if ids is None else as_ids(ids)
        return self._answer(self._comparer.distances, x, self._n_words, self._known_rows, self._snapshot, wanted)

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
        from treewass.search.index_folder import save_index

        save_index(folder, self.metric, self._snapshot)

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False, n_jobs: int | None = None
    ) -> TreeIndex:
        """Open an index that `save` wrote.

        Parameters
        ----------
        folder : path-like
            The folder given to `save`.
        mmap : bool, default=True
            Map the documents into memory instead of reading them: opening takes milliseconds, and processes on one
            machine share what they read. The files must not change meanwhile; `save` never changes one.
        verify : bool, default=False
            Whether to check at once, beyond the hash of every file, that every number is one that `add` can give, and
            that norms, dense rows, postings and lists of words are those of the documents, which it embeds again.
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
        Manifest, metric and the sizes of all arrays are checked at once. A checksum of each file is checked before the
        documents are first used: the first search, or whatever else asks for them, reads every byte once, and raises a
        ValueError if one was changed. Checksums find accidents. Do not use files of somebody you do not trust without
        `verify`: who writes files on purpose can write checksums that fit. A search then still stays within the arrays.
        """
        from treewass.search.index_folder import load_index

        return cls._of(*load_index(folder, mmap=mmap, check="documents" if verify else "later"), n_jobs)

    @classmethod
    def _of(
        cls, metric: TreeMetric, snapshot: Snapshot, check_rest: Callable[[], None], n_jobs: int | None = None
    ) -> TreeIndex:
        """Make an index of what `load_index` returns; the rest is checked before its documents are first used."""
        index = cls(metric, n_jobs=n_jobs)
        del index._snapshot
        vars(index)["_opened"] = snapshot, check_rest
        return index
