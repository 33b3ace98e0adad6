"""Tables of the rows of ``treewass bench batch``: by method, batch size and depth, on the CPU, one query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from treewass.bench.datasets import PAPER_SETS
from treewass.bench.depth import FULL_DEPTHS
from treewass.bench.results.layout import in_paper_order, table
from treewass.bench.rows import Row, Value
from treewass.bench.speed_timing import geometric_mean
from treewass.methods import METHODS

__all__ = [
    "PUBLISHED_CPU",
    "TITLES",
    "Times",
    "batch_markdown",
    "cpu_markdown",
    "depth_time_markdown",
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


class Times:
    """The milliseconds for 500 documents, by what was compared.

    Parameters
    ----------
    rows : iterable of Row
        Rows of the benchmark ``time``; those of other measures than batches are passed over.

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
        As `treewass.bench.times.time_cells` measures them.

    Returns
    -------
    str
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
    | ms for 500 documents | REUTERS |
    |---|---|
    | STW, **treewass** | 0.0200 |
    ...
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
    return f"{table(corner, [name.upper() for name in columns], lines)}\n{note}\n"
