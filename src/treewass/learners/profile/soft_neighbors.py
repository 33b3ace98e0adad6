"""The loss of soft neighbours under a tree metric, and its gradient by the logarithms of masses and lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.floating[Any]]

__all__ = ["LogMultipliers", "NeighborBatch", "loss_and_gradient"]


class LogMultipliers(NamedTuple):
    """What is learned: logarithms of factors on masses and lengths, and that of the scale of distances.

    `masses` and `leaves` have shape (n_words,), `edges` has shape (n_nodes,) and `scale` (1,).
    """

    masses: Floats  # a_w
    leaves: Floats  # b_w
    edges: Floats  # c_v
    scale: Floats  # r

    @classmethod
    def start(cls, n_words: int, n_nodes: int, log_scale: float) -> LogMultipliers:
        """Begin with factors of one and the given scale, in single precision."""
        single = np.float32
        words = np.zeros((2, n_words), single)
        return cls(words[0], words[1], np.zeros(n_nodes, single), np.full(1, log_scale, single))

    def with_words(self, n_words: int) -> LogMultipliers:
        """Append words with factors of one."""
        new = np.zeros(n_words - self.masses.size, self.masses.dtype)
        return self._replace(masses=np.append(self.masses, new), leaves=np.append(self.leaves, new))

    def applied(self, tree: Tree, masses: NDArray[np.float64]) -> TreeMetric:
        """Multiply masses and lengths by what was learned."""
        edge_lengths = tree.edge_lengths * np.exp(self.edges.astype(np.float64))
        leaf_lengths = tree.leaf_lengths * np.exp(self.leaves.astype(np.float64))
        refined = Tree(tree.parents, edge_lengths, tree.word_nodes, leaf_lengths)
        return TreeMetric(refined, masses * np.exp(self.masses.astype(np.float64)))


class NeighborBatch(NamedTuple):
    """Documents that are neighbours of each other.

    Each row of the counts has a word that carries mass, and all weights are positive. Documents of one group are equal,
    and so no neighbours of each other.
    """

    counts: csr_array
    labels: NDArray[np.intp]
    groups: NDArray[np.intp]
    weights: Floats

    def rows(self, rows: NDArray[np.intp]) -> NeighborBatch:
        """Take some of the documents."""
        return NeighborBatch(self.counts[rows], self.labels[rows], self.groups[rows], self.weights[rows])

    def with_columns(self, columns: NDArray[np.integer], n_words: int) -> NeighborBatch:
        """Give the entries other columns, in the same order."""
        from scipy.sparse import csr_array

        counts = csr_array((self.counts.data, columns, self.counts.indptr), shape=(self.counts.shape[0], n_words))
        return self._replace(counts=counts)


@dataclass(frozen=True, slots=True)
class _Embedding:
    """A batch under the metric: mass per entry, dense rows per internal node, postings per word."""

    documents: NDArray[np.intp]  # of each entry
    masses: Floats  # of each entry
    rows: Floats  # (n_nodes, n_documents), lengths included, the root zero
    order: NDArray[np.intp]  # entries by word
    bounds: NDArray[np.intp]  # of the postings
    values: Floats  # of the postings, lengths included


def loss_and_gradient(
    batch: NeighborBatch, tree: Tree, masses: NDArray[np.float64], multipliers: LogMultipliers
) -> tuple[float, LogMultipliers]:
    r"""Compute the loss of a batch and its gradient, in the precision of the multipliers.

    :math:`L = -\sum_i s_i \log \sum_{j \ne i,\, y_j = y_i} p_{ij} / \sum_i s_i` with
    :math:`p_{ij} \propto s_j \exp(-e^r W_{ij})`, where s are weights. W is the tree-Wasserstein distance along `tree`
    with `masses`, both multiplied by what was learned.
    """
    from treewass.learners.profile import soft_neighbor_kernels as kernels

    dtype = multipliers.masses.dtype
    edge_lengths = (tree.edge_lengths * np.exp(multipliers.edges)).astype(dtype)
    leaf_lengths = (tree.leaf_lengths * np.exp(multipliers.leaves)).astype(dtype)
    factors = (masses * np.exp(multipliers.masses)).astype(dtype)
    embedded = _embed(batch.counts, tree, factors, edge_lengths, leaf_lengths)

    n_documents = batch.counts.shape[0]
    pairs = np.zeros((n_documents, n_documents), dtype)
    postings = (embedded.bounds, embedded.documents[embedded.order], embedded.values)
    kernels.dense_distances(embedded.rows, pairs)
    kernels.posting_distances(*postings, pairs)
    scale = float(np.exp(multipliers.scale[0]))
    loss, slope = kernels.soft_loss(pairs, batch.labels, batch.groups, batch.weights, scale)  # pairs: now dL/dW

    by_row = kernels.dense_gradient(embedded.rows, pairs)
    by_entry = np.empty_like(embedded.values)
    by_entry[embedded.order] = kernels.posting_gradient(*postings, pairs)
    by_entry *= leaf_lengths[batch.counts.indices]
    return loss, _by_logarithms(batch.counts, tree, edge_lengths, embedded, by_row, by_entry, slope)


def _embed(counts: csr_array, tree: Tree, factors: Floats, edge_lengths: Floats, leaf_lengths: Floats) -> _Embedding:
    """Embed documents as equation (1) does."""
    words, n_documents = counts.indices, counts.shape[0]
    documents = np.repeat(np.arange(n_documents), np.diff(counts.indptr))
    weights = counts.data.astype(factors.dtype) * factors[words]
    masses = weights / np.bincount(documents, weights, n_documents).astype(factors.dtype)[documents]
    rows = np.zeros((tree.n_nodes, n_documents), factors.dtype)
    cells = tree.word_nodes[words].astype(np.intp) * n_documents + documents
    np.add.at(rows.reshape(-1), cells, masses)  # several times as fast as with two indices
    for node in range(tree.n_nodes - 1, 0, -1):
        rows[tree.parents[node]] += rows[node]
    rows *= edge_lengths[:, None]
    rows[0] = 0
    order = np.argsort(words, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(words[order], prepend=-1)), words.size)
    return _Embedding(documents, masses, rows, order, bounds, (masses * leaf_lengths[words])[order])


def _by_logarithms(
    counts: csr_array,
    tree: Tree,
    edge_lengths: Floats,
    embedded: _Embedding,
    by_row: Floats,
    by_entry: Floats,
    slope: float,
) -> LogMultipliers:
    """Carry the gradient by the embedding back to the logarithms."""
    words, documents, masses = counts.indices, embedded.documents, embedded.masses
    above = by_row * edge_lengths[:, None]
    above[0] = 0
    for node in range(1, tree.n_nodes):
        above[node] += above[tree.parents[node]]
    by_mass = by_entry + above[tree.word_nodes[words], documents]
    mean = np.bincount(documents, masses * by_mass, counts.shape[0])[documents]
    dtype = masses.dtype
    return LogMultipliers(
        np.bincount(words, masses * (by_mass - mean), tree.n_words).astype(dtype),
        np.bincount(words, masses * by_entry, tree.n_words).astype(dtype),
        (embedded.rows * by_row).sum(axis=1),
        np.array([slope], dtype),
    )
