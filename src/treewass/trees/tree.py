"""A rooted tree with words as its leaves: an immutable, validated value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import cached_property
from treewass.trees.checks import check_lengths, check_nodes, check_parents, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Tree"]


@dataclass(frozen=True, eq=False, init=False)
class Tree:
    """A tree of internal nodes, with each word a leaf below one of them.

    Node 0 is the root and every node comes after its parent, so that the parents describe a tree
    (theorem 1 of the paper: a strictly upper triangular adjacency matrix with one parent per column).

    Parameters
    ----------
    parents : array-like of int, shape (n_nodes,)
        The parent of each internal node; ``parents[0] == -1`` marks the root, and ``parents[v] < v``.
    edge_lengths : array-like of float, shape (n_nodes,), optional
        Length of the edge from each internal node to its parent, one by default. The root's own entry
        never counts in a distance between documents of equal mass.
    word_nodes : array-like of int, shape (n_words,), optional
        The internal node that each word hangs from, the root included. None by default: no words.
    leaf_lengths : array-like of float, shape (n_words,), optional
        Length of the edge from each word to its node, one by default.

    Attributes
    ----------
    parents : ndarray of int32, shape (n_nodes,)
    edge_lengths : ndarray of float64, shape (n_nodes,)
    word_nodes : ndarray of int32, shape (n_words,)
    leaf_lengths : ndarray of float64, shape (n_words,)

    Examples
    --------
    A root with two branches; words 0 and 1 share the first, word 2 is alone on the second:

    >>> tree = Tree(parents=[-1, 0, 0], word_nodes=[1, 1, 2])
    >>> tree.n_nodes, tree.n_words, tree.depth
    (3, 3, 1)
    >>> tree.word_distances([0, 0], [1, 2])
    array([2., 4.])
    """

    parents: NDArray[np.int32]
    edge_lengths: NDArray[np.float64]  # w_v
    word_nodes: NDArray[np.int32]
    leaf_lengths: NDArray[np.float64]  # w_v of the leaves

    def __init__(
        self,
        parents: ArrayLike,
        edge_lengths: ArrayLike | None = None,
        word_nodes: ArrayLike | None = None,
        leaf_lengths: ArrayLike | None = None,
    ) -> None:
        checked_parents = check_parents(parents)
        nodes = check_nodes([] if word_nodes is None else word_nodes, checked_parents.size)
        object.__setattr__(self, "parents", checked_parents)
        object.__setattr__(self, "edge_lengths", check_lengths(edge_lengths, checked_parents.size, "edge_lengths"))
        object.__setattr__(self, "word_nodes", nodes)
        object.__setattr__(self, "leaf_lengths", check_lengths(leaf_lengths, nodes.size, "leaf_lengths"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree, (self.parents, self.edge_lengths, self.word_nodes, self.leaf_lengths)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            np.array_equal(self.parents, other.parents)
            and np.array_equal(self.edge_lengths, other.edge_lengths)
            and np.array_equal(self.word_nodes, other.word_nodes)
            and np.array_equal(self.leaf_lengths, other.leaf_lengths)
        )

    def __hash__(self) -> int:
        arrays = (self.parents, self.edge_lengths, self.word_nodes, self.leaf_lengths)
        return hash(tuple(array.tobytes() for array in arrays))

    def __repr__(self) -> str:
        return f"Tree(n_nodes={self.n_nodes}, n_words={self.n_words}, depth={self.depth})"

    def _repr_html_(self) -> str:
        """Return a card for a notebook: the nodes and words of each level."""
        from treewass.cards.rendering import card

        words = np.bincount(self.depths[self.word_nodes], minlength=self.depth + 1).tolist()
        most = max(words) or 1
        levels = [(len(level), count, count / most) for level, count in zip(self.levels, words, strict=True)]
        farthest = f"{self.word_root_distances.max(initial=0.0):.4g}"
        rows = [("nodes", self.n_nodes), ("words", self.n_words), ("farthest word from the root", farthest)]
        return card("figures", title="Tree over words", rows=rows, levels=levels)

    def with_words(self, word_nodes: ArrayLike, leaf_lengths: ArrayLike | None = None) -> Tree:
        """Return a tree of the same internal nodes with the given words instead.

        Parameters
        ----------
        word_nodes : array-like of int, shape (n_words,)
            The internal node that each word hangs from.
        leaf_lengths : array-like of float, shape (n_words,), optional
            Lengths of the words' edges, one by default.

        Examples
        --------
        >>> Tree([-1, 0]).with_words([0, 1, 1])
        Tree(n_nodes=2, n_words=3, depth=1)
        """
        return Tree(self.parents, self.edge_lengths, word_nodes, leaf_lengths)

    def scaled(self, factor: float) -> Tree:
        """Return the tree with every length multiplied by `factor`, and so every distance.

        Examples
        --------
        >>> Tree([-1], word_nodes=[0, 0]).scaled(3).word_distances(0, 1)
        array(6.)
        """
        return Tree(self.parents, self.edge_lengths * factor, self.word_nodes, self.leaf_lengths * factor)

    @property
    def n_nodes(self) -> int:
        """Number of internal nodes, the root included (the paper's N_in)."""
        return self.parents.size

    @property
    def n_words(self) -> int:
        """Number of words (the paper's N_leaf)."""
        return self.word_nodes.size

    @property
    def depth(self) -> int:
        """Number of edges from the root to its deepest internal node."""
        return int(self.depths.max())

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """Number of edges from the root to each internal node, shape (n_nodes,)."""
        depths = [0] * self.n_nodes
        for node, parent in enumerate(self.parents.tolist()[1:], start=1):
            depths[node] = depths[parent] + 1
        return frozen(np.array(depths, dtype=np.int32))

    @cached_property
    def levels(self) -> tuple[NDArray[np.intp], ...]:
        """The internal nodes at each depth, from the root down."""
        order = np.argsort(self.depths, kind="stable")
        bounds = np.cumsum(np.bincount(self.depths))[:-1]
        return tuple(frozen(level) for level in np.split(order, bounds))

    @cached_property
    def root_distances(self) -> NDArray[np.float64]:
        """Length of the path from the root to each internal node, shape (n_nodes,)."""
        distances = np.zeros(self.n_nodes)
        for level in self.levels[1:]:
            distances[level] = distances[self.parents[level]] + self.edge_lengths[level]
        return frozen(distances)

    @cached_property
    def word_root_distances(self) -> NDArray[np.float64]:
        """Length of the path from the root to each word, shape (n_words,)."""
        return frozen(self.root_distances[self.word_nodes] + self.leaf_lengths)

    @cached_property
    def subtree_intervals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and past-the-last position of each subtree in a depth-first order, each of shape (n_nodes,).

        Node u lies in the subtree of v if and only if ``start[v] <= start[u] < stop[v]``.
        """
        sizes = self.subtree_sums(np.ones(self.n_nodes, dtype=np.int64)).tolist()
        starts, free = [0] * self.n_nodes, [1] * self.n_nodes
        for node, parent in enumerate(self.parents.tolist()[1:], start=1):
            starts[node] = free[parent]
            free[parent] += sizes[node]
            free[node] = starts[node] + 1
        start = np.array(starts, dtype=np.int64)
        return frozen(start), frozen(start + sizes)

    def children(self, node: int) -> NDArray[np.intp]:
        """Return the internal nodes whose parent is `node`.

        Examples
        --------
        >>> Tree([-1, 0, 0, 1]).children(0)
        array([1, 2])
        """
        return np.flatnonzero(self.parents == self._known(node))

    def path(self, node: int) -> list[int]:
        """Return the nodes from `node` up to the root, both included.

        Examples
        --------
        >>> Tree([-1, 0, 0, 1]).path(3)
        [3, 1, 0]
        """
        path = [self._known(node)]
        while path[-1] != 0:
            path.append(int(self.parents[path[-1]]))
        return path

    def subtree(self, node: int) -> NDArray[np.intp]:
        """Return the internal nodes in the subtree of `node`, itself included (the paper's Γ).

        Examples
        --------
        >>> Tree([-1, 0, 0, 1]).subtree(1)
        array([1, 3])
        """
        start, stop = self.subtree_intervals
        node = self._known(node)
        return np.flatnonzero((start >= start[node]) & (start < stop[node]))

    def subtree_words(self, node: int) -> NDArray[np.intp]:
        """Return the words that hang anywhere below `node`.

        Examples
        --------
        >>> Tree([-1, 0, 0, 1], word_nodes=[3, 2, 1]).subtree_words(1)
        array([0, 2])
        """
        start, stop = self.subtree_intervals
        position = start[self.word_nodes]
        node = self._known(node)
        return np.flatnonzero((position >= start[node]) & (position < stop[node]))

    def subtree_sums(self, values: ArrayLike) -> NDArray[Any]:
        """Add up, for each node, the values of the nodes in its subtree, level by level.

        This is the product with :math:`(I - D_1)^{-1}` of equation (5), without ever forming it.

        Parameters
        ----------
        values : array-like of shape (n_nodes, ...)
            A value, or an array, per internal node.

        Returns
        -------
        ndarray of shape (n_nodes, ...)

        Examples
        --------
        >>> Tree([-1, 0, 0, 1]).subtree_sums([1, 2, 4, 8])
        array([15, 10,  4,  8])
        """
        sums = np.array(values)
        if sums.dtype.kind in "bi":
            sums = sums.astype(np.int64)
        if sums.ndim == 0 or sums.shape[0] != self.n_nodes:
            raise ValueError(f"Expected one value per internal node ({self.n_nodes}), got shape {sums.shape}.")
        for level in reversed(self.levels[1:]):
            np.add.at(sums, self.parents[level], sums[level])
        return sums

    def lowest_common_ancestors(self, first: ArrayLike, second: ArrayLike) -> NDArray[np.int32]:
        """Return the deepest node above (or equal to) both of two internal nodes, element by element.

        Parameters
        ----------
        first, second : array-like of int
            Internal nodes, of shapes that broadcast together.

        Examples
        --------
        >>> Tree([-1, 0, 0, 1, 1]).lowest_common_ancestors([3, 3, 2], [4, 2, 2])
        array([1, 0, 2], dtype=int32)
        """
        lower, upper = np.broadcast_arrays(check_nodes(first, self.n_nodes), check_nodes(second, self.n_nodes))
        lower, upper = lower.copy(), upper.copy()
        while (apart := lower != upper).any():  # the larger number is never an ancestor of the smaller
            climb_lower = apart & (lower > upper)
            climb_upper = apart & (upper > lower)
            lower[climb_lower] = self.parents[lower[climb_lower]]
            upper[climb_upper] = self.parents[upper[climb_upper]]
        return lower

    def node_distances(self, first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
        """Return the path length between two internal nodes, element by element.

        Computed from the lengths of the paths to the root, so to within rounding of those.

        Examples
        --------
        >>> Tree([-1, 0, 0], edge_lengths=[1, 2, 5]).node_distances(1, 2)
        array(7.)
        """
        meeting = self.lowest_common_ancestors(first, second)
        distances = self.root_distances
        return np.asarray(distances[np.asarray(first)] + distances[np.asarray(second)] - 2 * distances[meeting])

    def word_distances(self, first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
        """Return the tree distance between two words, element by element.

        Parameters
        ----------
        first, second : array-like of int
            Word numbers, of shapes that broadcast together.

        Examples
        --------
        >>> tree = Tree([-1, 0, 0], word_nodes=[1, 1, 2], leaf_lengths=[1, 2, 3])
        >>> words = np.arange(3)
        >>> tree.word_distances(words[:, None], words)
        array([[0., 3., 6.],
               [3., 0., 7.],
               [6., 7., 0.]])
        """
        one, other = check_nodes(first, self.n_words, "words"), check_nodes(second, self.n_words, "words")
        between = self.node_distances(self.word_nodes[one], self.word_nodes[other])
        return np.asarray(np.where(one == other, 0.0, between + self.leaf_lengths[one] + self.leaf_lengths[other]))

    def _known(self, node: int) -> int:
        """Refuse the number of a node that does not exist."""
        return int(check_nodes(node, self.n_nodes))
