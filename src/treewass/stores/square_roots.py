"""Vectors for stores that know inner products only: a lower bound of the distance, made exact where it must be.

For numbers of zero and more, ``(√a − √b)² ≤ |a − b|``. So ``|x| + |y| − 2⟨√x, √y⟩`` is at most the distance of x and y,
and one more dimension, ``2**23 − |y|`` of a document and 1 of a query, makes it a plain inner product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.documents.histograms import check_counts
from treewass.trees.embedding import embed_units, refuse_unknown, unknown_rows
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["certified", "sqrt_vectors"]

_ABOVE_NORMS = 2**23  # larger than the norm of any document, in units
_ROUNDING = 2.0**-24  # of float32


def sqrt_vectors(metric: TreeMetric, X: Any, *, queries: bool = False) -> csr_array:
    """Turn documents into vectors whose inner products with those of queries put near documents first.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses, with a unit coarse enough for float32: ``metric.for_float32()``.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights. A document without a known word gives a row of zeros.
    queries : bool, default=False
        Whether these are queries, whose vectors are others: each must hold a known word.

    Returns
    -------
    csr_array of shape (n_documents, n_features + 1), float32
        Non-negative. Squares of a document's entries but the last are its embedding, whole numbers below ``2**22``:
        float32 loses nothing of it.

    See Also
    --------
    certified : Exact neighbours from a store of these vectors.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> metric = TreeMetric(star_tree(2), fraction_bits=4)
    >>> sqrt_vectors(metric, [[1, 0], [1, 3]]).toarray().tolist()
    [[4.0, 0.0, 8388592.0], [2.0, 3.464101552963257, 8388592.0]]
    >>> sqrt_vectors(metric, [[1, 0]], queries=True).toarray().tolist()
    [[8.0, 0.0, 1.0]]
    """
    from scipy.sparse import csr_array, hstack

    if metric.for_float32() is not metric:
        raise ValueError(
            f"Expected a metric whose units float32 holds exactly, got {metric.fraction_bits} fraction bits. Use "
            "metric.for_float32()."
        )
    counts = check_counts(X, n_words=metric.n_words, caller="TreeMetric")
    units = embed_units(metric, counts)
    roots = csr_array((np.sqrt(units.data.astype(np.float64)), units.indices, units.indptr), shape=units.shape)
    if queries:
        refuse_unknown(metric, counts, "X")
        roots, last = 2 * roots, np.ones(counts.shape[0])
    else:
        last = _ABOVE_NORMS - np.asarray(units.sum(axis=1, dtype=np.int64), dtype=np.float64)
        last[unknown_rows(metric, counts)] = 0
    return csr_array(hstack([roots, csr_array(last[:, None])], format="csr", dtype=np.float32))


def certified(
    metric: TreeMetric,
    X: Any,
    fetch: Callable[[csr_array, int], tuple[ArrayLike, ArrayLike, csr_array]],
    k: int = 10,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the k nearest documents of each query in a store of `sqrt_vectors`, with proof that none is nearer.

    Documents come in the order of their inner product, hence of a lower bound of their distance. They are compared
    exactly, and more are fetched until the bound of all others is above the k-th distance.

    Parameters
    ----------
    metric : TreeMetric
        That of the vectors.
    X : sparse matrix or array-like of shape (n_queries, n_words)
        Counts or weights, each row with at least one known word.
    fetch : callable
        Called with a query's vector (shape (1, n_features + 1), float32) and a number n. It returns the inner products,
        ids and vectors (sparse, of shape (m, n_features + 1)) of the n documents with the largest inner products,
        largest first; all documents where there are fewer. The store must compare with all of them, in float32 or
        finer.
    k : int, default=10
        Neighbours per query, at least 1.

    Returns
    -------
    distances : ndarray of float64, shape (n_queries, min(k, n))
        Ascending; n is the number of documents in the store that hold a known word.
    ids : ndarray of int64, shape (n_queries, min(k, n))
        Ties are in ascending order of id: ids, order and distances are those of a `TreeIndex` of the metric.

    Examples
    --------
    A store can be as simple as a matrix:

    >>> from scipy.sparse import csr_array
    >>> from treewass.trees import star_tree
    >>> metric = TreeMetric(star_tree(3)).for_float32()
    >>> stored = sqrt_vectors(metric, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> def fetch(query, n):
    ...     products = (stored @ query.T).toarray().ravel()
    ...     ids = np.argsort(-products)[:n]
    ...     return products[ids], ids, stored[ids]
    >>> certified(metric, [[2, 1, 0]], fetch, k=2)[1]
    array([[1, 0]])
    """
    k = check_integer("k", k)
    vectors = sqrt_vectors(metric, X, queries=True)
    units = embed_units(metric, X)
    found = [_nearest(vectors[[row]], units[[row]], fetch, k) for row in range(units.shape[0])]
    width = len(found[0][0]) if found else 0
    distances = np.array([own for own, _ in found], dtype=np.float64).reshape(len(found), width)
    ids = np.array([own for _, own in found], dtype=np.int64).reshape(len(found), width)
    return np.ldexp(distances, -metric.fraction_bits), ids


def _nearest(
    vector: csr_array, units: csr_array, fetch: Callable[..., Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fetch twice as many documents as before until the k nearest are certain."""
    norm = int(units.data.sum(dtype=np.int64))
    slack = 1 + 2 * (vector.nnz + 4) * _ROUNDING  # more than the store and the vectors can have rounded off
    asked = max(10 * k, 100)
    while True:
        products, ids, documents = fetch(vector, asked)
        products, ids = np.asarray(products, dtype=np.float64), np.asarray(ids, dtype=np.int64)
        distances, known = _distances(units, documents)
        order = np.lexsort((ids[known], distances[known]))[:k]
        nearest, numbers = distances[known][order], ids[known][order]
        if products.size < asked:
            return nearest, numbers
        bound = norm + _ABOVE_NORMS - products[-1] * slack  # of the distance of all that were not fetched
        if nearest.size == k and bound > nearest[-1]:
            return nearest, numbers
        asked *= 2


def _distances(units: csr_array, documents: csr_array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Compute the distances of a query to documents by their vectors, and which of these hold a known word."""
    from scipy.sparse import csr_array

    vectors = csr_array(documents).astype(np.float64)
    values = vectors[:, :-1]
    values.data = np.rint(values.data**2)
    wanted = np.zeros(units.shape[1])
    wanted[units.indices] = units.data
    shared = csr_array((np.minimum(values.data, wanted[values.indices]), values.indices, values.indptr), values.shape)
    distances = wanted.sum() + values.sum(axis=1) - 2 * shared.sum(axis=1)
    return distances.astype(np.int64), vectors[:, [-1]].toarray().ravel() > 0
