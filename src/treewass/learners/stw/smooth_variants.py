"""The paper's variants of the learned distance: smooth absolute values, on the tree or on probable parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.compute.arguments import check_positive
from treewass.compute.threads import run_in_blocks
from treewass.documents.histograms import to_histograms
from treewass.trees.embedding import refuse_unknown
from treewass.trees.matrices import subtree_matrix
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["smooth_distances"]

_DOCUMENTS = 256


def smooth_distances(
    metric: TreeMetric,
    X: csr_array,
    Y: csr_array | None = None,
    *,
    scores: NDArray[np.float32] | None = None,
    parents: str = "softmax",
    absolute: str = "tanh",
    smoothness: float = 10.0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    r"""Compute the smooth-STW or soft-smooth-STW distance of the paper's appendix.

    The metric has one component, and each row at least one known word. With scores, words hang from probable parents,
    equation (3); without, from the nodes of the tree. The smoothness is :math:`\alpha` for documents of mass one.

    Examples
    --------
    >>> metric = TreeMetric(Tree([-1, 0], word_nodes=[0, 1]))
    >>> smooth_distances(metric, np.array([[1, 0]]), np.array([[0, 1]]), smoothness=2).round(4)  # three times tanh(1)
    array([[2.2848]])
    """
    from treewass.learners.stw.contrastive_kernels import pair_distances, sparse_distances

    smoothness = check_positive("smoothness", smoothness)
    tree = metric.trees[0]
    queries = _histograms(metric, X, "X")
    documents = queries if Y is None else _histograms(metric, Y, "Y")
    lengths, leaf_lengths = tree.edge_lengths.copy(), tree.leaf_lengths
    lengths[0] = 0.0  # both documents have all their mass below the root
    dense: tuple[NDArray[np.float32], ...] = ()
    if scores is None:  # few nodes have mass below them: they are like words
        queries = _with_nodes(tree, queries)
        documents = queries if Y is None else _with_nodes(tree, documents)
        leaf_lengths = np.concatenate([leaf_lengths, lengths])
    else:
        masses = _masses_below(tree, documents, scores, parents)
        dense = masses if Y is None else _masses_below(tree, queries, scores, parents), masses
    huber = absolute == "huber"
    columns = documents.tocsc()
    postings = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data
    rows = queries.indptr.astype(np.int64), queries.indices.astype(np.int64), queries.data
    distances = np.zeros((queries.shape[0], documents.shape[0]))

    def work(start: int, stop: int) -> None:
        sparse_distances(rows, postings, leaf_lengths, smoothness, huber, start, stop, distances)
        if dense:
            kind = np.float32(smoothness), huber
            pair_distances(*dense, lengths.astype(np.float32), kind, start, stop, distances)

    run_in_blocks(work, queries.shape[0], n_jobs)
    return distances


def _histograms(metric: TreeMetric, X: csr_array, name: str) -> csr_array:
    """Normalise the mass of known words."""
    from scipy.sparse import csr_array, diags_array

    counts = csr_array(csr_array(X) @ diags_array(metric.masses[0]))
    refuse_unknown(metric, csr_array(X), name)
    return to_histograms(counts)


def _with_nodes(tree: Tree, histograms: csr_array) -> csr_array:
    """Put the mass below each node beside that of the words, shape (n_documents, n_words + n_nodes)."""
    from scipy.sparse import csr_array, hstack

    both = csr_array(hstack([histograms, histograms @ subtree_matrix(tree)], format="csr"))
    both.sort_indices()  # so that a pair's sum has the same order from either side
    return both


def _masses_below(tree: Tree, histograms: csr_array, scores: NDArray[np.float32], parents: str) -> NDArray[np.float32]:
    """Compute the probable mass below each node, shape (n_documents, n_nodes)."""
    from treewass.learners.stw.contrastive_kernels import add_subtrees

    masses = np.empty((histograms.shape[0], tree.n_nodes), np.float32)
    for start in range(0, histograms.shape[0], _DOCUMENTS):
        some = histograms[start : start + _DOCUMENTS]
        words = np.unique(some.indices)
        masses[start : start + _DOCUMENTS] = some[:, words] @ _probabilities(scores[words], parents)
    add_subtrees(masses, tree.parents.astype(np.int64))
    return masses


def _probabilities(scores: NDArray[np.float32], parents: str) -> NDArray[np.float64]:
    """Turn scores into probabilities of parents; only softmax does without torch."""
    if parents == "softmax":
        shares = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
    from treewass.compute.extras import require

    torch = require("torch", purpose=f"The soft distance on parents by {parents}", extra="train")
    from treewass.learners.stw.soft_trees import parent_probabilities

    return np.asarray(parent_probabilities(torch.from_numpy(scores).double(), parents).numpy())
