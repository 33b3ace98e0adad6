"""What all figures of the results page share: light ground, and the same bytes from the same rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treewass.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["new_picture", "plain_axes"]

_STYLE = {
    "svg.hashsalt": "treewass",
    "svg.fonttype": "path",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 8.5,
}


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
    matplotlib = require("matplotlib", purpose="treewass bench", extra="bench")
    figures = require("matplotlib.figure", purpose="treewass bench", extra="bench")
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
