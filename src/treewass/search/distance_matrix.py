"""Distances between all documents of two collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.search.embedding import embed_units, refuse_unknown
from treewass.search.postings import Postings
from treewass.search.threads import run_in_blocks
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pairwise"]


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
    refuse_unknown(metric, X, "X")
    queries = embed_units(metric, X)
    if Y is not None:
        refuse_unknown(metric, Y, "Y")
    documents = queries if Y is None else embed_units(metric, Y)
    postings = Postings.of(documents)
    units = np.empty((queries.shape[0], documents.shape[0]), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        for row in range(start, stop):
            postings.distances(queries, row, units[row])

    run_in_blocks(work, queries.shape[0], n_jobs)
    return np.ldexp(units, -metric.fraction_bits)
