"""What the branches of a tree say: which classes put their mass below a node, and on which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import empty_rows
from treewass.search.embedding import MASS_BITS, mass_units
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["Branch", "class_means", "ranked", "telling_branches"]

_CLEARLY_MORE = 1.5


@dataclass(frozen=True, slots=True)
class Branch:
    """An internal node of a tree, seen from the documents.

    Parameters
    ----------
    node : int
        The internal node.
    classes : tuple of (label, float)
        Classes by their share of the mass below the node, largest first. Every class counts the same, whatever
        its number of documents.
    words : tuple of (int, float)
        Words below the node by the mean mass that documents put on them, largest first.
    mass : float
        Mean mass of a document below the node, over classes.
    score : float
        How much the branch tells: `mass` times the divergence of `classes` from equal shares, in bits.
    """

    node: int
    classes: tuple[tuple[Any, float], ...]
    words: tuple[tuple[int, float], ...]
    mass: float
    score: float


def telling_branches(
    metric: TreeMetric,
    X: Any,
    y: ArrayLike,
    *,
    n_branches: int = 10,
    n_words: int = 8,
    component: int = 0,
) -> list[Branch]:
    """Find the branches of a tree that say most about the labels of documents.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights; documents without a known word are passed over.
    y : array-like of shape (n_documents,)
        Labels.
    n_branches : int, default=10
        Most branches to return. None lies below another: a branch is opened into those below it where they tell
        at least half as much again.
    n_words : int, default=8
        Most words to list for a branch.
    component : int, default=0
        The tree to look at.

    Returns
    -------
    list of Branch
        The most telling first.

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2, 2]))
    >>> X = [[2, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 2], [0, 1, 1, 1]]
    >>> branches = telling_branches(metric, X, ["pets", "pets", "cars", "cars"], n_words=2)
    >>> [(branch.node, branch.classes[0][0], branch.words[0][0]) for branch in branches]
    [(2, 'cars', 3), (1, 'pets', 1)]
    """
    tree = metric.component(component)
    if n_branches < 0 or n_words < 0:
        raise ValueError(f"Expected n_branches and n_words of at least 0, got {n_branches} and {n_words}.")
    labels = np.asarray(y)
    masses = mass_units(metric, X, component)
    if labels.shape != (masses.shape[0],):
        raise ValueError(f"Expected one label per document ({masses.shape[0]}), got shape {labels.shape}.")
    known = np.setdiff1d(np.arange(masses.shape[0]), empty_rows(masses))
    if not known.size:
        return []
    classes, codes = np.unique(labels[known], return_inverse=True)
    word_means = class_means(masses[known], codes, len(classes))
    node_means = np.zeros((tree.n_nodes, len(classes)))
    np.add.at(node_means, tree.word_nodes, word_means.T)
    node_means = tree.subtree_sums(node_means)
    scores = _scores(node_means)
    chosen = sorted(_cut(tree, scores), key=lambda node: -scores[node])[:n_branches]
    return [
        Branch(
            node,
            tuple(ranked(classes.tolist(), node_means[node] / node_means[node].sum())),
            tuple(ranked(below := tree.subtree_words(node).tolist(), word_means[:, below].mean(axis=0))[:n_words]),
            float(node_means[node].mean()),
            float(scores[node]),
        )
        for node in chosen
    ]


def class_means(masses: csr_array, codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Average the masses of documents by class, shape (n_classes, n_words)."""
    from scipy.sparse import csr_array

    shares = np.ldexp(1 / np.bincount(codes, minlength=n_classes)[codes], -MASS_BITS)
    membership = csr_array((shares, (codes, np.arange(codes.size))), shape=(n_classes, codes.size))
    means: NDArray[np.float64] = (membership @ masses).toarray()
    return means


def _scores(node_means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weigh each node's divergence from equal class shares by its mass."""
    totals = node_means.sum(axis=1, keepdims=True)
    shares = np.divide(node_means, totals, out=np.zeros_like(node_means), where=totals > 0)
    logarithms = np.log2(shares * shares.shape[1], out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(node_means.mean(axis=1) * (shares * logarithms).sum(axis=1))


def _cut(tree: Tree, scores: NDArray[np.float64]) -> list[int]:
    """Cut the tree across: open a node wherever the branches below it tell clearly more than the node itself."""
    below = np.zeros(tree.n_nodes)
    for level in reversed(tree.levels[1:]):
        np.add.at(below, tree.parents[level], np.maximum(scores[level], below[level]))
    opened = below > _CLEARLY_MORE * scores
    opened[0] = True
    reached = np.zeros(tree.n_nodes, dtype=bool)
    reached[0] = True
    for level in tree.levels[1:]:
        parents = tree.parents[level]
        reached[level] = reached[parents] & opened[parents]
    return np.flatnonzero(reached & ~opened & (scores > 0)).tolist()


def ranked(items: Sequence[Any], values: NDArray[np.float64]) -> list[tuple[Any, float]]:
    """Pair items with their values, largest first, those at zero left out."""
    order = np.argsort(-values, kind="stable")
    return [(items[place], float(values[place])) for place in order if values[place] > 0]
