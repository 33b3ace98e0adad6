"""The documents that an index holds: taken out again, or moved under another metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.search.index import TreeIndex
from treewass.search.segments import merge_documents
from treewass.search.snapshots import Snapshot, as_ids
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import csr_array

__all__ = ["documents_of", "moved_index"]


def documents_of(index: TreeIndex, ids: ArrayLike | None = None) -> csr_array:
    """Return documents of an index, as the counts that were added.

    Parameters
    ----------
    index : TreeIndex
        Any index.
    ids : array-like of int, optional
        Documents in the index, in any order; by default all, in ascending order of id.

    Returns
    -------
    csr_array of shape (n_documents, n_words), float64

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

    if ids is None:
        if not len(index):
            return csr_array((0, index.metric.n_words))
        return _with_short_indices(merge_documents(list(index._snapshot.segments))[0])
    wanted = as_ids(ids)
    blocks, places = [csr_array((0, index.metric.n_words))], [np.empty(0, dtype=np.intp)]
    for segment, positions, where in index._snapshot.locate(wanted):
        rows = np.cumsum(segment.held)[positions] - 1
        blocks.append(segment.documents()[rows])
        places.append(where)
    order = np.argsort(np.concatenate(places))
    return _with_short_indices(vstack(blocks, format="csr")[order])


def _with_short_indices(counts: csr_array) -> csr_array:
    """Hold indices in 32 bits where they fit, which is all that some estimators accept."""
    from scipy.sparse import csr_array

    kind = np.int32 if counts.nnz < 2**31 else np.int64
    arrays = (counts.data, counts.indices.astype(kind, copy=False), counts.indptr.astype(kind, copy=False))
    return csr_array(arrays, shape=counts.shape)


def moved_index(index: TreeIndex, metric: TreeMetric) -> TreeIndex:
    """Return an index of the same documents and ids under another metric, of as many words or more.

    Parameters
    ----------
    index : TreeIndex
        Left as it is.
    metric : TreeMetric
        Its further words, on the right, are in none of the documents.

    Returns
    -------
    TreeIndex
        It gives no id again that the other one gave.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(2)))
    >>> ids = index.add([[3, 0], [1, 1]])
    >>> moved_index(index, TreeMetric(star_tree(3))).search([[1, 0, 1]], k=1)
    (array([[1.]]), array([[0]]))
    """
    counts = documents_of(index)
    counts.resize((counts.shape[0], metric.n_words))
    moved = TreeIndex(metric, n_jobs=index.n_jobs)
    moved.add(counts, index.ids)
    moved._snapshot = Snapshot(moved._snapshot.segments, index._snapshot.next_id)
    return moved
