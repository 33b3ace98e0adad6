"""Answers for one query beside the k nearest: all within a radius, distances to all or to some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.search.plans import make_plan
from treewass.search.queries import checked_queries, refuse_query
from treewass.search.rows import Rows, count_rows, part_of, plain_rows
from treewass.search.scratch import Scratch
from treewass.search.segments import Segment
from treewass.search.snapshots import Snapshot
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["all_distances", "distances_to_positions", "one_row", "within_radius"]


def within_radius(
    metric: TreeMetric, snapshot: Snapshot, plan: NDArray[np.int64], queries: Rows, row: int, radius: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the documents within a radius, in units, of one canonical query.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    snapshot : Snapshot
        The documents.
    plan : ndarray of int64
        As `make_plan` makes it for the snapshot.
    queries : Rows
        As `checked_queries` makes them.
    row : int
        The query.
    radius : int
        The largest distance, in units.

    Returns
    -------
    distances : ndarray of float64
        Ascending.
    ids : ndarray of int64
        Ascending among equal distances.
    """
    from treewass.search.kernels.searches import within_row

    units = np.empty(snapshot.n_searchable, dtype=np.int64)
    ids = np.empty(snapshot.n_searchable, dtype=np.int64)
    found, reason = within_row(plan, *part_of(queries, row, row + 1), radius, units, ids)
    if found < 0:
        refuse_query(row, reason)
    order = np.lexsort((ids[:found], units[:found]))
    return np.ldexp(units[order], -metric.fraction_bits), ids[order]


def all_distances(
    metric: TreeMetric, snapshot: Snapshot, scratch: Scratch, x: Any
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compare one document with every document that can be a neighbour.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    snapshot : Snapshot
        The documents.
    scratch : Scratch
        Memory of the thread.
    x : sparse matrix or array-like of shape (1, n_words)
        Counts or weights; checked only if the compiled loops cannot take them as they are.

    Returns
    -------
    distances : ndarray of float64
    ids : ndarray of int64
        Ascending.
    """
    distances = np.empty(snapshot.n_searchable)
    plain = plain_rows(x, metric.n_words) if distances.size else None
    if plain is None or _fill_distances(metric, snapshot, scratch, one_row(plain), distances)[0] >= 0:
        query = one_row(checked_queries(metric, x, "x"))
        row, reason = _fill_distances(metric, snapshot, scratch, query, distances)
        if row >= 0:
            refuse_query(row, reason)
    ids, order = snapshot.searchable_ids
    return distances[order], ids.copy()


def one_row(query: Rows) -> Rows:
    """Refuse several documents where one is expected."""
    if count_rows(query) != 1:
        raise ValueError(f"Expected one document, got {count_rows(query)} rows. Use search or pairwise for several.")
    return query


def _fill_distances(
    metric: TreeMetric, snapshot: Snapshot, scratch: Scratch, query: Rows, out: NDArray[np.float64]
) -> tuple[int, int]:
    """Write the distances of a query, segment after segment; return the row that cannot be embedded and why."""
    from treewass.search.kernels.searches import chosen_distances, scanned_distances

    start, failure = 0, (-1, 0)
    for segment in snapshot.segments:
        plan = make_plan(metric, scratch, [segment])
        stop = start + segment.searchable.size
        if segment.is_narrow:
            failure = chosen_distances(plan, *query, segment.searchable, out[start:stop])
        else:
            scanned = np.empty((1, segment.ids.size))
            failure = scanned_distances(plan, *query, scanned)
            out[start:stop] = scanned[0, segment.searchable]
        if failure[0] >= 0:
            break
        start = stop
    return failure


def distances_to_positions(
    metric: TreeMetric, segment: Segment, query: Rows, positions: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Compare one canonical query with some documents of a segment.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    segment : Segment
        The documents.
    query : Rows
        One row.
    positions : ndarray of int
        Positions in the segment.

    Returns
    -------
    ndarray of float64, shape of `positions`
    """
    from treewass.search.kernels.searches import chosen_distances

    distances = np.empty(positions.size)
    scratch = Scratch(metric.n_words, metric.n_features, segment.tile)
    plan = make_plan(metric, scratch, [segment])
    row, reason = chosen_distances(plan, *query, positions, distances)
    if row >= 0:
        refuse_query(row, reason)
    return distances
