"""Table 1: the text sets, from rows."""

from __future__ import annotations

from collections.abc import Iterable

from treewass.bench.results.layout import figure, in_paper_order, table
from treewass.bench.rows import Row

__all__ = ["statistics_markdown"]

_COLUMNS = (
    "documents",
    "classes",
    "train / test",
    "splits",
    "words (paper)",
    "words a document",
    "with a vector (paper)",
)


def statistics_markdown(rows: Iterable[Row]) -> str:
    """Lay out the statistics of the text sets, the paper's beside them.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``statistics``.

    Returns
    -------
    str
        A Markdown table.
    """
    found = {str(row.case["set"]): row.measures for row in rows}
    lines = []
    for name in in_paper_order(found):
        own = found[name]
        entries = [
            str(own["documents"]),
            str(own["classes"]),
            f"{own['train']} / {own['test']}",
            str(own["splits"]),
            f"{own['dimension']} ({figure(own['paper_dimension'], '.0f')})",
            figure(own["words_a_document"]),
            f"{figure(own['words_a_document_with_vector'])} ({figure(own['paper_words_a_document'])})",
        ]
        lines.append((name.upper(), entries))
    return table("set", _COLUMNS, lines)
