"""Other ways to find a document's nearest neighbours, each as fast as its library makes it.

A rival is handed the documents embedded, and the query too (the paper's form: as histograms, which it embeds by its
sparse product); `TreeIndex` starts from counts. So the comparison favours the rivals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from treewass.documents.histograms import to_histograms
from treewass.extras import require
from treewass.search.embedding import embed
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "RIVALS",
    "faiss_flat",
    "merged_distances",
    "merged_rows",
    "paper_scipy",
    "scipy_distances",
    "scipy_embedded",
    "sklearn_brute",
    "weighted_features",
]

Search = Callable[[Any], Any]
Prepare = Callable[[Any], Any]


def weighted_features(metric: TreeMetric) -> csr_array:
    """Return the matrix that embeds histograms by one sparse product: (n_words, n_features), float64."""
    from scipy.sparse import csr_array, hstack

    blocks = []
    for tree, features in zip(metric.trees, metric.word_features, strict=True):
        lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        blocks.append(features.astype(np.float64) * lengths)
    return csr_array(hstack(blocks, format="csr"))


def scipy_distances(metric: TreeMetric, documents: csr_array) -> tuple[Prepare, Search]:
    """Compare as the paper does on the CPU: sparse product of the differences of histograms, equation (1)."""
    weights, held = weighted_features(metric), to_histograms(documents)

    def distances(query: csr_array) -> NDArray[np.float64]:
        return np.asarray(abs((_repeated(query, held.shape[0]) - held) @ weights).sum(axis=1))

    return to_histograms, distances


def paper_scipy(metric: TreeMetric, documents: csr_array, k: int) -> tuple[Prepare, Search]:
    """Search by the distances of the paper's form on the CPU."""
    prepare, distances = scipy_distances(metric, documents)
    return prepare, lambda query: np.argpartition(distances(query), k - 1)[:k]


def scipy_embedded(metric: TreeMetric, documents: csr_array, k: int) -> tuple[Prepare, Search]:
    """Subtract embedded rows in SciPy: what is left of the paper's form when documents are embedded once."""
    held = embed(metric, documents)

    def search(query: csr_array) -> NDArray[np.intp]:
        return np.argpartition(abs(_repeated(query, held.shape[0]) - held).sum(axis=1), k - 1)[:k]

    return lambda counts: embed(metric, counts), search


def faiss_flat(metric: TreeMetric, documents: csr_array, k: int) -> tuple[Prepare, Search]:
    """Search a flat FAISS index of dense vectors, nodes and words, under L1."""
    faiss = require("faiss", purpose="treewass bench speed", extra="bench")
    index = faiss.IndexFlat(metric.n_features, faiss.METRIC_L1)
    index.add(embed(metric, documents).toarray().astype(np.float32))
    return lambda counts: embed(metric, counts).toarray().astype(np.float32), lambda query: index.search(query, k)


def sklearn_brute(metric: TreeMetric, documents: csr_array, k: int) -> tuple[Prepare, Search]:
    """Search by scikit-learn's brute force under the Manhattan distance, on sparse rows."""
    from scipy.sparse import csr_matrix
    from sklearn.neighbors import NearestNeighbors

    neighbors = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="manhattan", n_jobs=1)
    neighbors.fit(csr_matrix(embed(metric, documents)))
    return lambda counts: csr_matrix(embed(metric, counts)), neighbors.kneighbors


def merged_distances(metric: TreeMetric, documents: csr_array) -> tuple[Prepare, Search]:
    """Merge sorted sparse rows in compiled code, document by document, as public C++ Quadtree implementations do."""
    held = embed(metric, documents)
    bounds, features, values = held.indptr.astype(np.int64), held.indices.astype(np.int32), held.data.astype(np.float32)

    def prepare(counts: csr_array) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        query = embed(metric, counts)
        return query.indices.astype(np.int32), query.data.astype(np.float32)

    def distances(query: tuple[NDArray[np.int32], NDArray[np.float32]]) -> NDArray[np.float32]:
        return _merge(bounds, features, values, *query)

    return prepare, distances


def merged_rows(metric: TreeMetric, documents: csr_array, k: int) -> tuple[Prepare, Search]:
    """Search by the distances of merged rows."""
    prepare, distances = merged_distances(metric, documents)
    return prepare, lambda query: np.argpartition(distances(query), k - 1)[:k]


def _repeated(row: csr_array, times: int) -> csr_array:
    """Stack a row upon itself."""
    from scipy.sparse import csr_array

    bounds = np.arange(0, row.nnz * times + 1, row.nnz, dtype=np.int32)
    arrays = (np.tile(row.data, times), np.tile(row.indices, times), bounds)
    return csr_array(arrays, shape=(times, row.shape[1]))


RIVALS = {
    "paper's SciPy form": paper_scipy,
    "SciPy, documents embedded once": scipy_embedded,
    "FAISS flat L1": faiss_flat,
    "scikit-learn brute force on CSR": sklearn_brute,
    "compiled merge of sorted rows": merged_rows,
}


@njit(cache=True, nogil=True)
def _merge(
    bounds: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[np.float32],
    query_features: NDArray[np.int32],
    query_values: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Walk along the query and each document together."""
    distances = np.empty(bounds.size - 1, np.float32)
    for document in range(bounds.size - 1):
        total = np.float32(0)
        place, stop, other = bounds[document], bounds[document + 1], 0
        while place < stop and other < query_features.size:
            if features[place] == query_features[other]:
                total += abs(values[place] - query_values[other])
                place += 1
                other += 1
            elif features[place] < query_features[other]:
                total += values[place]
                place += 1
            else:
                total += query_values[other]
                other += 1
        while place < stop:
            total += values[place]
            place += 1
        while other < query_features.size:
            total += query_values[other]
            other += 1
        distances[document] = total
    return distances
