"""What the branches of a tree say: which classes put their mass below a node, and on which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.trees.embedding import MASS_BITS, mass_units
from treewass.trees.matrices import subtree_matrix
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = [
    "Branch",
    "BranchMasses",
    "OutlineNode",
    "OutlineWord",
    "TreeOutline",
    "by_telling",
    "class_means",
    "ranked",
    "stands_out",
    "telling_branches",
    "tree_outline",
]

_CLEARLY_MORE = 1.5
_TELLING = 0.2  # of the way from even shares to one class alone: a branch below it is mixed


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

    def told_first(self, node: int) -> list[OutlineNode]:
        """Return the branches right below a node, those first that tell most about a class by their mass."""
        told, mixed = self.told_and_mixed(node)
        return told + mixed

    def told_and_mixed(self, node: int) -> tuple[list[OutlineNode], list[OutlineNode]]:
        """Part the branches right below a node: those in which a class stands out, and the others if there are any."""
        children = [child for child in self.nodes if child.parent == node]
        if not children:
            return [], []
        order, n_told = by_telling([child.mass for child in children], [child.classes for child in children])
        ordered = [children[place] for place in order]
        return ordered[:n_told], ordered[n_told:]

    def main_class(self, node: OutlineNode) -> tuple[Any, float]:
        """Return the class with the largest share of a branch's mass, and that share."""
        code = int(np.argmax(node.classes))
        return self.classes[code], node.classes[code]

    def _repr_html_(self) -> str:
        """Return a card for a notebook: the first levels of the tree, to unfold."""
        from treewass.cards.rendering import card, class_colors

        return card("outline", found=self, colors=class_colors(self.classes))


class BranchMasses:
    """The mass that the documents of each class put on the words of a tree and below its nodes.

    Every class counts the same, whatever its number of documents. Documents without a known word are left out.

    Attributes
    ----------
    masses : csr_array of shape (n_documents, n_words)
        As `mass_units` makes them.
    known : ndarray of int
        Rows of the documents with a known word.
    classes : list
        Their labels, sorted.
    on_words, below_nodes : ndarray of shape (n_classes, n_words) and (n_nodes, n_classes)
        Mean mass of a document on each word, and below each node.
    """

    def __init__(self, metric: TreeMetric, X: Any, y: ArrayLike, component: int = 0) -> None:
        self.tree = metric.component(component)
        self.masses = mass_units(metric, X, component)
        labels = np.asarray(y)
        if labels.shape != (self.masses.shape[0],):
            raise ValueError(f"Expected one label per document ({self.masses.shape[0]}), got shape {labels.shape}.")
        self.known = np.flatnonzero(np.diff(self.masses.indptr))
        classes, codes = np.unique(labels[self.known], return_inverse=True)
        self.classes: list[Any] = classes.tolist()
        self.on_words = class_means(self.masses[self.known], codes, classes.size)
        on_nodes = np.zeros((self.tree.n_nodes, classes.size))
        np.add.at(on_nodes, self.tree.word_nodes, self.on_words.T)
        self.below_nodes = self.tree.subtree_sums(on_nodes)

    def mass(self, node: int) -> float:
        """Return the mean mass of a document below a node, over classes."""
        return float(self.below_nodes[node].mean()) if self.classes else 0.0

    def shares(self, node: int) -> list[tuple[Any, float]]:
        """List the classes by their share of the mass below a node, those without any left out."""
        total = self.below_nodes[node].sum()
        return ranked(self.classes, self.below_nodes[node] / total) if total else []

    def heaviest(self, words: NDArray[np.intp]) -> list[tuple[int, float]]:
        """List words by the mean mass of a document on them, over classes, those without any left out."""
        return ranked(words.tolist(), self.on_words[:, words].mean(axis=0)) if self.classes else []


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
    if n_branches < 0 or n_words < 0:
        raise ValueError(f"Expected n_branches and n_words of at least 0, got {n_branches} and {n_words}.")
    found = BranchMasses(metric, X, y, component)
    if not found.classes:
        return []
    scores = _scores(found.below_nodes)
    chosen = sorted(_cut(found.tree, scores), key=lambda node: -scores[node])[:n_branches]
    return [
        Branch(
            node,
            tuple(found.shares(node)),
            tuple(found.heaviest(found.tree.subtree_words(node))[:n_words]),
            found.mass(node),
            float(scores[node]),
        )
        for node in chosen
    ]


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
    if len(words) != metric.n_words:
        raise ValueError(f"Expected one name per word ({metric.n_words}), got {len(words)}.")
    found = BranchMasses(metric, X, y, component)
    if not found.classes:
        raise ValueError("Expected at least one document with a known word, got none.")
    tree, below = found.tree, found.below_nodes
    documents = _documents(found.masses[found.known] @ subtree_matrix(tree), n_documents)
    nodes = [
        OutlineNode(
            node,
            int(tree.parents[node]),
            found.mass(node),
            tuple((below[node] / below[node].sum()).tolist()),
            _outline_words(found, (inside := found.heaviest(tree.subtree_words(node)))[:n_words], words),
            _outline_words(found, found.heaviest(np.flatnonzero(tree.word_nodes == node))[:n_words], words),
            len(inside),
            tuple(found.known[documents[node]].tolist()),
        )
        for node in np.flatnonzero(below.sum(axis=1) > 0).tolist()
    ]
    return TreeOutline(tuple(nodes), tuple(found.classes))


