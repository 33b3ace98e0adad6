"""The quadtree: cells of a randomly shifted grid, halved until each holds one point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treewass.compute.arguments import check_choice, shown
from treewass.trees.checks import check_points, random_stream
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CONVENTIONS", "quadtree"]

CONVENTIONS = ("backurs", "indyk-thaper")
_MOST_DEPTH = 50  # a float64 holds 53 binary digits
_BLOCK = 1 << 20
_BELOW_ONE = np.nextafter(1.0, 0.0)


def quadtree(
    vectors: ArrayLike,
    *,
    convention: str = "backurs",
    depth: int = 32,
    random_state: int | np.random.RandomState | None = 0,
) -> Tree:
    r"""Build a quadtree over points: the words of the tree.

    The root is a cube twice as wide as the points' largest extent, shifted at random so that it holds all of them.
    Cells are halved along every dimension; empty ones are left out, and a cell that holds one point, or points that
    are all equal, is not halved. The edge above a cell is as long as the cell's side. Then for every shift, with d
    dimensions and the Euclidean ground distance, :math:`W \le \sqrt{d} \, W_\mathcal{T}`, and the mean over shifts is
    at most :math:`2 L \sqrt{d} \, W`, where L is the number of levels below the root.

    Parameters
    ----------
    vectors : array-like of shape (n_words, n_dimensions)
        One point a word.
    convention : {"backurs", "indyk-thaper"}, default="backurs"
        What lies below the first cell that holds a word alone: nothing (Backurs et al. 2020), or the cells of all
        finer levels, down to the finest one that the tree needs (Indyk & Thaper 2003), so that all words lie equally
        deep and a word alone in a cell of side s has an edge of nearly 2 s instead of s.
    depth : int, default=32
        Levels below the root, at most 50. Distinct points that share a cell of the last level are set apart by edges
        of half its side.
    random_state : int, RandomState instance or None, default=0
        Chooses the shift.

    Returns
    -------
    Tree
        Equal points have distance zero. A chain of cells that each have one child is one node, whose edge is as long
        as the chain: distances are the same, and the tree has fewer nodes than words.

    References
    ----------
    Indyk and Thaper, Fast image retrieval via embeddings, 2003. Backurs, Dong, Indyk, Razenshteyn and Wagner,
    Scalable nearest neighbor search for optimal transport, ICML 2020.

    Examples
    --------
    >>> tree = quadtree([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 9.0]])
    >>> tree.n_words
    4
    >>> distances = tree.word_distances(0, [1, 2, 3])
    >>> bool(distances[0] < distances[1] == distances[2]), float(tree.word_distances(2, 3))
    (True, 0.0)
    """
    points = check_points(vectors)
    check_choice("convention", convention, CONVENTIONS)
    if not isinstance(depth, int | np.integer) or not 1 <= depth <= _MOST_DEPTH:
        raise ValueError(f"Expected depth as an integer from 1 to {_MOST_DEPTH}, got {shown(depth)}.")
    shift: NDArray[np.float64] = np.asarray(random_stream(random_state).uniform(size=points.shape[1]))
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high / 2 - low / 2).max()) * 2
    if not np.isfinite(4 * extent):  # paths are as long as that
        raise ValueError("Expected vectors whose extent fits a float64, got one that overflows. Scale them down.")
    nodes = _Nodes(len(points))
    if extent > 0:
        _halve(nodes, points, low, shift, 2 * extent, depth)
    return nodes.tree(finest=convention == "indyk-thaper")


@dataclass
class _Nodes:
    """A growing tree: nodes, and the words that have found their place."""

    n_words: int
    parents: list[NDArray[np.int64]] = field(default_factory=lambda: [np.array([-1])])
    lengths: list[NDArray[np.float64]] = field(default_factory=lambda: [np.ones(1)])
    count: int = 1
    finest_side: float = 0.0

    def __post_init__(self) -> None:
        self.word_nodes = np.zeros(self.n_words, dtype=np.int64)
        self.leaf_lengths = np.zeros(self.n_words)
        self.chained: list[tuple[NDArray[np.int64], float]] = []  # nodes whose edge grows by a side
        self.ended: list[tuple[NDArray[np.int64], float]] = []  # nodes of equal points, and their side

    def add(self, parents: NDArray[np.int64], side: float) -> NDArray[np.int64]:
        """Append cells of one side below nodes."""
        self.parents.append(parents)
        self.lengths.append(np.full(parents.size, side))
        self.count += parents.size
        return np.arange(self.count - parents.size, self.count)

    def tree(self, *, finest: bool) -> Tree:
        """Finish; with `finest`, lengthen what ends early by the cells down to the finest side."""
        lengths = np.concatenate(self.lengths)
        for nodes, side in self.chained:
            lengths[nodes] += side
        if finest:
            for nodes, side in self.ended:
                lengths[nodes] += side - self.finest_side
            alone = self.leaf_lengths > 0
            self.leaf_lengths[alone] += self.leaf_lengths[alone] - self.finest_side
        lengths[0] = 1.0  # the root's, which never counts
        return Tree(np.concatenate(self.parents), lengths, self.word_nodes, self.leaf_lengths)


def _halve(
    nodes: _Nodes,
    points: NDArray[np.float64],
    low: NDArray[np.float64],
    shift: NDArray[np.float64],
    side: float,
    depth: int,
) -> None:
    """Halve cells level by level, each time in one pass over the points that still share one."""
    active, cells = np.arange(len(points)), np.zeros(len(points), dtype=np.int64)
    step = max(1, _BLOCK // points.shape[1])
    blocks = [points[start : start + step] for start in range(0, len(points), step)]
    halves = np.concatenate([np.packbits(_scaled(block, low, side, shift) >= 0.5, axis=1) for block in blocks])
    fractions = np.empty((0, 0))
    for level in range(1, depth + 1):
        kept, cells = _divide(nodes, active, cells, halves, side * 0.5**level)
        active = active[kept]
        fractions = _scaled(points[active], low, side, shift) if level == 1 else fractions[kept]
        kept = _set_equal_aside(nodes, active, cells, points, side * 0.5**level)
        active, cells, fractions = active[kept], cells[kept], fractions[kept] * 2 % 1
        if not active.size:
            return
        halves = np.packbits(fractions >= 0.5, axis=1)
    rest = np.concatenate([fractions, points[active] + 0.0], axis=1)  # adding makes the two zeros one
    kept, cells = _divide(nodes, active, cells, rest.view(np.uint8), side * 0.5 ** (depth + 1))
    _set_equal_aside(nodes, active[kept], cells, points, side * 0.5 ** (depth + 1))


def _scaled(
    points: NDArray[np.float64], low: NDArray[np.float64], side: float, shift: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bring points into the root's cube, as fractions of its side: the binary digits tell the cell of each level."""
    fractions = points - low
    fractions /= side
    fractions += shift / 2
    return np.minimum(fractions, _BELOW_ONE, out=fractions)


