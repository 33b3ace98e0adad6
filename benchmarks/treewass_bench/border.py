"""``python -m treewass_bench border``: up to how many words a text is better ranked by its words than by distance.

The first words of a document are cut out of it, and the document is to be found by them. So the same words are asked
both ways, and counted with and without stems.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from treewass_bench.cells import Cell
from treewass_bench.datasets import load_set
from treewass_bench.layout import figure, table
from treewass_bench.rows import Row, Value

if TYPE_CHECKING:
    from treewass.model.vectorizers import WordCounter
    from treewass.trees.metric import TreeMetric

__all__ = ["BORDER_SETS", "border_cells", "border_markdown"]

BORDER_SETS = ("bbcsport", "classic", "ohsumed", "amazon")
_LENGTHS = (2, 4, 8, 16, 32, 64, 128)
_SHORT = (2, 4, 8)  # with stems
_QUERIES, _K = 300, 10
_PROTOCOL = (
    "training documents of the first split, one fit on all; of 300 documents with at least twice as many words, spread "
    "evenly, the first n words are cut out and are the query; found: among the first ten; right: share of the ten with "
    "the document's label"
)


def border_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] = BORDER_SETS) -> list[Cell]:
    """List the cells: each set, each length of a query, with and without stems."""
    return [
        Cell(
            "border", {"set": name, "words": n, "stem": stem}, partial(_measured, name, n, stem, data), _PROTOCOL, 20.0
        )
        for name in sets
        for stem in (None, "english")
        for n in (_LENGTHS if stem is None else _SHORT)
    ]


@lru_cache(maxsize=1)
def _learned(
    name: str, stem: str | None, data: str | None
) -> tuple[WordCounter, TreeMetric, list[list[str]], list[str]]:
    """Fit a metric on the training documents of a set; return it with their words and labels."""
    from treewass import ProfileTreeWasserstein
    from treewass.model import WordCounter

    found = load_set(name, data)
    rows = [row for row in found.train_rows[0].tolist() if found.corpus.texts[row].split()]
    labels = [(found.corpus.labels or ())[row] for row in rows]
    texts = [found.corpus.texts[row] for row in rows]
    counter = WordCounter(stem=stem).fitted(texts)
    metric = ProfileTreeWasserstein(random_state=0).fit(counter.count(texts), labels).metric_
    return counter, metric, [counter.tokens(text) for text in texts], labels


def _measured(name: str, n: int, stem: str | None, data: str | os.PathLike[str] | None) -> dict[str, Value]:
    """Ask for documents by their first n words, both ways."""
    from treewass import TreeIndex
    from treewass.model.vectorizers import counted_matrix

    counter, metric, tokens, labels = _learned(name, stem, None if data is None else str(data))
    long = [row for row, words in enumerate(tokens) if len(words) >= 2 * n]
    asked = (
        [long[place] for place in np.linspace(0, len(long) - 1, min(_QUERIES, len(long))).astype(int)] if long else []
    )
    asked = sorted(set(asked))
    if not asked:
        return {"queries": 0}
    cut = set(asked)
    held = [words[n:] if row in cut else words for row, words in enumerate(tokens)]
    n_words = len(counter.words)

    def counted(rows: Iterable[list[str]]) -> object:
        columns = counter.columns
        pairs = [np.unique([columns[word] for word in words], return_counts=True) for words in rows]
        return counted_matrix([(one.tolist(), other.astype(float).tolist()) for one, other in pairs], n_words, np.int64)

    index = TreeIndex(metric)
    index.add(counted(held))
    queries = counted(tokens[row][:n] for row in asked)
    figures: dict[str, Value] = {"queries": len(asked)}
    for way, (_, ids) in (("ranked", index.rank(queries, _K)), ("near", index.search(queries, _K))):
        hits = [[number for number in row if number >= 0] for row in ids.tolist()]
        figures[f"found_{way}"] = float(np.mean([own in row for own, row in zip(asked, hits, strict=True)]))
        right = [
            sum(labels[number] == labels[own] for number in row if number != own) / max(1, sum(n != own for n in row))
            for own, row in zip(asked, hits, strict=True)
        ]
        figures[f"right_{way}"] = float(np.mean(right))
    return figures


def border_markdown(rows: list[Row]) -> str:
    """Lay rows out: the mean over sets for each length."""
    names = ("found_ranked", "found_near", "right_ranked", "right_near")
    lines = []
    for stem in (None, "english"):
        for n in _LENGTHS:
            own = [row.measures for row in rows if row.case["words"] == n and row.case["stem"] == stem]
            own = [figures for figures in own if figures["queries"]]
            if own:
                means = [figure(float(np.mean([float(f[name] or 0) for f in own])), ".3f") for name in names]
                lines.append((f"{n} words{', stems' if stem else ''}", [str(len(own)), *means]))
    heads = ("sets", "found by words", "found by distance", "right by words", "right by distance")
    return table("query", heads, lines)