def by_telling(masses: ArrayLike, shares: ArrayLike) -> tuple[NDArray[np.intp], int]:
    """Order branches by how far a class stands out, and by their mass; say in how many of them one does.

    Where a class stands out in none, they are said to tell all the same: there is nothing to hold them against.

    Examples
    --------
    >>> by_telling([0.7, 0.1, 0.2], [[0.5, 0.5], [1.0, 0.0], [0.1, 0.9]])
    (array([2, 1, 0]), 2)
    """
    sizes, parts = np.asarray(masses, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    n_classes = parts.shape[1]
    largest = parts.max(axis=1, initial=0.0)
    is_told = np.asarray(stands_out(largest, n_classes))
    by_mass_above_even = -sizes * (largest - 1 / max(n_classes, 1))
    return np.lexsort((-sizes, by_mass_above_even, ~is_told)), int(is_told.sum()) or sizes.size


def stands_out(share: Any, n_classes: int) -> Any:
    """Tell whether the largest share of a class, or each of an array of them, is clearly more than an even one."""
    even = 1 / max(n_classes, 1)
    return share - even > _TELLING * (1 - even)


def class_means(masses: csr_array, codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Average the masses of documents by class, shape (n_classes, n_words)."""
    from scipy.sparse import csr_array

    shares = np.ldexp(1 / np.bincount(codes, minlength=n_classes)[codes], -MASS_BITS)
    membership = csr_array((shares, (codes, np.arange(codes.size))), shape=(n_classes, codes.size))
    means: NDArray[np.float64] = (membership @ masses).toarray()
    return means


def ranked(items: Sequence[Any], values: NDArray[np.float64]) -> list[tuple[Any, float]]:
    """Pair items with their values, largest first, those at zero left out."""
    order = np.argsort(-values, kind="stable")
    return [(items[place], float(values[place])) for place in order.tolist() if values[place] > 0]


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


def _outline_words(
    found: BranchMasses, heaviest: list[tuple[int, float]], words: Sequence[str]
) -> tuple[OutlineWord, ...]:
    """Describe words with their mass by the class that uses each most."""
    described = []
    for word, mass in heaviest:
        shares = found.on_words[:, word] / found.on_words[:, word].sum()
        code = int(shares.argmax())
        described.append(OutlineWord(str(words[word]), mass, code, float(shares[code])))
    return tuple(described)


def _documents(on_nodes: Any, most: int) -> list[NDArray[np.intp]]:
    """Find, for each node, the rows with most mass below it."""
    columns = on_nodes.tocsc()
    found = []
    for node in range(columns.shape[1]):
        span = slice(columns.indptr[node], columns.indptr[node + 1])
        found.append(columns.indices[span][np.argsort(-columns.data[span], kind="stable")[:most]])
    return found
