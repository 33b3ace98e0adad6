"""The rows of ``batch`` as tables and figures: times by method, batch size and depth, and of one query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treewass_bench.datasets import PAPER_SETS
from treewass_bench.depth import FULL_DEPTHS
from treewass_bench.drawing import new_picture, plain_axes
from treewass_bench.layout import fold_long, in_paper_order, table
from treewass_bench.methods import METHODS
from treewass_bench.rows import Row, Value
from treewass_bench.timing import geometric_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "PUBLISHED_CPU",
    "TITLES",
    "Times",
    "batch_markdown",
    "cpu_markdown",
    "depth_time_markdown",
    "draw_batch_times",
    "draw_depth_times",
    "draw_times",
    "query_markdown",
    "time_markdown",
    "times_markdown",
]

# Milliseconds to compare one document with 500, the appendix's table, on an Intel Xeon E5-2690 v4
PUBLISHED_CPU = {
    "Quadtree, C++": dict(zip(PAPER_SETS, (0.13, 0.25, 0.16, 0.77, 0.39, 0.17), strict=True)),
    "STW, SciPy": dict(zip(PAPER_SETS, (1.78, 4.79, 3.77, 7.65, 6.42, 4.49), strict=True)),
}
TITLES = {
    ("wmd", "exact"): "WMD",
    ("wmd-sinkhorn", "Sinkhorn"): "WMD (Sinkhorn)",
    ("swmd", "exact, learned"): "S-WMD",
    ("flowtree", "flows"): "Flowtree",
    ("quadtree", "compiled merge"): "Quadtree, compiled merge",
    ("quadtree", "index"): "Quadtree, **treewass**",
    ("tsw-1", "SciPy"): "TSW-1, SciPy",
    ("tsw-1", "index"): "TSW-1, **treewass**",
    ("tsw-5", "SciPy"): "TSW-5, SciPy",
    ("tsw-5", "index"): "TSW-5, **treewass**",
    ("tsw-10", "SciPy"): "TSW-10, SciPy",
    ("tsw-10", "index"): "TSW-10, **treewass**",
    ("stw", "dense torch"): "STW, dense torch",
    ("stw", "SciPy"): "STW, SciPy",
    ("stw", "compiled merge"): "STW, compiled merge",
    ("stw", "index"): "STW, **treewass**",
    ("profile", "index"): "profile tree, **treewass**",
}
_CPU = (("quadtree", "compiled merge"), ("quadtree", "index"), *(key for key in TITLES if key[0] == "stw"))
_QUERY_TITLES = {
    "stw": "STW, **treewass**",
    "profile": "profile tree, **treewass**",
    "bow": "bag of words",
    "tfidf": "TF-IDF",
    "svm": "linear SVM",
    "logistic": "logistic regression",
}
_NOTE = (
    "All distances between one document and a batch, in ms for 500 documents; one thread of a CPU. In brackets: "
    "how many queries the mean is over, where there was no time for 100."
)
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


class Times:
    """The milliseconds for 500 documents, by what was compared.

    Attributes
    ----------
    sets : list of str
        Those with a row, in the paper's order.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        cases = [(row.case, row.measures) for row in rows if "batch" in row.case]
        self._measures = {
            (case["set"], case["method"], case["form"], case.get("depth"), case["batch"]): measures
            for case, measures in cases
        }
        self.sets = in_paper_order(str(case["set"]) for case, _ in cases)

    def find(
        self, name: str, method: str, form: str, batch: int | str = 500, depth: int | None = None
    ) -> Mapping[str, Value] | None:
        """Find the measures of a cell.

        Parameters
        ----------
        name, method, form : str
            As in the rows' cases.
        batch : int or "all", default=500
            Documents compared with.
        depth : int, optional
            Of the tree; the method's own by default.
        """
        return self._measures.get((name, method, form, depth or FULL_DEPTHS.get(method), batch))

    def milliseconds(
        self, name: str, method: str, form: str, batch: int | str = 500, depth: int | None = None
    ) -> float | None:
        """Find the milliseconds for 500 documents; parameters as in `find`."""
        measures = self.find(name, method, form, batch, depth)
        return None if measures is None else float(str(measures["ms_for_500"]))

    def by_batch(self, name: str, method: str, form: str) -> dict[int, float]:
        """List the milliseconds for 500 documents by batch size, ascending."""
        own = (name, method, form, FULL_DEPTHS.get(method))
        found = [measures for key, measures in self._measures.items() if key[:4] == own]
        return dict(sorted((int(str(one["documents"])), float(str(one["ms_for_500"]))) for one in found))


def times_markdown(rows: Iterable[Row]) -> str:
    """Lay all tables out, each below its heading.

    Parameters
    ----------
    rows : iterable of Row
        As `treewass_bench.times.time_cells` measures them.
    """
    rows = list(rows)
    parts = {
        "One document against 500": time_markdown(rows),
        "One document against the whole training set, for 500 documents": time_markdown(rows, "all"),
        "By batch size": batch_markdown(rows),
        "On the CPU, beside the published figures": cpu_markdown(rows),
        "By depth": depth_time_markdown(rows),
        "One query": query_markdown(rows),
    }
    return "\n".join(f"### {heading}\n\n{table}" for heading, table in parts.items() if table)


