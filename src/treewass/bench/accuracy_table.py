"""The rows of ``treewass bench accuracy`` as the Markdown tables that stand in the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from treewass.bench.accuracy import mean_rows
from treewass.bench.datasets import PAPER_SETS
from treewass.bench.results.published import PUBLISHED_ERRORS
from treewass.bench.rows import Row, Value
from treewass.methods import METHODS

__all__ = ["accuracy_markdown"]

Measures = Mapping[str, Value]

_SHOWN = ("tfidf", "stw", "stw-default", "stw-lars", "profile-fallback", "profile", "svm", "logistic")
_MEASURES = {"log_loss": "log-loss", "calibration_error": "calibration error, 15 bins", "macro_f1": "macro-F1"}


def accuracy_markdown(rows: Iterable[Row], methods: Sequence[str] = _SHOWN) -> str:
    """Lay rows out: errors by method and set, then the other measures, then our error over the SVM's.

    Parameters
    ----------
    rows : iterable of Row
        As `bench_accuracy` makes them.
    methods : sequence of str
        Names of `treewass.methods.METHODS`, in the order of the table; those without rows are left out.

    Returns
    -------
    str

    Examples
    --------
    >>> def row(method, error):
    ...     case = {"set": "reuters", "split": 0, "method": method, "vote": ""}
    ...     return Row("accuracy", case, {"error_percent": error}, "", environment={})
    >>> print(accuracy_markdown([row("profile", 2.0), row("svm", 2.5)]).splitlines()[2])
    | **treewass**, default | 2.0 |
    """
    cells = {(str(row.case["set"]), str(row.case["method"])): row.measures for row in mean_rows(rows)}
    sets = list(dict.fromkeys(name for name, _ in cells))
    methods = [method for method in methods if any((name, method) in cells for name in sets)]
    lines = _header("test error in %", sets)
    for method in methods:
        lines.append(_line(METHODS[method].title, [_error(cells.get((name, method))) for name in sets]))
    for method, title in (("stw", "published STW"), ("swmd", "published S-WMD")):
        lines.append(_line(title, [PUBLISHED_ERRORS[method].get(name, "–").split(" ")[0] for name in sets]))
    lines += ["", *_header("", sets)]
    for measure, title in _MEASURES.items():
        for method in (name for name in ("profile", "logistic", "svm") if name in methods):
            values = [cells.get((name, method), {}).get(measure) for name in sets]
            if any(value is not None for value in values):
                lines.append(_line(f"{title}, {METHODS[method].title}", [_shown(value, ".3f") for value in values]))
    return "\n".join([*lines, "", *_ratios(cells)]) + "\n"


def _ratios(cells: Mapping[tuple[str, str], Measures]) -> list[str]:
    """Say the geometric mean of our error over the SVM's."""
    lines = []
    others = tuple(name for name in PAPER_SETS if name != "bbcsport")
    for title, sets in (("the six sets", PAPER_SETS), ("these without BBCSPORT", others)):
        pairs = [(cells.get((name, "profile")), cells.get((name, "svm"))) for name in sets]
        ratios = [_percent(ours) / _percent(theirs) for ours, theirs in pairs if ours and theirs]
        if len(ratios) == len(sets):
            mean = float(np.exp(np.mean(np.log(ratios))))
            lines.append(f"Geometric mean of our error over the SVM's, {title}: {mean:.3f}.")
    return lines


def _percent(measures: Measures) -> float:
    return float(measures["error_percent"] or 0.0)


def _header(corner: str, sets: list[str]) -> list[str]:
    names = [name if name == "docstrings" else name.upper() for name in sets]
    return [_line(corner, names), "|" + "---|" * (len(sets) + 1)]


def _line(title: str, values: list[str]) -> str:
    return "| " + " | ".join([title, *values]) + " |"


def _error(measures: Measures | None) -> str:
    if measures is None:
        return "–"
    error, deviation = _shown(measures["error_percent"], ".1f"), _shown(measures["error_deviation"], ".1f")
    return error if measures["splits"] == 1 else f"{error} ± {deviation}"


def _shown(value: Value, form: str) -> str:
    return format(value, form) if isinstance(value, float) else "–"
