"""Other ways to find a document's nearest neighbours, each as fast as its library makes it.

A rival is handed the documents embedded, and the query too (the paper's form: as histograms, which it embeds by its
sparse product); `TreeIndex` starts from counts. So the comparison favours the rivals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from treewass import TreeMetric
from treewass.compute.extras import require
from treewass.documents import to_histograms
from treewass.trees import embed, perfect_tree
from treewass_bench.datasets import Split

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "RIVALS",
    "drawn_documents",
    "faiss_flat",
    "known_documents",
    "merged_distances",
    "merged_rows",
    "paper_scipy",
    "random_metric",
    "scipy_distances",
    "scipy_embedded",
    "sklearn_brute",
    "weighted_features",
]

Search = Callable[[Any], Any]
Prepare = Callable[[Any], Any]


def random_metric(n_words: int, seed: int = 0) -> TreeMetric:
    """Place words at random below the paper's perfect tree of arity 5 and depth 5, with unit lengths."""
    shape = perfect_tree(5, 5)
    return TreeMetric(shape.with_words(np.random.default_rng(seed).integers(0, shape.n_nodes, n_words)))


def known_documents(metric: TreeMetric, counts: Any) -> csr_array:
    """Leave out documents without a known word, and sort the words of the others."""
    from scipy.sparse import csr_array

    rows = csr_array(counts)
    rows.sum_duplicates()
    return rows[np.flatnonzero(rows @ metric.known_words.astype(np.float64))]


def drawn_documents(
    metric: TreeMetric, split: Split, n_documents: int, n_queries: int
) -> tuple[csr_array, list[csr_array]]:
    """Draw training documents and single test documents with seed 0, of those with a known word."""
    random = np.random.default_rng(0)
    documents, others = known_documents(metric, split.X_train), known_documents(metric, split.X_test)
    documents = documents[random.permutation(documents.shape[0])[:n_documents]]
    return documents, [others[[row]] for row in random.permutation(others.shape[0])[:n_queries]]


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
    faiss = require("faiss", purpose="python -m treewass_bench speed", package="faiss-cpu")
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
