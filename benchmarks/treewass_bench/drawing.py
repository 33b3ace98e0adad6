"""Figures of benchmarks: the same rows give the same bytes, in colours that colour-blind readers tell apart."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from treewass.trees import Tree, TreeMetric

__all__ = [
    "BLUE",
    "GREEN",
    "INK",
    "LINES",
    "ORANGE",
    "draw_tree",
    "new_picture",
    "panels",
    "plain_axes",
    "save_figure",
    "set_panels",
]

INK, BLUE, GREEN, ORANGE, _GREY = "#1a1a1a", "#0072b2", "#009e73", "#d55e00", "#9aa0a6"
LINES = ((BLUE, "o", "-"), (ORANGE, "s", "--"), ("#cc79a7", "^", "-."), (GREEN, "D", ":"))  # colour, marker, dashes
_STYLE = {
    "svg.hashsalt": "treewass",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "legend.fontsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}


def panels(n_rows: int, n_columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Make a figure of several panels, without any window.

    Parameters
    ----------
    n_rows, n_columns : int
    size : tuple of float
        Width and height in inches.
    **options
        Of ``Figure.subplots``.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes
        Row after row.

    Examples
    --------
    >>> figure, axes = panels(2, 3, (9, 5))
    >>> len(axes)
    6
    """
    matplotlib = require("matplotlib", purpose="figures of benchmarks", extra="plot")
    figures = require("matplotlib.figure", purpose="figures of benchmarks", extra="plot")
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=size, layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    return figure, list(axes.ravel())


def set_panels(sets: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel for each text set, three in a row.

    Parameters
    ----------
    sets : sequence of str
        Their names, which become titles.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes
        As many as there are sets.

    Examples
    --------
    >>> figure, axes = set_panels(["twitter", "amazon", "classic", "bbcsport"])
    >>> [ax.get_title() for ax in axes]
    ['TWITTER', 'AMAZON', 'CLASSIC', 'BBCSPORT']
    """
    n_rows = -(-len(sets) // 3)
    figure, axes = panels(n_rows, min(len(sets), 3), (9.6, 0.8 + 2.3 * n_rows))
    for ax, name in zip(axes, sets, strict=False):
        ax.set_title(name.upper())
    for ax in axes[len(sets) :]:
        ax.set_visible(False)
    return figure, axes[: len(sets)]


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file; an SVG of the same drawing has the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : path-like
        The ending tells the format: ``.svg`` or ``.png``.
    """
    matplotlib = require("matplotlib", purpose="figures of benchmarks", extra="plot")
    kind = os.fspath(path).rpartition(".")[2]
    with matplotlib.rc_context(_STYLE):
        figure.savefig(path, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)


@contextmanager
def new_picture(path: str | os.PathLike[str], size: tuple[float, float]) -> Iterator[Figure]:
    """Make a figure of a size in inches, to be drawn on meanwhile, and write it to a file.

    Parameters
    ----------
    path : path-like
        The ending tells the format: ``.svg``, ``.png``.
    size : tuple of float
        Width and height.
    """
    matplotlib = require("matplotlib", purpose="figures of benchmarks", extra="plot")
    figures = require("matplotlib.figure", purpose="figures of benchmarks", extra="plot")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE}):
        figure: Any = figures.Figure(figsize=size, layout="constrained")
        yield figure
        described = {"Date": None} if os.fspath(path).endswith(".svg") else {}
        figure.savefig(path, dpi=150, metadata=described)


def plain_axes(ax: Axes) -> None:
    """Leave out the frame's upper and right side, and draw a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


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
    ax.plot([start[0], start[0], end[0]], [start[1], end[1], end[1]], color=_GREY, linewidth=1.1, zorder=1)


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
