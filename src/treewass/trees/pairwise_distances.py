"""Distances between all documents of two collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import run_in_blocks
from treewass.trees.columns import Columns, EmbeddedRows, build_columns, tile_size
from treewass.trees.embedding import embedded_rows, known_rows
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["distances_to_columns", "pairwise"]


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
        Exact in fixed point (see `treewass.trees.embed`): symmetric, zero on equal documents.

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
    queries = embedded_rows(metric, known_rows(metric, X))
    documents = queries if Y is None else embedded_rows(metric, known_rows(metric, Y, "Y"))
    n_documents, n_features, norms = documents.known.size, metric.n_features, queries.norms
    if documents.features.size < n_features:
        queries, documents, n_features = _renumbered(queries, documents)
    columns = build_columns(documents.part, n_documents, n_features, tile=tile_size(n_documents))
    return distances_to_columns(metric, queries, norms, columns, n_documents, n_jobs)


def distances_to_columns(
    metric: TreeMetric,
    queries: EmbeddedRows,
    norms: NDArray[np.int64],
    columns: Columns,
    n_documents: int,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the distances of embedded queries to documents turned by feature.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    queries : EmbeddedRows
        They may lack features that no document has.
    norms : ndarray of int64, shape (n_queries,)
        Their norms, with all features.
    columns : Columns
        Documents with values held whole.
    n_documents : int
        How many documents there are.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of float64, shape (n_queries, n_documents)
    """
    from treewass.trees.column_kernels import column_distances

    distances = np.empty((norms.size, n_documents))
    plan, values = columns.description(n_documents), queries.values.astype(np.int32)

    def work(start: int, stop: int) -> None:
        bounds = queries.bounds[start : stop + 1]
        column_distances(
            plan, bounds, queries.features, values, norms[start:stop], metric.resolution, distances[start:stop]
        )

    run_in_blocks(work, norms.size, n_jobs, block=256)
    return distances


def _renumbered(queries: EmbeddedRows, documents: EmbeddedRows) -> tuple[EmbeddedRows, EmbeddedRows, int]:
    """Give new numbers to the features that documents have, and drop the others: few documents have few of many."""
    found, features = np.unique(documents.features, return_inverse=True)
    places = np.minimum(np.searchsorted(found, queries.features), max(found.size - 1, 0))
    kept = found[places] == queries.features if found.size else np.zeros(queries.features.size, dtype=bool)
    bounds = np.concatenate([[0], np.cumsum(kept)])[queries.bounds]
    shared = EmbeddedRows(bounds, places[kept].astype(np.int32), queries.values[kept], queries.known)
    return shared, documents._replace(features=features.astype(np.int32)), found.size
