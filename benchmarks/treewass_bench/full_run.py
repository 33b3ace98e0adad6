"""What a full run of table 3 would cost, computed from the CPU times of the stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from treewass_bench.accuracy_tables import TABLE_3
from treewass_bench.datasets import PAPER_SETS
from treewass_bench.layout import figure, table
from treewass_bench.methods import METHODS
from treewass_bench.rows import Row

__all__ = ["full_run_markdown"]


def full_run_markdown(
    rows: Iterable[Row],
    statistics: Iterable[Row],
    methods: Sequence[str] = TABLE_3,
    sets: Sequence[str] = PAPER_SETS,
) -> str:
    """Lay out the CPU hours of methods that were cut, as measured, and on all splits and test documents.

    A fit counts once a split, a query once a test document; both as in the mean of the rows of the set.

    Parameters
    ----------
    rows : iterable of Row
        Of ``accuracy``.
    statistics : iterable of Row
        Of ``statistics``: the sizes of the sets.
    methods, sets : sequence of str
        What the run is of.

    Examples
    --------
    >>> sizes = Row("statistics", {"set": "twitter"}, {"splits": 5, "test": 900}, "", environment={})
    >>> case = {"set": "twitter", "split": 0, "method": "wmd", "test_documents": 300}
    >>> row = Row("accuracy", case, {"fit_seconds": 0.0, "query_seconds": 3600.0}, "", environment={})
    >>> print(full_run_markdown([row], [sizes], sets=["twitter"]))
    | CPU hours of fits and queries | as measured | all splits, all test documents | no row yet |
    |---|---|---|---|
    | WMD | 1.0 | 15.0 | – |
    <BLANKLINE>
    """
    sizes = {str(row.case["set"]): row.measures for row in statistics}
    times: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for row in rows:
        name, method = str(row.case["set"]), str(row.case["method"])
        if name in sizes and "random_state" not in row.case:
            n_test = float(row.case.get("test_documents") or sizes[name]["test"] or 0)
            fit, queries = (float(row.measures[measure] or 0.0) for measure in ("fit_seconds", "query_seconds"))
            times.setdefault((method, name), []).append((fit, queries, n_test))
    lines = []
    for method in methods:
        measured = full = 0.0
        missing = [name for name in sets if (method, name) not in times]
        for name in (name for name in sets if name not in missing):
            found = np.array(times[method, name])
            measured += float(found[:, :2].sum())
            one = found[:, 0].mean() + float(sizes[name]["test"] or 0) * (found[:, 1] / found[:, 2]).mean()
            full += float(one) * int(sizes[name]["splits"] or 1)
        if full > 1.01 * measured or 0 < len(missing) < len(sets):
            without = ", ".join(name.upper() for name in missing) or "–"
            lines.append((METHODS[method].title, [figure(measured / 3600), figure(full / 3600), without]))
    columns = ["as measured", "all splits, all test documents", "no row yet"]
    return table("CPU hours of fits and queries", columns, lines)
