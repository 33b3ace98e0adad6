"""Queries against the documents of a snapshot: the k nearest, all within a radius, distances to all or to some."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

import numpy as np

from treewass.compute.threads import run_in_blocks
from treewass.search.scratch import BATCH, Scratch, make_plan
from treewass.search.segments import Segment
from treewass.search.snapshot import Snapshot
from treewass.trees.embedding import embedded_rows, refuse_query
from treewass.trees.metric import TreeMetric
from treewass.trees.pairwise_distances import distances_to_columns
from treewass.trees.rows import Rows, count_rows, part_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Comparer"]

_Search = Callable[..., tuple[int, int]]


class _Plans(NamedTuple):
    """The plans of a thread for one snapshot, and the memory that they describe."""

    snapshot: ref[Snapshot]  # weak, so that a thread at rest does not keep documents that are gone
    narrow: NDArray[np.int64] | None
    n_narrow: int  # neighbours in narrow segments
    wide: NDArray[np.int64] | None
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
        self,
        snapshot: Snapshot,
        queries: Rows,
        distances: NDArray[np.float64],
        ids: NDArray[np.int64],
        n_jobs: int | None,
    ) -> tuple[int, int]:
        """Write the nearest documents of all queries, as many as there are columns.

        Returns the first row that cannot be embedded and why, or -1 and 0.
        """
        if ids.shape[0] <= BATCH:
            return self._search(snapshot, queries, distances, ids)
        failures: list[tuple[int, int]] = []

        def work(start: int, stop: int) -> None:
            part, block = part_of(queries, start, stop), slice(start, stop)
            row, reason = self._search(snapshot, part, distances[block], ids[block])
            if row >= 0:
                failures.append((start + row, reason))

        run_in_blocks(work, ids.shape[0], n_jobs, BATCH)
        return min(failures, default=(-1, 0))

    def _search(
        self, snapshot: Snapshot, queries: Rows, distances: NDArray[np.float64], ids: NDArray[np.int64]
    ) -> tuple[int, int]:
        plans: _Plans | None = getattr(self._local, "plans", None)
        if plans is None or plans.snapshot() is not snapshot:
            plans = self._make_plans(snapshot)
        _, narrow, n_narrow, wide, _ = plans
        if narrow is None:
            return _search_wide()(wide, *queries, 0, distances, ids)
        failure = _search_narrow()(narrow, *queries, 0, distances, ids)
        if failure[0] >= 0 or wide is None:
            return failure
        return _search_wide()(wide, *queries, min(n_narrow, ids.shape[1]), distances, ids)

    def within(
        self, snapshot: Snapshot, queries: Rows, radius: int, n_jobs: int | None
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find the documents within a radius, in units, of each canonical query, in order of distance, then id."""
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
            near = self.to_segment(snapshot, segment, query, row)
            kept = np.flatnonzero(near <= np.ldexp(float(radius), -self._metric.fraction_bits))
            return near[kept], segment.ids[segment.searchable[kept]]
        from treewass.search.kernels.narrow import narrow_within

        units, ids = np.empty(segment.n_searchable, dtype=np.int64), np.empty(segment.n_searchable, dtype=np.int64)
        plan = make_plan(self._metric, self._scratch(snapshot), [segment])
        found, reason = narrow_within(plan, *query, radius, units, ids)
        if found < 0:
            refuse_query(row, reason)
        return np.ldexp(units[:found], -self._metric.fraction_bits), ids[:found]

    def to_segment(
        self,
        snapshot: Snapshot,
        segment: Segment,
        query: Rows,
        row: int = 0,
        positions: NDArray[np.intp] | None = None,
    ) -> NDArray[np.float64]:
        """Compare one canonical query with documents of a segment: those at some positions, or all neighbours."""
        positions = segment.searchable if positions is None else positions
        if not segment.is_narrow:
            embedded = embedded_rows(self._metric, query)
            if not embedded.known.all():
                refuse_query(row, 0)
            found = distances_to_columns(self._metric, embedded, embedded.norms, segment, segment.ids.size)
            return np.asarray(found[0, positions])
        from treewass.search.kernels.narrow import narrow_distances

        distances = np.empty(positions.size)
        plan = make_plan(self._metric, self._scratch(snapshot), [segment])
        bad_row, reason = narrow_distances(plan, *query, positions, distances)
        if bad_row >= 0:
            refuse_query(row, reason)
        return distances

    def _make_plans(self, snapshot: Snapshot) -> _Plans:
        """Make the plans of this thread, and keep them for its next search."""
        scratch, wide, narrow = self._scratch(snapshot), snapshot.wide_segments, snapshot.narrow_segments
        made = _Plans(
            ref(snapshot),
            make_plan(self._metric, scratch, narrow) if narrow else None,
            sum(segment.n_searchable for segment in narrow),
            make_plan(self._metric, scratch, wide) if wide or not narrow else None,
            scratch,
        )
        self._local.plans = made
        return made

    def _scratch(self, snapshot: Snapshot) -> Scratch:
        """Return the memory of this thread, with room for the index's largest tile."""
        scratch: Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None or scratch.tile < snapshot.tile:
            scratch = Scratch(self._metric, snapshot.tile)
            self._local.scratch = scratch
        return scratch


@cache
def _search_wide() -> _Search:
    """Import the compiled loops when they are needed: that takes a moment."""
    from treewass.search.kernels.wide import search_wide

    return search_wide


@cache
def _search_narrow() -> _Search:
    from treewass.search.kernels.narrow import search_narrow

    return search_narrow
