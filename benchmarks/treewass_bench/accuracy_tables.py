"""The rows of ``accuracy`` as tables and a figure: errors, votes, and what each method costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass_bench.accuracy import PROTOCOL
from treewass_bench.datasets import PAPER_SETS
from treewass_bench.drawing import BLUE, GREEN, ORANGE, panels, save_figure
from treewass_bench.layout import figure, mean_figure, table
from treewass_bench.methods import METHODS
from treewass_bench.rows import Row
from treewass_bench.timing import geometric_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PUBLISHED_ERRORS",
    "SPLITS",
    "TABLE_3",
    "Summary",
    "accuracy_markdown",
    "cost_markdown",
    "draw_error_and_time",
    "drawn_note",
    "error_markdown",
    "machines_markdown",
    "summarize",
    "vote_markdown",
]

SPLITS = {"twitter": 5, "amazon": 5, "classic": 5, "bbcsport": 5, "docstrings": 5}  # one of every other set
_TREES = ("quadtree", "flowtree", *(f"tsw-{n}{words}" for words in ("-clusters", "") for n in (1, 5, 10)), "stw")
_OURS = ("profile-fallback", "profile-neighbors", "profile")
TABLE_3 = (
    "wmd",
    "swmd",
    *_TREES,
    "rwmd",
    "bow",
    "tfidf",
    "tfidf-distance",
    *_OURS,
    "svm",
    "svm-pairs",
    "logistic",
    "minilm",
    "minilm-logistic",
    "static",
    "static-logistic",
)
_OWN_VOTES = ("profile", "profile-neighbors", "tfidf-distance")  # calibrated
_COLORS = {"profile": ORANGE, "tree metric": BLUE, "distance": GREEN}
_OTHER_COLOR = "#666666"
_SHAPES = "os^Dv<>Pph*X"
_SHOWN = (
    "tfidf",
    "stw",
    "stw-default",
    "stw-lars",
    "profile-fallback",
    "profile-neighbors",
    "profile",
    "svm",
    "svm-pairs",
    "logistic",
)
_MEASURES = {"log_loss": "log-loss", "calibration_error": "calibration error, 15 bins", "macro_f1": "macro-F1"}


@dataclass(frozen=True, slots=True)
class Summary:
    """The rows of a method on a set, over splits.

    Parameters
    ----------
    errors : tuple of float
        In per cent, by split.
    means : mapping
        Mean of each measure over the splits that have it; None if none has.
    few_splits : bool
        Whether the set has more splits than were measured.
    drawn : int or None
        Test documents drawn, where not all were taken.
    """

    errors: tuple[float, ...]
    means: Mapping[str, float | None]
    few_splits: bool
    drawn: int | None

    @property
    def shown(self) -> str:
        """The error with its deviation over splits, and marks for what was cut."""
        return mean_figure(self.errors) + "†" * self.few_splits + "‡" * (self.drawn is not None)


Summaries = Mapping[tuple[str, str], Summary]


def summarize(rows: Iterable[Row]) -> dict[tuple[str, str], Summary]:
    """Gather rows of ``bench accuracy`` by set and method.

    Parameters
    ----------
    rows : iterable of Row
        Those of a configuration that a method no longer has are left out, and those on drawn test documents where there
        are others.

    Returns
    -------
    dict
        Summaries by set and method.
    """
    members: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        method = str(row.case["method"])
        if method in METHODS and row.case.get("configuration", _settings(method)) == _settings(method):
            members.setdefault((str(row.case["set"]), method), []).append(row)
    found = {}
    for (name, method), mixed in members.items():
        own = [row for row in mixed if "test_documents" not in row.case] or mixed
        errors = tuple(float(str(row.measures["error_percent"])) for row in own)
        means = {measure: _mean(own, measure) for measure in own[-1].measures}
        means["peak_megabytes"] = _mean([row for row in own if row.protocol == PROTOCOL], "peak_megabytes")
        drawn = own[0].case.get("test_documents")
        few = len({row.case["split"] for row in own}) < SPLITS.get(name, 1)
        found[name, method] = Summary(errors, means, few, None if drawn is None else int(drawn))
    return found


def error_markdown(
    rows: Iterable[Row], methods: Sequence[str] = TABLE_3, sets: Sequence[str] = PAPER_SETS, published: bool = True
) -> str:
    """Lay errors out, methods down and sets across, the published figure in brackets.

    Parameters
    ----------
    rows : iterable of Row
        As ``bench accuracy`` makes them.
    methods, sets : sequence of str
        In the order of the table; methods without a row are left out.
    published : bool, default=True
        Whether the paper's figures stand beside ours.
    """
    found = summarize(rows)
    lines = []
    for method in _measured(found, methods, sets):
        cells = [found[name, method].shown if (name, method) in found else "–" for name in sets]
        if published and (theirs := PUBLISHED_ERRORS.get(method.removesuffix("-clusters"))):
            cells = [f"{cell} ({theirs[name]})" for cell, name in zip(cells, sets, strict=True)]
        lines.append((METHODS[method].title, cells))
    return table("test error in %", [name.upper() for name in sets], lines)


def drawn_note(rows: Iterable[Row], methods: Sequence[str] = TABLE_3, sets: Sequence[str] = PAPER_SETS) -> str:
    """Say how exact the errors on drawn test documents are, the lowest and the highest of them.

    Examples
    --------
    >>> case = {"set": "reuters", "split": 0, "method": "wmd", "test_documents": 300}
    >>> drawn_note([Row("accuracy", case, {"error_percent": 5.0}, "", environment={})])
    '300 test documents per split, drawn with seed 0. On one split the standard error of 5.0 % is 1.3 points.'
    """
    chosen = [own for (name, method), own in summarize(rows).items() if name in sets and method in methods]
    errors = sorted({(float(np.mean(own.errors)), own.drawn) for own in chosen if own.drawn is not None})
    if not errors:
        return ""
    said = [
        f"of {error:.1f} % is {(error * (100 - error) / drawn) ** 0.5:.1f} points"
        for error, drawn in dict.fromkeys((errors[0], errors[-1]))
    ]
    return (
        f"{errors[0][1]} test documents per split, drawn with seed 0. On one split the standard error "
        f"{' and that '.join(said)}."
    )


def vote_markdown(rows: Iterable[Row], methods: Sequence[str] = TABLE_3, sets: Sequence[str] = PAPER_SETS) -> str:
    """Lay out the errors of the same neighbours when nearer ones count more, by one rule for all methods."""
    methods = [method for method in methods if method not in _OWN_VOTES]
    return _means_markdown(rows, methods, sets, "distance_vote_error_percent", "error with distance votes, %", ".1f")


def cost_markdown(rows: Iterable[Row], methods: Sequence[str] = TABLE_3, sets: Sequence[str] = PAPER_SETS) -> str:
    """Lay out what each method costs: CPU time of the fit, memory, size of the model."""
    rows = list(rows)
    tables = (
        ("fit_seconds", "fit, CPU seconds", ".1f"),
        ("peak_megabytes", "peak memory of fit and test, MB", ".0f"),
        ("model_megabytes", "fitted model, MB", ".1f"),
    )
    return "\n".join(_means_markdown(rows, methods, sets, *table) for table in tables)


def machines_markdown(rows: Iterable[Row], methods: Sequence[str] = TABLE_3) -> str:
    """List on which days and processors the rows of which methods were measured.

    Examples
    --------
    >>> case, measured = {"set": "reuters", "split": 0}, {"date": "2026-11-18", "processor": "one"}
    >>> rows = [Row("accuracy", case | {"method": method}, {}, "", measured) for method in ("tfidf", "bow")]
    >>> print(machines_markdown(rows))
    - 2026-11-18, one: bag of words, L1, k = 19 fall-back; TF-IDF, L1, k = 19 fall-back
    <BLANKLINE>
    """
    found: dict[str, list[str]] = {}
    rows = list(rows)
    for method in methods:
        own = [row for row in rows if row.case["method"] == method]
        dates = sorted({str(row.environment.get("date") or "before") for row in own})
        processors = sorted({str(row.environment.get("processor")) for row in own})
        if own:
            found.setdefault(f"{' and '.join(dates)}, {' and '.join(processors)}", []).append(METHODS[method].title)
    return "".join(f"- {where}: {'; '.join(titles)}\n" for where, titles in sorted(found.items()))


def draw_error_and_time(rows: Iterable[Row], times: Iterable[Row], path: Path) -> None:
    """Draw error against the time of one query, a panel a set.

    Parameters
    ----------
    rows : iterable of Row
        Of ``bench accuracy``.
    times : iterable of Row
        Of ``bench batch``: those of one query against the whole training set.
    path : Path
        Where to write the figure.
    """
    found = summarize(rows)
    queries = {(str(row.case["set"]), str(row.case["method"])): row.measures["query_ms"] for row in times}
    both = queries.keys() & found.keys()
    methods = [method for method in TABLE_3 if any((name, method) in both for name in PAPER_SETS)]
    drawing, axes = panels(2, 3, (11.0, 7.6))
    for name, ax in zip(PAPER_SETS, axes, strict=True):
        points = {
            method: (float(str(queries[name, method])), float(np.mean(found[name, method].errors)))
            for method in methods
            if (name, method) in both
        }
        _draw_panel(ax, name.upper(), points)
    handles = [axes[0].plot([], [], ls="", ms=6, **_mark(method))[0] for method in methods]
    titles = [METHODS[method].title.replace("**", "").replace(", k = 19 fall-back", "") for method in methods]
    drawing.legend(handles, titles, loc="outside upper center", ncols=5, frameon=False)
    drawing.supxlabel("time of one query against the training set, ms, one thread", fontsize=9)
    drawing.supylabel("test error in %", fontsize=9)
    save_figure(drawing, path)


def _draw_panel(ax: Axes, title: str, points: Mapping[str, tuple[float, float]]) -> None:
    """Draw the points of a set."""
    ax.set_title(title)
    ax.set_visible(bool(points))
    ax.set_xscale("log")
    for method, (milliseconds, error) in points.items():
        ax.plot(milliseconds, error, ls="", ms=7, alpha=0.85, **_mark(method))
    ax.margins(0.08, 0.1)


def _mark(method: str) -> dict[str, Any]:
    """Choose colour and shape of a method: its kind, and its place among those of its kind."""
    kind = "profile" if method.startswith("profile") else METHODS[method].kind
    alike = [other for other in TABLE_3 if METHODS[other].kind == METHODS[method].kind]
    return {"color": _COLORS.get(kind, _OTHER_COLOR), "marker": _SHAPES[alike.index(method) % len(_SHAPES)]}


def _measured(found: Summaries, methods: Sequence[str], sets: Sequence[str]) -> list[str]:
    return [method for method in methods if any((name, method) in found for name in sets)]


def _means_markdown(
    rows: Iterable[Row], methods: Sequence[str], sets: Sequence[str], measure: str, corner: str, form: str
) -> str:
    found = summarize(rows)
    lines = []
    for method in _measured(found, methods, sets):
        values = [_of(found, name, method, measure) for name in sets]
        if any(value is not None for value in values):
            lines.append((_plain_title(method), [figure(value, form) for value in values]))
    return table(corner, [name.upper() for name in sets], lines)


def _mean(rows: Sequence[Row], measure: str) -> float | None:
    values = [value for row in rows if isinstance(value := row.measures.get(measure), int | float)]
    return float(np.mean(values)) if values else None


def _plain_title(method: str) -> str:
    """Name a method where its vote does not matter."""
    return METHODS[method].title.replace(", k = 19 fall-back", "")


def _settings(method: str) -> str:
    return METHODS[method].configuration


def _errors(*values: str) -> dict[str, str]:
    return dict(zip(PAPER_SETS, values, strict=True))


# Table 3: kNN test error in per cent; WMD and S-WMD as Huang et al. 2016 gave them, k chosen among 1 to 19.
PUBLISHED_ERRORS = {
    "wmd": _errors("28.7 ± 0.6", "7.4 ± 0.3", "2.8 ± 0.1", "4.6 ± 0.7", "44.5", "3.5"),
    "swmd": _errors("27.5 ± 0.5", "5.8 ± 0.1", "3.2 ± 0.2", "2.1 ± 0.5", "34.3", "3.2"),
    "quadtree": _errors("30.4 ± 0.8", "10.7 ± 0.3", "4.1 ± 0.4", "4.5 ± 0.5", "44.0", "5.2"),
    "flowtree": _errors("29.8 ± 0.9", "9.9 ± 0.3", "5.6 ± 0.6", "4.7 ± 1.1", "44.4", "4.7"),
    "tsw-1": _errors("30.2 ± 1.3", "14.5 ± 0.6", "5.5 ± 0.5", "12.4 ± 1.9", "58.4", "7.5"),
    "tsw-5": _errors("29.5 ± 1.1", "9.2 ± 0.1", "4.1 ± 0.4", "11.9 ± 1.3", "51.7", "5.8"),
    "tsw-10": _errors("29.3 ± 1.0", "8.9 ± 0.5", "4.1 ± 0.6", "11.4 ± 0.9", "51.1", "5.4"),
    "stw": _errors("28.9 ± 0.7", "10.1 ± 0.7", "4.4 ± 0.7", "3.4 ± 0.8", "40.2", "4.4"),
}


def accuracy_markdown(rows: Iterable[Row], methods: Sequence[str] = _SHOWN) -> str:
    """Lay rows out: errors by method and set, then the other measures, then our error over the SVM's.

    Parameters
    ----------
    rows : iterable of Row
        As `bench_accuracy` makes them.
    methods : sequence of str
        Names of `treewass_bench.methods.METHODS`, in the order of the table; those without rows are left out.

    Examples
    --------
    >>> def row(method, error):
    ...     case = {"set": "reuters", "split": 0, "method": method, "vote": ""}
    ...     return Row("accuracy", case, {"error_percent": error}, "", environment={})
    >>> print(accuracy_markdown([row("profile", 2.0), row("svm", 2.5)]).splitlines()[2])
    | **treewass**, default | 2.0 |
    """
    found = summarize(rows)
    sets = list(dict.fromkeys(name for name, _ in found))
    columns = [name if name == "docstrings" else name.upper() for name in sets]
    methods = _measured(found, methods, sets)
    errors = [
        (
            METHODS[method].title,
            [found[name, method].shown if (name, method) in found else "–" for name in sets],
        )
        for method in methods
    ]
    for method, title in (("stw", "published STW"), ("swmd", "published S-WMD")):
        errors.append((title, [PUBLISHED_ERRORS[method].get(name, "–").split(" ")[0] for name in sets]))
    others = []
    for measure, title in _MEASURES.items():
        for method in (name for name in ("profile", "logistic", "svm") if name in methods):
            values = [_of(found, name, method, measure) for name in sets]
            if any(value is not None for value in values):
                others.append((f"{title}, {METHODS[method].title}", [figure(value, ".3f") for value in values]))
    return "\n".join([table("test error in %", columns, errors), table("", columns, others), *_ratios(found)]) + "\n"


def _ratios(found: Summaries) -> list[str]:
    """Say the geometric mean of our error over the SVM's."""
    lines = []
    others = tuple(name for name in PAPER_SETS if name != "bbcsport")
    for title, sets in (("the six sets", PAPER_SETS), ("these without BBCSPORT", others)):
        pairs = [[found.get((name, method)) for method in ("profile", "svm")] for name in sets]
        ratios = [float(np.mean(ours.errors) / np.mean(theirs.errors)) for ours, theirs in pairs if ours and theirs]
        if len(ratios) == len(sets):
            lines.append(f"Geometric mean of our error over the SVM's, {title}: {geometric_mean(ratios):.3f}.")
    return lines


def _of(found: Summaries, name: str, method: str, measure: str) -> float | None:
    return found[name, method].means.get(measure) if (name, method) in found else None
