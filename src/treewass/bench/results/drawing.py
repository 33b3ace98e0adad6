"""Figures of benchmarks: the same rows give the same bytes, in colours that colour-blind readers tell apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treewass.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREEN", "INK", "LINES", "ORANGE", "panels", "save_figure", "set_panels"]

INK, BLUE, GREEN, ORANGE = "#1a1a1a", "#0072b2", "#009e73", "#d55e00"
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

    Yields
    ------
    matplotlib.figure.Figure
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
