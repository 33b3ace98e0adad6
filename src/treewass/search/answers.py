"""Answers for one query beside the k nearest: all within a radius, distances to all or to some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.search.distance_matrix import distances_to_segment
from treewass.search.layout import layout_of
from treewass.search.queries import refuse_query
from treewass.search.rows import Rows
from treewass.search.scratch import Scratch
from treewass.search.segments import Segment
from treewass.search.snapshots import Snapshot
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["all_distances", "distances_to_positions", "within_radius"]


def within_radius(
    metric: TreeMetric, snapshot: Snapshot, scratch: NDArray[np.int64], queries: Rows, row: int, radius: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the documents within a radius, in units, of one canonical query.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    snapshot : Snapshot
        The documents.
    scratch : ndarray of int64
        Description of the thread's `Scratch`.
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
    arrays = (layout_of(metric).description, snapshot.descriptions, scratch)
    found, reason = within_row(*arrays, *queries, row, radius, units, ids)
    if found < 0:
        refuse_query(row, reason)
    order = np.lexsort((ids[:found], units[:found]))
    return np.ldexp(units[order], -metric.fraction_bits), ids[order]


def all_distances(metric: TreeMetric, snapshot: Snapshot, query: Rows) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compare one canonical query with every document that can be a neighbour.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    snapshot : Snapshot
        The documents.
    query : Rows
        One row.

    Returns
    -------
    distances : ndarray of float64
    ids : ndarray of int64
        Ascending.
    """
    distances, ids = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for segment in snapshot.segments:
        ids.append(segment.ids[segment.searchable])
        if segment.is_narrow:
            distances.append(distances_to_positions(metric, segment, query, segment.searchable))
        else:
            distances.append(distances_to_segment(metric, query, segment)[0, segment.searchable])
    all_ids = np.concatenate(ids)
    order = np.argsort(all_ids)
    return np.concatenate(distances)[order], all_ids[order]


def distances_to_positions(
    metric: TreeMetric, segment: Segment, query: Rows, positions: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Compare one canonical query with some documents of a segment, embedding each from its words.

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
    arrays = (layout_of(metric).description, segment.description, scratch.description)
    row, reason = chosen_distances(*arrays, *query, positions, metric.resolution, distances)
    if row >= 0:
        refuse_query(row, reason)
    return distances
