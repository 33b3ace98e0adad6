"""The documents that an index holds: taken out again, or moved under another metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treewass.documents.histograms import short_bounds
from treewass.search.index import TreeIndex
from treewass.search.segments import merge_documents
from treewass.search.snapshot import Snapshot, as_ids
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import csr_array

    from treewass.search.sharded_index import ShardedIndex

__all__ = ["AnyIndex", "documents_of", "moved_index", "rows_of"]

AnyIndex: TypeAlias = "TreeIndex | ShardedIndex"


def documents_of(index: AnyIndex, ids: ArrayLike | None = None, *, beyond: bool = False) -> csr_array:
    """Return documents of an index, as the counts that were added.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        Any index.
    ids : array-like of int, optional
        Documents in the index, in any order; by default all, in ascending order of id.
    beyond : bool, default=False
        With the words beyond the metric, in as many columns as they take.

    Returns
    -------
    csr_array of shape (n_documents, n_words), float64
        Its arrays may be shared with the index, and cannot be written then: copy before you change them in place.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(2)))
    >>> ids = index.add([[3, 0], [1, 1]])
    >>> documents_of(index, [1, 0]).toarray()
    array([[1., 1.],
           [3., 0.]])
    """
    from scipy.sparse import csr_array, vstack

    n_words = index.metric.n_words
    if ids is None:
        counts = merge_documents(list(index._snapshot.segments))[0] if len(index) else csr_array((0, n_words))
        return _with_short_indices(counts if beyond or counts.shape[1] == n_words else counts[:, :n_words])
    wanted = as_ids(ids)
    blocks, places = [csr_array((0, n_words))], [np.empty(0, dtype=np.intp)]
    for segment, positions, where in index._snapshot.locate(wanted):
        rows = np.cumsum(segment.held)[positions] - 1
        blocks.append(segment.documents()[rows])
        places.append(where)
    n_columns = max(block.shape[1] for block in blocks) if beyond else n_words
    for block in blocks:
        block.resize((block.shape[0], n_columns))
    order = np.argsort(np.concatenate(places))
    return _with_short_indices(vstack(blocks, format="csr")[order])


def rows_of(index: AnyIndex, ids: ArrayLike) -> list[tuple[list[int], list[float]]]:
    """Return documents of an index as ascending words, those beyond the metric too, and counts, without loading SciPy.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        Any index.
    ids : array-like of int
        Documents in the index, in any order.

    Returns
    -------
    list of (list of int, list of float)

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(2)))
    >>> ids = index.add([[3, 0], [1, 1]])
    >>> rows_of(index, [1, 0])
    [([0, 1], [1.0, 1.0]), ([0], [3.0])]
    """
    wanted = as_ids(ids)
    rows: list[tuple[list[int], list[float]]] = [([], []) for _ in range(wanted.size)]
    for segment, positions, places in index._snapshot.locate(wanted):
        for position, place in zip(positions.tolist(), places.tolist(), strict=True):
            span = slice(int(segment.document_bounds[position]), int(segment.document_bounds[position + 1]))
            beyond = slice(*np.searchsorted(segment.beyond_places, [position, position + 1]).tolist())
            words = [*segment.words[span].tolist(), *segment.beyond_words[beyond].tolist()]
            rows[place] = (
                words,
                [*segment.weights[span].astype(float).tolist(), *segment.beyond_weights[beyond].tolist()],
            )
    return rows


def _with_short_indices(counts: csr_array) -> csr_array:
    """Hold indices in 32 bits where they fit, which is all that some estimators accept."""
    from scipy.sparse import csr_array

    bounds = short_bounds(counts.indptr)
    return csr_array((counts.data, counts.indices.astype(bounds.dtype, copy=False), bounds), shape=counts.shape)


def moved_index(index: AnyIndex, metric: TreeMetric) -> AnyIndex:
    """Return an index of the same documents and ids under another metric, of as many words or more.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        Left as it is.
    metric : TreeMetric
        Its further words are the columns on the right, which hold words beyond the metric before if there were any.

    Returns
    -------
    TreeIndex or ShardedIndex
        In as many shards. It gives no id again that the other one gave.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(2)))
    >>> ids = index.add([[3, 0], [1, 1]])
    >>> moved_index(index, TreeMetric(star_tree(3))).search([[1, 0, 1]], k=1)
    (array([[1.]]), array([[0]]))
    """
    if not isinstance(index, TreeIndex):
        return type(index)([moved_index(shard, metric) for shard in index._now.indexes], n_jobs=index.n_jobs)
    counts = documents_of(index, beyond=True)
    counts.resize((counts.shape[0], max(counts.shape[1], metric.n_words)))
    moved = TreeIndex(metric, n_jobs=index.n_jobs)
    moved.add(counts, index.ids)
    moved._snapshot = Snapshot(moved._snapshot.segments, index._snapshot.next_id)
    return moved
