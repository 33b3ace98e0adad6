"""Ranking many queries: with the compiled loops where there is much to do, with NumPy alone where there is little."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from treewass.compute.records import describe
from treewass.compute.threads import run_in_blocks
from treewass.documents.histograms import first_few
from treewass.search.numpy_nearest import COMPILED_FROM, LEAST
from treewass.search.numpy_ranking import length_factor, rank_documents, statistics_of
from treewass.search.scratch import BATCH, MOST_SORTED, Desk
from treewass.search.segments import Segment
from treewass.search.snapshot import Snapshot
from treewass.search.word_lists import LARGEST_QUERY, Statistics, branch_shift
from treewass.trees.embedding import RefusedQuery
from treewass.trees.metric import TreeMetric
from treewass.trees.rows import Rows, count_rows, part_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.search.held_documents import AnyIndex

__all__ = ["Ranker", "check_query_counts", "ranked_rows"]

_LEAST_WORDS = 1024  # words of queries that a thread has room for, at least


class _Plan(NamedTuple):
    """The plan of a thread for one snapshot, and what it describes that the snapshot does not keep."""

    statistics: Statistics
    shares: list[NDArray[np.uint16]]
    array: NDArray[np.int64]


class Ranker:
    """Ranks documents, each thread in memory of its own.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    """

    def __init__(self, metric: TreeMetric) -> None:
        self._metric, self._shift = metric, branch_shift(metric)
        self._local = threading.local()

    def rank(
        self, queries: Rows, snapshot: Snapshot, statistics: Statistics, k: int, n_jobs: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the best documents of each query: scores, 0 where there is no further hit, and ids, -1 there.

        `statistics` are those of the whole collection, of which the snapshot may be a part. Raises RefusedQuery if a
        row is not in canonical form or not of whole counts.
        """
        n_queries, n_columns = count_rows(queries), min(k, snapshot.n_held)
        scores, ids = np.empty((n_queries, n_columns)), np.empty((n_queries, n_columns), dtype=np.int64)
        little = "numba" not in sys.modules and n_queries * max(snapshot.n_held, LEAST) < COMPILED_FROM
        rank_block = self._plainly if little or n_columns > MOST_SORTED else self._compiled

        def work(start: int, stop: int) -> None:
            part, block = part_of(queries, start, stop), slice(start, stop)
            row = rank_block(snapshot, part, statistics, scores[block], ids[block])
            if row >= 0:
                raise RefusedQuery(
                    f"Expected ascending words with whole counts above 0, but row {start + row} has others. "
                    "Sort them, and leave out zeros."
                )

        run_in_blocks(work, n_queries, n_jobs, BATCH)
        return scores, ids

    def _compiled(
        self,
        snapshot: Snapshot,
        queries: Rows,
        statistics: Statistics,
        scores: NDArray[np.float64],
        ids: NDArray[np.int64],
    ) -> int:
        plan = self._plan(snapshot, statistics, int(np.diff(queries[0]).max(initial=0)))
        row: int = _rank_queries()(
            plan.array, *queries, self._shift, statistics.frequencies, statistics.n_documents, scores, ids
        )
        return row

    def _plainly(
        self,
        snapshot: Snapshot,
        queries: Rows,
        statistics: Statistics,
        scores: NDArray[np.float64],
        ids: NDArray[np.int64],
    ) -> int:
        for row in range(count_rows(queries)):
            own = slice(queries[0][row], queries[0][row + 1])
            words, counts = queries[1][own], queries[2][own]
            if (np.diff(words) <= 0).any() or not ((counts > 0) & (counts == np.rint(counts))).all():
                return row
            found = rank_documents(
                self._metric, snapshot, words.tolist(), counts.astype(np.int64).tolist(), ids.shape[1], statistics
            )
            scores[row], ids[row] = 0.0, -1
            scores[row, : found[0].size], ids[row, : found[1].size] = found
        return -1

    def _plan(self, snapshot: Snapshot, statistics: Statistics, n_words: int) -> _Plan:
        """Return the plan of this thread, kept for its next queries."""
        local = self._local
        if not hasattr(local, "desk") or local.desk.n_words < n_words:
            local.desk, local.plans = Desk(self._metric, max(2 * n_words, _LEAST_WORDS)), WeakKeyDictionary()
        kept: _Plan | None = local.plans.get(snapshot)
        if kept is not None and kept.statistics is statistics:
            return kept
        factor = length_factor(statistics)
        shares = [segment.lists.shares(self._metric, segment, factor) for segment in snapshot.segments]
        described = map(self._describe, snapshot.segments, shares)
        array = np.concatenate([self._metric.layout.description, local.desk.description, *described])
        local.plans[snapshot] = made = _Plan(statistics, shares, array)
        return made

    def _describe(self, segment: Segment, shares: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Describe a segment for the compiled loops."""
        from treewass.search.kernels.ranking import RANKED

        lists, columns = segment.lists.get(self._metric, segment), segment.described(segment.ids.size)
        fields: dict[str, Any] = {
            **{name: columns[name] for name in RANKED.names or () if name in columns},
            "list_bounds": lists.list_bounds,
            "list_places": lists.list_places,
            "branches": lists.branches,
            "shares": shares,
            "shift": 0,  # the query's values have lost what they lose already
            "ids": segment.ids,
            "held": segment.held,
            "n_bounds": lists.list_bounds.size,
            "n_entries": lists.list_places.size,
            "lost": max(0, self._shift - segment.shift),
            "is_narrow": segment.is_narrow,
        }
        return describe(RANKED, **fields)


@cache
def _rank_queries() -> Callable[..., int]:
    """Import the compiled loops when they are needed: that takes a moment."""
    from treewass.search.kernels.ranking import rank_queries

    return rank_queries


def check_query_counts(queries: Rows) -> None:
    """Raise a ValueError where a query holds what is no count of words."""
    bounds, _, counts = queries
    broken = np.flatnonzero((counts != np.rint(counts)) | (counts > LARGEST_QUERY))
    if broken.size:
        rows = np.unique(np.searchsorted(bounds, broken, side="right") - 1)
        raise ValueError(
            f"Expected whole counts of words up to {LARGEST_QUERY}, but row(s) {first_few(rows)} of X hold other "
            "weights. Count words; `search`, by distance, takes any weights."
        )


def ranked_rows(
    index: AnyIndex, rows: Sequence[tuple[Sequence[int], Sequence[float]]], k: int, where: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rank documents for queries that are counted already: `TreeIndex.rank` without a need for SciPy.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        The documents.
    rows : sequence of (words, counts)
        The queries: ascending words, those beyond the metric among them, and their counts, each above 0.
    k : int
        Documents, at least 1.
    where : array-like of int or bool, optional
        As in `TreeIndex.rank`.

    Returns
    -------
    scores : ndarray of float64, shape (n_queries, min(k, n))
    ids : ndarray of int64, shape (n_queries, min(k, n))

    Examples
    --------
    >>> from treewass import TreeIndex, TreeMetric
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(3)))
    >>> index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    array([0, 1, 2])
    >>> ranked_rows(index, [([1], [1]), ([0, 2], [1, 1])], k=2)[1]
    array([[ 1, -1],
           [ 2,  0]])
    """
    bounds = np.cumsum([0, *(len(words) for words, _ in rows)]).astype(np.int32)
    words = np.array([word for row in rows for word in row[0]], dtype=np.int32)
    counts = np.array([count for row in rows for count in row[1]], dtype=np.float64)
    check_query_counts((bounds, words, counts))
    whole = index._snapshot
    snapshot = whole if where is None else whole.restricted(where)
    statistics = statistics_of(index.metric, whole)
    return index._ranker.rank((bounds, words, counts), snapshot, statistics, k, index.n_jobs)
