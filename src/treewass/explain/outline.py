"""The outline of a learned tree: what each branch holds, for pictures and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.explain.branches import class_means
from treewass.search.embedding import mass_units
from treewass.trees.matrices import subtree_matrix
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["OutlineNode", "OutlineWord", "TreeOutline", "tree_outline"]


@dataclass(frozen=True, slots=True)
class OutlineWord:
    """A word of a branch.

    Parameters
    ----------
    word : str
        The word.
    mass : float
        Mean mass that documents put on it, over classes.
    code, share : int, float
        The class with the largest share of that mass, as a place in `TreeOutline.classes`, and the share.
    """

    word: str
    mass: float
    code: int
    share: float


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A branch: an internal node and what lies below it.

    Parameters
    ----------
    node : int
        The internal node.
    parent : int
        The node above it; -1 for the root.
    mass : float
        Mean mass of a document below it, over classes.
    classes : tuple of float, shape (n_classes,)
        Shares of the classes in that mass, every class counted the same.
    words : tuple of OutlineWord
        Words anywhere below it, heaviest first, the first few.
    own_words : tuple of OutlineWord
        The same of the words that hang from the node itself.
    n_words : int
        Number of words below it that carry mass in the documents.
    documents : tuple of int
        Row numbers of the documents with most of their mass below it.
    """

    node: int
    parent: int
    mass: float
    classes: tuple[float, ...]
    words: tuple[OutlineWord, ...]
    own_words: tuple[OutlineWord, ...]
    n_words: int
    documents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TreeOutline:
    """A tree as people look at it.

    Parameters
    ----------
    nodes : tuple of OutlineNode
        The branches that documents put mass on, parents before children; the root first.
    classes : tuple
        The labels, sorted.
    """

    nodes: tuple[OutlineNode, ...]
    classes: tuple[Any, ...]

    def children(self, node: int) -> list[OutlineNode]:
        """Return the branches right below a node, heaviest first."""
        return sorted((child for child in self.nodes if child.parent == node), key=lambda child: -child.mass)

    def main_class(self, node: OutlineNode) -> tuple[Any, float]:
        """Return the class with the largest share of a branch's mass, and that share."""
        code = int(np.argmax(node.classes))
        return self.classes[code], node.classes[code]


def tree_outline(
    metric: TreeMetric,
    X: Any,
    y: ArrayLike,
    words: Sequence[str],
    *,
    component: int = 0,
    n_words: int = 12,
    n_documents: int = 3,
) -> TreeOutline:
    """Collect what each branch of a tree holds.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts or weights; documents without a known word are passed over.
    y : array-like of shape (n_documents,)
        Labels.
    words : sequence of str, length n_words
        The words' names.
    component : int, default=0
        The tree to look at.
    n_words : int, default=12
        Most words to list for a branch.
    n_documents : int, default=3
        Most documents to list for a branch.

    Returns
    -------
    TreeOutline

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> outline = tree_outline(metric, [[2, 1, 0], [0, 0, 1]], ["pet", "car"], ["cat", "dog", "wheel"])
    >>> [(node.node, outline.main_class(node)[0], node.words[0].word) for node in outline.nodes[1:]]
    [(1, 'pet', 'cat'), (2, 'car', 'wheel')]
    """
    tree, labels = metric.component(component), np.asarray(y)
    masses = mass_units(metric, X, component)
    if labels.shape != (masses.shape[0],):
        raise ValueError(f"Expected one label per document ({masses.shape[0]}), got shape {labels.shape}.")
    if len(words) != metric.n_words:
        raise ValueError(f"Expected one name per word ({metric.n_words}), got {len(words)}.")
    known = np.flatnonzero(np.diff(masses.indptr))
    if not known.size:
        raise ValueError("Expected at least one document with a known word, got none.")
    classes, codes = np.unique(labels[known], return_inverse=True)
    by_class = class_means(masses[known], codes, len(classes))  # of shape (n_classes, n_words)
    means = by_class.mean(axis=0)
    on_nodes = np.zeros((tree.n_nodes, len(classes)))
    np.add.at(on_nodes, tree.word_nodes, by_class.T)
    below = tree.subtree_sums(on_nodes)
    documents = _documents(masses[known] @ subtree_matrix(tree), n_documents)
    nodes = [
        OutlineNode(
            node,
            int(tree.parents[node]),
            float(below[node].mean()),
            tuple((below[node] / below[node].sum()).tolist()),
            _heaviest(inside := tree.subtree_words(node), by_class, words, n_words),
            _heaviest(np.flatnonzero(tree.word_nodes == node), by_class, words, n_words),
            int((means[inside] > 0).sum()),
            tuple(known[documents[node]].tolist()),
        )
        for node in np.flatnonzero(below.sum(axis=1) > 0).tolist()
    ]
    return TreeOutline(tuple(nodes), tuple(classes.tolist()))


def _heaviest(
    places: NDArray[np.intp], by_class: NDArray[np.float64], words: Sequence[str], most: int
) -> tuple[OutlineWord, ...]:
    """Describe the heaviest of some words."""
    means = by_class[:, places].mean(axis=0)
    order = np.argsort(-means, kind="stable")[:most]
    found = []
    for place in order[means[order] > 0].tolist():
        shares = by_class[:, places[place]] / by_class[:, places[place]].sum()
        code = int(shares.argmax())
        found.append(OutlineWord(str(words[places[place]]), float(means[place]), code, float(shares[code])))
    return tuple(found)


def _documents(on_nodes: Any, most: int) -> list[NDArray[np.intp]]:
    """Find, for each node, the rows with most mass below it."""
    columns = on_nodes.tocsc()
    found = []
    for node in range(columns.shape[1]):
        span = slice(columns.indptr[node], columns.indptr[node + 1])
        found.append(columns.indices[span][np.argsort(-columns.data[span], kind="stable")[:most]])
    return found
