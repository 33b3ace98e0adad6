"""Figures of the rows of ``treewass bench batch``: time by method, by batch size and by depth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from treewass.bench.results.drawing import new_picture, plain_axes
from treewass.bench.results.times import TITLES, Times
from treewass.bench.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_batch_times", "draw_depth_times", "draw_times"]

# Okabe and Ito's colours, told apart by colour-blind readers; markers tell the forms apart
_COLORS = {
    "wmd": "#000000",
    "wmd-sinkhorn": "#000000",
    "swmd": "#000000",
    "flowtree": "#CC79A7",
    "quadtree": "#D55E00",
    "tsw-1": "#56B4E9",
    "tsw-5": "#0072B2",
    "tsw-10": "#003a5c",
    "stw": "#009E73",
    "profile": "#E69F00",
}
_MARKERS = {"index": "o", "SciPy": "s", "dense torch": "^", "compiled merge": "D"}
_LINES = {"index": "-", "SciPy": "--", "dense torch": ":", "compiled merge": "-."}
_UNIT = "ms for 500 documents"


def draw_times(rows: Iterable[Row], path: str | os.PathLike[str], batch: int | str = 500) -> None:
    """Draw the time of every method, a panel for each set.

    Parameters
    ----------
    rows : iterable of Row
        Rows of the benchmark ``time``.
    path : path-like
        Where to write; the ending tells the format.
    batch : int or "all", default=500
        Batch size.
    """
    times = Times(rows)
    shown = [key for key in TITLES if any(times.find(name, *key, batch) for name in times.sets)]
    with new_picture(path, (10.0, 1.2 + 0.2 * len(shown) * _n_rows(times.sets))) as figure:
        for ax, name in _panels(figure, times.sets, share=True):
            for place, (method, form) in enumerate(shown):
                milliseconds = times.milliseconds(name, method, form, batch)
                if milliseconds is not None:
                    ax.plot(milliseconds, place, _MARKERS.get(form, "o"), color=_COLORS[method], markersize=6)
            ax.set_yticks(range(len(shown)), [_name(key) for key in shown])
            ax.set_ylim(len(shown) - 0.5, -0.5)
            ax.set_xscale("log")
        figure.supxlabel(f"{_UNIT}, one thread of a CPU, logarithmic")


def draw_batch_times(rows: Iterable[Row], path: str | os.PathLike[str], large: str = "amazon") -> None:
    """Draw the time by batch size: one set large, up to five others beside it.

    Parameters
    ----------
    rows, path
        As in `draw_times`.
    large : str, default="amazon"
        The set of the large panel; without rows of it, the first.
    """
    times = Times(rows)
    names = sorted(times.sets, key=lambda name: name != large)[:6]
    shown = [key for key in TITLES if any(len(times.by_batch(name, *key)) > 1 for name in names)]
    with new_picture(path, (10.0, 5.6)) as figure:
        small = [*names[1:6], *["."] * (6 - len(names)), "legend"]
        spots: Any = [["large", *small[start : start + 2]] for start in (0, 2, 4)]
        axes = figure.subplot_mosaic(spots, width_ratios=[1.5, 1, 1], sharex=True, sharey=True)
        for place, name in enumerate(names):
            ax = axes["large" if place == 0 else name]
            for key in shown:
                _draw_line(ax, times.by_batch(name, *key), key)
            ax.set_xscale("log")
            ax.tick_params(labelbottom=True, labelleft=True)
            _finish(ax, name)
        axes["large"].set_xlabel("documents compared at once")
        axes["large"].set_ylabel(f"{_UNIT}, one thread of a CPU")
        _legend(axes["legend"], axes["large"])


def draw_depth_times(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw the time by depth of the tree, a panel for each set; parameters as in `draw_times`."""
    times = Times(rows)
    with new_picture(path, (10.0, 0.8 + 2.5 * _n_rows(times.sets))) as figure:
        lines: dict[str, Any] = {}
        for ax, name in _panels(figure, times.sets, share=True):
            for method, form in TITLES:
                found = {depth: times.milliseconds(name, method, form, 500, depth) for depth in range(3, 7)}
                known = {depth: value for depth, value in found.items() if value is not None}
                if len(known) > 1:
                    lines[_name((method, form))] = _draw_line(ax, known, (method, form))
            ax.set_xticks(range(3, 7))
            _finish(ax, name)
        figure.supxlabel("depth of the tree (STW: of its internal nodes)")
        figure.supylabel(_UNIT)
        if lines:
            figure.legend(lines.values(), lines.keys(), loc="outside right center", frameon=False)


def _draw_line(ax: Axes, points: dict[int, float], key: tuple[str, str]) -> Any:
    style: dict[str, Any] = {
        "color": _COLORS[key[0]],
        "linestyle": _LINES.get(key[1], "-"),
        "marker": _MARKERS.get(key[1], "v"),
    }
    return ax.plot(list(points), list(points.values()), label=_name(key), markersize=4, linewidth=1.3, **style)[0]


def _finish(ax: Axes, name: str) -> None:
    ax.set_yscale("log")
    ax.set_title(name.upper())
    plain_axes(ax)


def _legend(ax: Axes, drawn: Axes) -> None:
    """Name the lines of other axes, in place of some."""
    ax.axis("off")
    ax.legend(*drawn.get_legend_handles_labels(), loc="center", frameon=False, ncols=1)


def _panels(figure: Figure, names: Sequence[str], share: bool) -> list[tuple[Axes, str]]:
    """Divide a figure into panels, three in a row."""
    n_columns = min(3, len(names))
    grid = figure.subplots(_n_rows(names), n_columns, squeeze=False, sharex=share, sharey=share).ravel()
    for ax in grid[len(names) :]:
        ax.axis("off")
    for ax, name in zip(grid, names, strict=False):
        ax.set_title(name.upper())
        plain_axes(ax)
    return list(zip(grid, names, strict=False))


def _n_rows(names: Sequence[str]) -> int:
    return max(1, -(-len(names) // 3))


def _name(key: tuple[str, str]) -> str:
    return TITLES[key].replace("**", "")
