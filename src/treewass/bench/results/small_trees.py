"""A picture of a small tree: every node a dot, every word named, edges as long as they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from treewass.bench.results.drawing import BLUE, GREEN, INK
from treewass.plot.colors import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from treewass.trees.metric import TreeMetric
    from treewass.trees.tree import Tree

__all__ = ["draw_tree"]


def draw_tree(ax: Axes, metric: TreeMetric, words: Sequence[str], *, telling: Collection[str] = ()) -> None:
    """Draw the first tree of a metric from left to right, in the colours of the paper's figure 1.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    metric : TreeMetric
        A word without mass is left out, and named below the tree.
    words : sequence of str, length n_words
        Their names.
    telling : collection of str
        Words in blue, which come first below their node; others are green and internal nodes black.
    """
    tree, masses = metric.trees[0], metric.masses[0]
    shown = [word for word in range(len(words)) if masses[word] > 0]
    shown.sort(key=lambda word: (words[word] not in telling, words[word]))
    depths = _depths(tree)
    heights, word_heights = _heights(tree, shown)
    far = max([float(depths[tree.word_nodes[word]] + tree.leaf_lengths[word]) for word in shown], default=1.0)
    for node in range(1, tree.n_nodes):
        parent = tree.parents[node]
        _edge(ax, (depths[parent], heights[parent]), (depths[node], heights[node]))
    for word in shown:
        node = tree.word_nodes[word]
        end = float(depths[node] + tree.leaf_lengths[word])
        _edge(ax, (depths[node], heights[node]), (end, word_heights[word]))
        color = BLUE if words[word] in telling else GREEN
        ax.plot([end], [word_heights[word]], "o", color=color, markersize=7, zorder=3)
        ax.annotate(words[word], (end, word_heights[word]), (7, 0), textcoords="offset points", va="center", color=INK)
    ax.plot(depths, heights, "o", color=INK, markersize=6, zorder=3)
    left_out = [words[word] for word in range(len(words)) if masses[word] <= 0]
    if left_out:
        text = f"without a vector: {', '.join(left_out)}"
        ax.text(0.5, -0.04, text, transform=ax.transAxes, ha="center", va="top", fontsize=8, color="#5f6368")
    ax.set_xlim(-0.06 * far, 1.55 * far)
    ax.set_ylim(min([*heights, *word_heights.values()]) - 0.6, 0.6)
    ax.set_axis_off()


def _edge(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an edge with a corner: its horizontal part is its length."""
    ax.plot([start[0], start[0], end[0]], [start[1], end[1], end[1]], color=GREY, linewidth=1.1, zorder=1)


def _depths(tree: Tree) -> NDArray[np.float64]:
    """Add up the edge lengths from the root to each node."""
    depths = np.zeros(tree.n_nodes)
    for node in range(1, tree.n_nodes):
        depths[node] = depths[tree.parents[node]] + tree.edge_lengths[node]
    return depths


def _heights(tree: Tree, words: Sequence[int]) -> tuple[NDArray[np.float64], dict[int, float]]:
    """Give each word, and each node without anything below it, a line of its own; others the middle of theirs."""
    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for node in range(1, tree.n_nodes):
        children[tree.parents[node]].append(node)
    own = {node: [word for word in words if tree.word_nodes[word] == node] for node in range(tree.n_nodes)}
    heights, word_heights = np.zeros(tree.n_nodes), dict[int, float]()
    line = 0.0

    def place(node: int) -> float:
        nonlocal line
        below = []
        for word in own[node]:
            word_heights[word] = -line
            below.append(-line)
            line += 1.0
        below += [place(child) for child in children[node]]
        if not below:
            below, line = [-line], line + 1.0
        heights[node] = (below[0] + below[-1]) / 2
        return float(heights[node])

    place(0)
    return heights, word_heights
