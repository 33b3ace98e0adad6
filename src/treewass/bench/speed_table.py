"""The rows of ``treewass bench speed`` as the Markdown table that stands in the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from treewass.bench.rows import Row, Value

__all__ = ["speed_markdown"]

_HEADINGS = {
    "one query, 500 documents, top 19": "One query against 500 documents, exact top 19",
    "one query, 500 documents, top 19, caches emptied": "One query against 500 documents, exact top 19, caches emptied",
    "whole test set, top 19": "A whole test set",
    "embedding all training documents": "Embedding",
    "first search in a new process, CPU time": "First search in a new process",
    "one query, top 10": "One query against many documents, exact top 10",
    "approximate index, top 10": "Approximate indexes beside the exact one, top 10",
    "growth with documents": "Growth with documents",
    "growth with words a document": "Growth with words a document",
    "growth with threads": "Growth with threads (a batch; time a query)",
}


def speed_markdown(rows: Iterable[Row], key: str = "measure") -> str:
    """Lay rows out as one Markdown table a measure.

    Parameters
    ----------
    rows : iterable of Row
        As `bench_speed` makes them.
    key : str, default="measure"
        What tells one table from another in the rows' cases.

    Returns
    -------
    str

    Examples
    --------
    >>> row = Row("speed", {"measure": "growth with threads", "threads": 2}, {"ours_us": 1234.5}, "", environment={})
    >>> speed_markdown([row]).splitlines()
    ['### Growth with threads (a batch; time a query)', '', '| threads | ours us |', '|---|---|', '| 2 | 1234 |', '']
    """
    by_measure: dict[str, list[Row]] = {}
    for row in rows:
        by_measure.setdefault(str(row.case[key]), []).append(row)
    lines = []
    for measure, own in by_measure.items():
        names = list(dict.fromkeys(name for row in own for name in (*row.case, *row.measures) if name != key))
        lines += [f"### {_HEADINGS.get(measure, measure)}", ""]
        lines += ["| " + " | ".join(name.replace("_", " ") for name in names) + " |", "|" + "---|" * len(names)]
        for row in own:
            values = {**row.case, **row.measures}
            lines.append("| " + " | ".join(_shown(values.get(name)) for name in names) + " |")
        lines += [""]
    return "\n".join(lines) + "\n"


def _shown(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
