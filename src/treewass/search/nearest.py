"""Queries against the documents of a snapshot: the k nearest, all within a radius, distances to all or to some."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from treewass.compute.threads import run_in_blocks
from treewass.documents.histograms import first_few
from treewass.search.scratch import BATCH, Scratch, make_plan
from treewass.search.segments import Segment
from treewass.search.snapshot import Snapshot
from treewass.trees.columns import ABSENT
from treewass.trees.embedding import refuse_query
from treewass.trees.metric import TreeMetric
from treewass.trees.rows import Rows, count_rows, part_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Comparer"]

_Loop = Callable[..., tuple[int, int]]
_INT64 = np.dtype(np.int64)


class _Plans(NamedTuple):
    """The plans of a thread for one snapshot, and the memory that they describe."""

    snapshot: ref[Snapshot]  # weak, so that a thread at rest does not keep documents that are gone
    narrow: NDArray[np.int64] | None
    n_narrow: int  # neighbours in narrow segments
    wide: NDArray[np.int64] | None
    single: dict[int, NDArray[np.int64]]  # by the identity of a segment
    scratch: Scratch


class Comparer:
    """Answers queries, each thread in memory of its own.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    """

    def __init__(self, metric: TreeMetric) -> None:
        self._metric = metric
        self._local = threading.local()

    def nearest(
        self, queries: Rows, snapshot: Snapshot, k: int, n_jobs: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest documents of each query, in order of distance, then id.

        Raises RefusedQuery for a row that cannot be embedded.
        """
        shape = (queries[0].size - 1, k if k < snapshot.n_searchable else snapshot.n_searchable)
        distances, ids = np.empty(shape), np.empty(shape, _INT64)
        if shape[0] <= BATCH:
            self._search(snapshot, queries, distances, ids)
            return distances, ids

        def work(start: int, stop: int) -> None:
            block = slice(start, stop)
            self._search(snapshot, part_of(queries, start, stop), distances[block], ids[block], start)

        run_in_blocks(work, shape[0], n_jobs, BATCH)
        return distances, ids

    def _search(
        self,
        snapshot: Snapshot,
        queries: Rows,
        distances: NDArray[np.float64],
        ids: NDArray[np.int64],
        first: int = 0,
    ) -> None:
        plans = self._plans(snapshot)
        narrow, wide, n_before = plans.narrow, plans.wide, 0
        if narrow is not None:
            row, reason = _search_narrow()(narrow, *queries, 0, distances, ids)
            if row >= 0:
                refuse_query(first + row, reason)
            n_before = min(plans.n_narrow, ids.shape[1])
        if wide is not None:
            row, reason = _search_wide()(wide, *queries, n_before, distances, ids)
            if row >= 0:
                refuse_query(first + row, reason)

    def within(
        self, queries: Rows, snapshot: Snapshot, radius: int, n_jobs: int | None
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find the documents within a radius, in units, of each query, in order of distance, then id."""
        n_rows = count_rows(queries)
        distances: list[NDArray[np.float64]] = [np.empty(0)] * n_rows
        ids: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * n_rows

        def work(start: int, stop: int) -> None:
            for row in range(start, stop):
                query = part_of(queries, row, row + 1)
                found = [self._near(snapshot, segment, query, row, radius) for segment in snapshot.segments]
                near = np.concatenate([*(one for one, _ in found), np.empty(0)])
                numbers = np.concatenate([*(other for _, other in found), np.empty(0, dtype=np.int64)])
                order = np.lexsort((numbers, near))
                distances[row], ids[row] = near[order], numbers[order]

        run_in_blocks(work, n_rows, n_jobs, BATCH)
        return distances, ids

    def _near(
        self, snapshot: Snapshot, segment: Segment, query: Rows, row: int, radius: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the documents of a segment within a radius of one query, in any order."""
        if not segment.is_narrow:
            near = self._to_segment(snapshot, segment, query, segment.searchable, row)
            kept = np.flatnonzero(near <= np.ldexp(float(radius), -self._metric.fraction_bits))
            return near[kept], segment.ids[segment.searchable[kept]]
        from treewass.search.kernels.narrow_values import narrow_within

        units, ids = np.empty(segment.n_searchable, dtype=np.int64), np.empty(segment.n_searchable, dtype=np.int64)
        found, reason = narrow_within(self._own_plan(snapshot, segment), *query, radius, units, ids)
        if found < 0:
            refuse_query(row, reason)
        return np.ldexp(units[:found], -self._metric.fraction_bits), ids[:found]

    def distances(
        self, query: Rows, snapshot: Snapshot, ids: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Compare the one query with all neighbours, in the order of their ids, or with some documents."""
        if count_rows(query) != 1:
            raise ValueError(
                f"Expected one document, got {count_rows(query)} rows. Use search or TreeMetric.pairwise for several."
            )
        if ids is None:
            numbers, order = snapshot.searchable_ids
            blocks = [self._to_segment(snapshot, one, query, one.searchable) for one in snapshot.segments]
            return np.concatenate([*blocks, np.empty(0)])[order], numbers.copy()
        distances = np.empty(ids.size)
        for segment, positions, places in snapshot.locate(ids):
            if (segment.norms[positions] == ABSENT).any():
                empty = segment.ids[positions[segment.norms[positions] == ABSENT]]
                raise ValueError(
                    f"Expected documents with a known word, but those of ids {first_few(empty)} have none."
                )
            distances[places] = self._to_segment(snapshot, segment, query, positions)
        return distances, ids

    def _to_segment(
        self, snapshot: Snapshot, segment: Segment, query: Rows, positions: NDArray[np.intp], row: int = 0
    ) -> NDArray[np.float64]:
        """Compare one query with the documents at some positions of a segment."""
        distances, plan = np.empty(positions.size), self._own_plan(snapshot, segment)
        compare = _narrow_distances() if segment.is_narrow else _wide_distances()
        bad_row, reason = compare(plan, *query, positions, distances)
        if bad_row >= 0:
            refuse_query(row, reason)
        return distances

    def _plans(self, snapshot: Snapshot) -> _Plans:
        """Return the plans of this thread, kept for its next queries; several indexes may share its memory."""
        plans: _Plans | None = getattr(self._local, "plans", None)
        if plans is not None and plans.snapshot() is snapshot:
            return plans
        if not hasattr(self._local, "kept"):
            self._local.kept = WeakKeyDictionary()
        kept: WeakKeyDictionary[Snapshot, _Plans] = self._local.kept
        if snapshot not in kept:
            kept[snapshot] = self._make_plans(snapshot)
        self._local.plans = found = kept[snapshot]
        return found

    def _make_plans(self, snapshot: Snapshot) -> _Plans:
        scratch, wide, narrow = self._scratch(snapshot), snapshot.wide_segments, snapshot.narrow_segments
        return _Plans(
            ref(snapshot),
            make_plan(self._metric, scratch, narrow) if narrow else None,
            sum(segment.n_searchable for segment in narrow),
            make_plan(self._metric, scratch, wide) if wide or not narrow else None,
            {},
            scratch,
        )

    def _own_plan(self, snapshot: Snapshot, segment: Segment) -> NDArray[np.int64]:
        """Return the plan of this thread for one segment of a snapshot."""
        plans = self._plans(snapshot)
        if id(segment) not in plans.single:
            plans.single[id(segment)] = make_plan(self._metric, plans.scratch, [segment])
        return plans.single[id(segment)]

    def _scratch(self, snapshot: Snapshot) -> Scratch:
        """Return the memory of this thread, with room for the index's largest tile."""
        scratch: Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None or scratch.tile < snapshot.tile:
            scratch = Scratch(self._metric, snapshot.tile)
            self._local.scratch = scratch
        return scratch


@cache
def _search_wide() -> _Loop:
    """Import the compiled loops when they are needed: that takes a moment."""
    from treewass.search.kernels.wide_values import search_wide

    return search_wide


@cache
def _search_narrow() -> _Loop:
    from treewass.search.kernels.narrow_values import search_narrow

    return search_narrow


@cache
def _wide_distances() -> _Loop:
    from treewass.search.kernels.wide_values import wide_distances

    return wide_distances


@cache
def _narrow_distances() -> _Loop:
    from treewass.search.kernels.narrow_values import narrow_distances

    return narrow_distances