def time_markdown(rows: Iterable[Row], batch: int | str = 500) -> str:
    """Lay out the time of every method by set.

    Parameters
    ----------
    rows : iterable of Row
        Rows of the benchmark ``time``.
    batch : int or "all", default=500
        Batch size.

    Returns
    -------
    str
        Empty if there is no such row.

    Examples
    --------
    >>> case = {"set": "reuters", "method": "stw", "form": "index", "batch": 500, "depth": 5}
    >>> print(time_markdown([Row("time", case, {"ms_for_500": 0.02, "queries": 100}, "", environment={})]))
    All distances between one document and a batch, in ms for 500 documents; ...
    <BLANKLINE>
    | ms for 500 documents | REUTERS |
    |---|---|
    | STW, **treewass** | 0.0200 |
    <BLANKLINE>
    """
    times = Times(rows)
    lines = []
    for (method, form), title in TITLES.items():
        found = [times.find(name, method, form, batch) for name in times.sets]
        if any(found):
            lines.append((title, [_with_queries(measures) for measures in found]))
    return _table("ms for 500 documents", times.sets, lines, _NOTE)


def batch_markdown(rows: Iterable[Row], name: str = "amazon") -> str:
    """Lay out the time by batch size on one set; parameters and result as in `time_markdown`."""
    times = Times(rows)
    series = {key: times.by_batch(name, *key) for key in TITLES}
    sizes = sorted({size for own in series.values() for size in own})
    lines = [(TITLES[key], [_shown(own.get(size)) for size in sizes]) for key, own in series.items() if len(own) > 1]
    note = f"{name.upper()}: ms for 500 documents when so many are compared at once."
    return _table("ms for 500 documents", [str(size) for size in sizes], lines, note)


def cpu_markdown(rows: Iterable[Row]) -> str:
    """Lay out Quadtree and STW beside the published table of the appendix; as in `time_markdown`."""
    times = Times(rows)
    lines = []
    for key in _CPU:
        found = [times.milliseconds(name, *key) for name in times.sets]
        if any(value is not None for value in found):
            lines.append((TITLES[key], [_shown(value) for value in found]))
    if not lines:
        return ""
    for title, published in PUBLISHED_CPU.items():
        values = [f"{published[name]:.2f}" if name in published else "–" for name in times.sets]
        lines.append((f"published: {title}", values))
    note = (
        "The published times are of another machine (Intel Xeon E5-2690 v4) and of word vectors of 300 dimensions. The "
        "compiled merge of sorted rows stands for the C++ of Quadtree."
    )
    return _table("ms for 500 documents", times.sets, lines, note + _ratios(times))


def depth_time_markdown(rows: Iterable[Row]) -> str:
    """Lay out the time by depth of the tree; parameters and result as in `time_markdown`."""
    times = Times(rows)
    lines = []
    for (method, form), title in TITLES.items():
        for depth in range(3, 7):
            found = [times.milliseconds(name, method, form, 500, depth) for name in times.sets]
            if any(value is not None for value in found) and form in ("SciPy", "index"):
                lines.append((f"{title}, depth {depth}", [_shown(value) for value in found]))
    return _table("ms for 500 documents", times.sets, lines, "The depth of STW is that of its internal tree.")


def query_markdown(rows: Iterable[Row]) -> str:
    """Lay out the time of one query against whole training sets; parameters and result as in `time_markdown`."""
    cells = {(row.case["set"], row.case["method"]): row.measures for row in rows if "batch" not in row.case}
    sets = in_paper_order(str(name) for name, _ in cells)
    methods = [str(method) for method in dict.fromkeys(method for _, method in cells)]
    lines = []
    for method in methods:
        title = _QUERY_TITLES.get(method, METHODS[method].title)
        lines.append((title, [_with_queries(cells.get((name, method)), "query_ms") for name in sets]))
    note = (
        "One call for one document: the 19 nearest (an index or bounds), all distances (RWMD, Flowtree), or the "
        "decision of a linear model. In brackets: how many queries, where there was no time for 100."
    )
    return _table("ms a query", sets, lines, note)


def _ratios(times: Times) -> str:
    """Say how much longer two methods take than our STW, in the geometric mean over the sets that have all three."""
    keys = (("stw", "index"), ("stw", "SciPy"), ("quadtree", "compiled merge"))
    found = [[times.milliseconds(name, *key) for key in keys] for name in times.sets]
    whole = [[value for value in values if value] for values in found if all(values)]
    if not whole:
        return ""
    sparse, merged = (geometric_mean([values[place] / values[0] for values in whole]) for place in (1, 2))
    return (
        f" STW in SciPy takes {sparse:.3g} times as long as STW here, Quadtree by the compiled merge {merged:.3g} "
        f"times (geometric means over {len(whole)} sets)."
    )


def _with_queries(measures: Mapping[str, Value] | None, measure: str = "ms_for_500") -> str:
    if measures is None:
        return "–"
    queries = int(str(measures["queries"]))
    shown = _shown(float(str(measures[measure])))
    return shown if queries >= 100 else f"{shown} ({queries})"


def _shown(value: float | None) -> str:
    """Write three digits that count.

    Examples
    --------
    >>> _shown(0.01234), _shown(12.34), _shown(1234.5), _shown(None)
    ('0.0123', '12.3', '1234', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def _table(corner: str, columns: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]], note: str) -> str:
    if not lines:
        return ""
    return f"{note}\n\n{fold_long(corner, table(corner, [name.upper() for name in columns], lines))}"


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
