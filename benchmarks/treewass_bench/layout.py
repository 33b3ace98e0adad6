"""Markdown tables of figures: what the tables of all benchmarks share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from treewass_bench.datasets import PAPER_SETS
from treewass_bench.rows import Row, Value

__all__ = ["figure", "fold_long", "in_paper_order", "mean_figure", "sets_of", "table"]

_LONG = 12


def table(corner: str, columns: Sequence[str], lines: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Lay out a Markdown table.

    Parameters
    ----------
    corner : str
        What the first column holds.
    columns : sequence of str
        Names of the others.
    lines : iterable of (str, sequence of str)
        Title and entries of each line.

    Returns
    -------
    str
        Lines with a line end each.

    Examples
    --------
    >>> print(table("tree", ["height"], [("oak", ["20"])]))
    | tree | height |
    |---|---|
    | oak | 20 |
    """
    laid = [(corner, columns), *lines]
    rows = ["| " + " | ".join([title, *entries]) + " |" for title, entries in laid]
    return "\n".join([rows[0], "|" + "---|" * (len(columns) + 1), *rows[1:]]) + "\n"


def fold_long(summary: str, laid: str) -> str:
    """Fold a table of more than a dozen lines, so that a reader opens it; others stay open.

    Examples
    --------
    >>> fold_long("heights", "| tree | height |") == "| tree | height |"
    True
    >>> print(fold_long("heights", table("tree", ["height"], [("oak", ["20"])] * 13)).splitlines()[0])
    <details><summary>heights</summary>
    """
    if laid.count("\n") <= _LONG + 2:
        return laid
    return f"<details><summary>{summary}</summary>\n\n{laid}\n</details>\n"


def figure(value: Value, form: str = ".1f") -> str:
    """Write a number, or a dash where there is none.

    Examples
    --------
    >>> figure(3.14), figure(None)
    ('3.1', '–')
    """
    return format(value, form) if isinstance(value, int | float) else "–"


def mean_figure(values: Sequence[float]) -> str:
    """Write the mean of numbers, with their standard deviation where there are several.

    Examples
    --------
    >>> mean_figure([1.0, 3.0]), mean_figure([1.0]), mean_figure([])
    ('2.0 ± 1.0', '1.0', '–')
    """
    if not values:
        return "–"
    mean = figure(float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {figure(float(np.std(values)))}"


def sets_of(rows: Iterable[Row]) -> list[str]:
    """List the text sets of rows, in the paper's order, then others.

    Examples
    --------
    >>> sets_of([Row("demo", {"set": name}, {}, "", environment={}) for name in ("reuters", "pets", "twitter")])
    ['twitter', 'reuters', 'pets']
    """
    return in_paper_order(str(row.case["set"]) for row in rows)


def in_paper_order(names: Iterable[str]) -> list[str]:
    """List names of text sets once each, in the paper's order, then others as they come.

    Examples
    --------
    >>> in_paper_order(["reuters", "pets", "twitter", "pets"])
    ['twitter', 'reuters', 'pets']
    """
    found = dict.fromkeys(names)
    return [name for name in PAPER_SETS if name in found] + [name for name in found if name not in PAPER_SETS]
