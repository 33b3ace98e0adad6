"""``python -m treewass_bench scale-tables``: the rows of ``scale`` as tables, and what more would cost, on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from treewass_bench.rows import Row

__all__ = ["paper_table", "scale_tables"]

SIZES = (10**7, 10**8, 10**9)
CORES = 16  # of a machine, on paper
MEMORY = 112e9  # bytes of a machine that hold shards: 128 GB, less what the system needs
_BYTES = ("words", "weights", "dense", "postings", "directory", "other", "bytes a document")


def scale_tables(rows: Iterable[Row]) -> list[str]:
    """Return the tables of the page about size, in Markdown.

    Parameters
    ----------
    rows : iterable of Row
        Of the benchmark ``scale``; at least one of each part.

    Returns
    -------
    list of str
        Bytes a document, searches of mapped shards, searches through Dask, larger sizes on paper, orders of documents.
    """
    parts: dict[str, list[Row]] = {"bytes": [], "threads": [], "order": [], "collection": [], "actors": []}
    for row in rows:
        parts[str(row.case["part"])].append(row)
    missing = [part for part, found in parts.items() if not found]
    if missing:
        raise ValueError(
            f"Expected rows of {', '.join(missing)}, found none. Run python -m treewass_bench scale first."
        )
    collections = sorted(parts["collection"], key=_size)
    actors = sorted(parts["actors"], key=_size)
    return [
        _bytes_table(parts["bytes"]),
        _search_table(collections),
        _actors_table(actors),
        paper_table(collections[-1], actors[-1]),
        _order_table(parts["order"]),
    ]


def paper_table(collection: Row, actors: Row) -> str:
    """Derive memory, machines and times of larger collections from one that was run.

    Parameters
    ----------
    collection, actors : Row
        A collection in mapped shards, and one on two Dask workers.

    Returns
    -------
    str
        A table in Markdown.
    """
    rates = _rates(collection, actors)
    lines = []
    for size in SIZES:
        memory = size * rates["bytes"]
        machines = max(1, math.ceil(memory / MEMORY))
        cores = CORES * machines
        work = size * rates["query"]
        messages = rates["message"] * machines if machines > 1 else 0.0
        latency = work / (cores * rates["single share"]) + messages
        batch = cores * rates["batch share"] / (size * rates["batch query"])
        build = size * rates["build"]
        lines.append(
            [
                _power(size),
                f"{_round(memory / 1e9)} GB",
                f"{_round(size * rates['file bytes'] / 1e9)} GB",
                str(machines),
                f"{_round(work)} s",
                f"{_round(1e3 * latency)} ms",
                f"{_round(batch)}",
                f"{_round(build / 3600)} h",
                f"{_round(build / cores / 60)} min",
            ]
        )
    head = (
        "documents", "memory", "files", "machines", "core time a query", "one query", "queries/s in batches",
        "core time to build", "build on all cores",
    )  # fmt: skip
    return _table(head, lines)


def _rates(collection: Row, actors: Row) -> dict[str, float]:
    """Return seconds and bytes a document, the share of a core that two threads leave each other, and a message."""
    found, size = _numbers(collection), _size(collection)
    single, batch = found["one query, 1 thread(s), ms"] / 1e3, 1 / found["batch, 1 thread(s), queries/s"]
    return {
        "bytes": found["searched bytes a document"],
        "file bytes": found["file bytes a document"],
        "build": found["build, µs a document"] / 1e6,
        "query": single / size,
        "batch query": batch / size,
        "single share": found["one query, 1 thread(s), ms"] / (2 * found["one query, 2 thread(s), ms"]),
        "batch share": found["batch, 2 thread(s), queries/s"] / (2 * found["batch, 1 thread(s), queries/s"]),
        "message": max(0.0, _numbers(actors)["overhead a query, ms"]) / 1e3 / int(str(actors.case["workers"])),
    }


def _bytes_table(rows: Sequence[Row]) -> str:
    head = ("tree", "vocabulary", "words", "weights", "dense rows", "postings", "directory", "other", "sum")
    lines = [
        [
            str(row.case["tree"]),
            _spaced(int(str(row.case["vocabulary"]))),
            *(str(row.measures[name]) for name in _BYTES),
        ]
        for row in rows
    ]
    return _table(head, lines)


def _search_table(rows: Sequence[Row]) -> str:
    head = (
        "documents", "shards", "one query, one thread", "two threads", "batch, one thread", "two threads",
        "build, a document", "bytes in files", "bytes searched", "memory beyond files",
    )  # fmt: skip
    lines = []
    for row in rows:
        found = _numbers(row)
        lines.append(
            [
                _spaced(_size(row)),
                str(row.case["shards"]),
                *(f"{_round(found[f'one query, {n} thread(s), ms'])} ms" for n in (1, 2)),
                *(f"{_round(found[f'batch, {n} thread(s), queries/s'])} queries/s" for n in (1, 2)),
                f"{_round(found['build, µs a document'])} µs",
                f"{found['file bytes a document']:.0f}",
                f"{found['searched bytes a document']:.0f}",
                f"{found['anonymous memory, MB']:.0f} MB",
            ]
        )
    return _table(head, lines)


def _actors_table(rows: Sequence[Row]) -> str:
    head = ("documents", "shards", "where", "one query", "batch", "single queries of four threads")
    lines = []
    for row in rows:
        found = _numbers(row)
        for where, named in (("this process", "two threads of this process"), ("workers", "two Dask workers")):
            lines.append(
                [
                    _spaced(_size(row)),
                    str(row.case["shards"]),
                    named,
                    f"{_round(found[f'one query, {where}, ms'])} ms",
                    f"{_round(found[f'batch, {where}, queries/s'])} queries/s",
                    f"{_round(found[f'single queries of 4 threads, {where}, queries/s'])} queries/s",
                ]
            )
    return _table(head, lines)


def _order_table(rows: Sequence[Row]) -> str:
    names = ["bytes a document", "compressed bytes a document"]
    names += [f"blocks of {size} to visit, %" for size in (64, 1024, 8192)]
    lines = [
        [str(row.case["source"]), str(row.case["order"]), *(str(row.measures[name]) for name in names)] for row in rows
    ]
    return _table(("documents", "order", *names), lines)


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def _numbers(row: Row) -> dict[str, float]:
    return {name: float(value) for name, value in row.measures.items() if isinstance(value, int | float)}


def _size(row: Any) -> int:
    return int(row.case["documents"])


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _power(size: int) -> str:
    """Write a power of ten.

    Examples
    --------
    >>> _power(10**8)
    '10⁸'
    """
    return "10" + str(round(math.log10(size))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _round(value: float) -> str:
    """Write two digits that count, and no fraction of a number above ten.

    Examples
    --------
    >>> _round(0.0646), _round(39.52), _round(972.4), _round(6.46)
    ('0.065', '40', '970', '6.5')
    """
    if value == 0:
        return "0"
    digits = 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):.{max(0, digits)}f}"