def _divide(
    nodes: _Nodes, words: NDArray[np.intp], cells: NDArray[np.int64], parts: NDArray[np.uint8], side: float
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Divide cells by the part each word lies in; return which words are not alone yet, and their nodes."""
    keys = np.concatenate([cells[:, None].astype(np.int32).view(np.uint8), parts], axis=1)
    whole = keys.view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, group, sizes = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    group_nodes = cells[first]
    divided = np.bincount(group_nodes)[group_nodes] > 1
    nodes.chained.append((group_nodes[~divided], side))
    nodes.finest_side = side
    alone = sizes == 1
    nodes.word_nodes[words[first[alone]]] = group_nodes[alone]
    nodes.leaf_lengths[words[first[alone]]] = side
    group_nodes[divided & ~alone] = nodes.add(group_nodes[divided & ~alone], side)
    kept = ~alone[group]
    return kept, group_nodes[group[kept]]


def _set_equal_aside(
    nodes: _Nodes, words: NDArray[np.intp], cells: NDArray[np.int64], points: NDArray[np.float64], side: float
) -> NDArray[np.bool_]:
    """Hang words from their cell where all of its points are equal; return which words are left.

    The points themselves are compared: their places in the cube are rounded.
    """
    unique, first, group = np.unique(cells, return_index=True, return_inverse=True)
    differs = (points[words] != points[words[first[group]]]).any(axis=1)
    equal = np.bincount(group, differs, unique.size) == 0
    nodes.ended.append((unique[equal], side))
    nodes.word_nodes[words[equal[group]]] = cells[equal[group]]
    return np.asarray(~equal[group])
