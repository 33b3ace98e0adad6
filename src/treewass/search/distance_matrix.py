"""Distances between all documents of two collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import check_counts
from treewass.search.embedding import refuse_unknown
from treewass.search.plans import make_plan
from treewass.search.queries import checked_queries, refuse_query
from treewass.search.rows import Rows, count_rows, part_of
from treewass.search.scratch import Scratch
from treewass.search.segments import Segment, build_segment
from treewass.search.threads import run_in_blocks
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["distances_to_segment", "pairwise"]


def pairwise(metric: TreeMetric, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Compute the tree-Wasserstein distance between each row of `X` and each row of `Y`.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X, Y : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights; `Y` defaults to `X`.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y), float64
        Exact in fixed point (see `treewass.search.embed`): symmetric, zero on equal documents.

    Raises
    ------
    ValueError
        If a document holds no known word: it has no distance.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> pairwise(TreeMetric(star_tree(2)), [[1, 0], [1, 1]], [[0, 1]])
    array([[2.],
           [1.]])
    """
    queries = checked_queries(metric, X)
    documents = check_counts(X if Y is None else Y, n_words=metric.n_words, caller="TreeMetric")
    if Y is not None:
        refuse_unknown(metric, documents, "Y")
    return distances_to_segment(metric, queries, build_segment(metric, documents, wide=True), n_jobs)


def distances_to_segment(
    metric: TreeMetric, queries: Rows, segment: Segment, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Compute the distances of canonical queries to every document of a segment that holds values whole.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    queries : Rows
        As `checked_queries` makes them.
    segment : Segment
        Not narrow.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of float64, shape (n_queries, n_documents)
    """
    distances = np.empty((count_rows(queries), segment.ids.size))

    def work(start: int, stop: int) -> None:
        from treewass.search.kernels.searches import scanned_distances

        scratch = Scratch(metric.n_words, metric.n_features, segment.tile)
        plan = make_plan(metric, scratch, [segment])
        row, reason = scanned_distances(plan, *part_of(queries, start, stop), distances[start:stop])
        if row >= 0:
            refuse_query(start + row, reason)

    run_in_blocks(work, count_rows(queries), n_jobs, block=256)
    return distances
