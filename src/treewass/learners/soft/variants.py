"""The paper's variants of the learned distance: smooth absolute values, on the tree or on probable parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.histograms import to_histograms
from treewass.search.embedding import refuse_unknown
from treewass.search.threads import run_in_blocks
from treewass.trees.matrices import subtree_matrix
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["SmoothDistance"]

_DOCUMENTS = 256


class SmoothDistance:
    r"""The smooth-STW and soft-smooth-STW distances of the paper's appendix.

    Parameters
    ----------
    metric : TreeMetric
        The learned tree, one component.
    scores : ndarray of float32, shape (n_words, n_nodes), optional
        Words hang from probable parents, equation (3); without them from the nodes of the tree.
    parents : {"softmax", "sparsemax", "entmax", "rankmax"}
        How scores become probabilities.
    smoothness : float
        :math:`\alpha`, for documents of mass one.
    absolute : {"tanh", "huber"}
        Which smooth absolute value.

    Examples
    --------
    >>> from treewass import Tree
    >>> distance = SmoothDistance(TreeMetric(Tree([-1, 0], word_nodes=[0, 1])), None, "softmax", 2.0, "tanh")
    >>> distance(np.array([[1, 0]]), np.array([[0, 1]])).round(4)  # three times tanh(1)
    array([[2.2848]])
    """

    def __init__(
        self, metric: TreeMetric, scores: NDArray[np.float32] | None, parents: str, smoothness: float, absolute: str
    ) -> None:
        if not (isinstance(smoothness, int | float | np.number) and 0 < smoothness < np.inf):
            raise ValueError(f"Expected smoothness as a finite number above zero, got {smoothness!r}.")
        self._metric, self._scores, self._parents = metric, scores, parents
        self._smoothness, self._absolute = smoothness, absolute

    def __call__(self, X: csr_array, Y: csr_array | None = None, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Compute the distance between each row of `X` and each row of `Y`, by default `X`.

        Parameters
        ----------
        X, Y : csr_array of shape (n_documents, n_words)
            Counts; each row with at least one known word.
        n_jobs : int, optional
            Threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_documents_X, n_documents_Y)
        """
        from treewass.learners.soft.kernels import cross_leaf_distances, pair_distances

        tree = self._metric.trees[0]
        queries = self._histograms(X, "X")
        documents = queries if Y is None else self._histograms(Y, "Y")
        query_masses = self._node_masses(queries)
        masses = query_masses if Y is None else self._node_masses(documents)
        distances = np.zeros((queries.shape[0], documents.shape[0]))
        lengths = tree.edge_lengths.astype(np.float32)
        lengths[0] = 0  # both documents have all their mass below the root
        absolute = np.float32(self._smoothness), self._absolute == "huber"
        columns = documents.tocsc()
        postings = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data
        rows = queries.indptr.astype(np.int64), queries.indices.astype(np.int64), queries.data

        def work(start: int, stop: int) -> None:
            cross_leaf_distances(
                rows, postings, tree.leaf_lengths, self._smoothness, absolute[1], start, stop, distances
            )
            pair_distances(query_masses, masses, lengths, absolute, start, stop, distances)

        run_in_blocks(work, queries.shape[0], n_jobs)
        return distances

    def _histograms(self, X: csr_array, name: str) -> csr_array:
        """Normalise the mass of known words."""
        from scipy.sparse import csr_array, diags_array

        counts = csr_array(csr_array(X) @ diags_array(self._metric.masses[0]))
        refuse_unknown(self._metric, csr_array(X), name)
        return to_histograms(counts)

    def _node_masses(self, histograms: csr_array) -> NDArray[np.float32]:
        """Compute the mass below each node, shape (n_documents, n_nodes)."""
        tree = self._metric.trees[0]
        if self._scores is None:
            return np.asarray((histograms @ subtree_matrix(tree)).toarray(), dtype=np.float32)
        from treewass.learners.soft.kernels import node_masses

        parts = np.empty((1, histograms.shape[0], tree.n_nodes), np.float32)
        for start in range(0, histograms.shape[0], _DOCUMENTS):
            some = histograms[start : start + _DOCUMENTS]
            words = np.unique(some.indices)
            parts[0, start : start + _DOCUMENTS] = some[:, words] @ self._probabilities(self._scores[words])
        masses: NDArray[np.float32] = node_masses(parts, tree.parents.astype(np.int64))
        return masses

    def _probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Turn scores into probabilities of parents."""
        if self._parents == "softmax":
            shares = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
            return np.asarray(shares / shares.sum(axis=1, keepdims=True))
        from treewass.extras import require

        torch = require("torch", purpose=f"The soft distance on parents by {self._parents}", extra="train")
        from treewass.learners.soft.parents import parent_probabilities

        return np.asarray(parent_probabilities(torch.from_numpy(scores).double(), self._parents).numpy())
