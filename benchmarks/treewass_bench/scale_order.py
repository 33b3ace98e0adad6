"""Documents stored in the order of branches: bytes of their files, and blocks that an exact search may leave out."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass import ProfileTreeWasserstein, TreeIndex, TreeMetric
from treewass.documents import make_documents
from treewass.trees import embed
from treewass_bench.datasets import load_set
from treewass_bench.rows import Value
from treewass_bench.scale_shards import ARRAYS, QUERIES, WORDS, K
from treewass_bench.speed_rivals import known_documents, random_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["measure_order"]

_BLOCKS = (64, 1024, 8192)
_LEARNED_FROM = 20_000


def measure_order(source: str, n_documents: int, tree: str, order: str, data: str | None = None) -> dict[str, Value]:
    """Count bytes of an index whose documents are in some order, and blocks that an exact search cannot leave out.

    A block must be visited if a lower bound of the distance to its documents does not exceed the distance of the k-th
    neighbour, which is known here beforehand: no search leaves out more by this bound.

    Parameters
    ----------
    source : str
        ``generated``, topical documents of 40 words, or the name of a text set.
    n_documents : int
        How many of them, at most.
    tree : {"random", "profile learner"}
    order : {"drawn", "branches"}
        As drawn at random, or by the heaviest branches, from the root down.
    data : str, optional
        The folder of the text sets.
    """
    documents, queries, labels = _drawn(source, n_documents, data)
    metric = random_metric(documents.shape[1])
    if tree != "random":
        few = slice(_LEARNED_FROM)
        metric = ProfileTreeWasserstein(refine=False).fit(documents[few], labels[few]).metric_
    documents, queries = known_documents(metric, documents), known_documents(metric, queries)
    n_documents = documents.shape[0]
    if order == "branches":
        documents = documents[_by_branches(metric, embed(metric, documents))]
    vectors, asked = embed(metric, documents), embed(metric, queries)
    index = TreeIndex(metric)
    index.add(documents)
    distances = index.search(queries, K)[0]
    segments = index._snapshot.segments
    arrays: list[NDArray[Any]] = [getattr(one, name) for one in segments for names in ARRAYS.values() for name in names]
    found: dict[str, Value] = {
        "bytes a document": round(sum(array.nbytes for array in arrays) / n_documents, 1),
        "compressed bytes a document": round(sum(len(zlib.compress(a.tobytes(), 6)) for a in arrays) / n_documents, 1),
    }
    for size in _BLOCKS:
        found[f"blocks of {size} to visit, %"] = round(100 * _visited(vectors, asked, distances[:, -1], size), 1)
    return found


def _drawn(source: str, n_documents: int, data: str | None) -> tuple[csr_array, csr_array, NDArray[Any]]:
    """Return documents in random order, queries, and the labels of the documents."""
    if source == "generated":
        counts, labels = make_documents(n_documents + QUERIES, n_words=WORDS, random_state=0)
        return counts[:n_documents], counts[n_documents:], labels[:n_documents]
    split = load_set(source, data).split(0)
    chosen = np.random.default_rng(0).permutation(split.X_train.shape[0])[:n_documents]
    return split.X_train[chosen], split.X_test[:QUERIES], np.asarray(split.y_train)[chosen]


def _by_branches(metric: TreeMetric, vectors: csr_array) -> NDArray[np.intp]:
    """Order documents by the heaviest node of each level of the (first) tree, from the root down."""
    tree = metric.trees[0]
    depths = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in range(1, tree.n_nodes):  # parents come before children
        depths[node] = depths[tree.parents[node]] + 1
    keys = []
    for depth in range(1, min(int(depths.max()), 4) + 1):
        nodes = np.flatnonzero(depths == depth) - 1  # the root has no feature
        keys.append(np.asarray(vectors[:, nodes].tocsr().argmax(axis=1)).ravel())
    return np.lexsort(keys[::-1])


def _visited(vectors: csr_array, asked: csr_array, furthest: NDArray[np.float64], size: int) -> float:
    """Return the share of blocks whose bound, by the largest value of each feature, does not exclude them."""
    norms, query_norms = vectors.sum(axis=1), asked.sum(axis=1)
    n_visited, n_blocks = 0, 0
    for start in range(0, vectors.shape[0], size):
        largest = vectors[start : start + size].max(axis=0).toarray().ravel()
        shared = asked.copy()
        shared.data = np.minimum(shared.data, largest[shared.indices])
        bounds = query_norms + norms[start : start + size].min() - 2 * shared.sum(axis=1)
        n_visited += int(np.count_nonzero(bounds <= furthest + 1e-9))
        n_blocks += furthest.size
    return n_visited / n_blocks
