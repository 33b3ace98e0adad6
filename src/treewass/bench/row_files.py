"""Rows on disk: each is there as soon as it is measured, and a killed run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from treewass.bench.rows import Row

__all__ = ["RowFiles", "case_key"]


def case_key(case: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Name a case whatever the order of its entries.

    Examples
    --------
    >>> case_key({"split": 0, "set": "reuters"})
    (('set', 'reuters'), ('split', 0))
    """
    return tuple(sorted(case.items()))


class RowFiles:
    """The stored rows of benchmarks, by benchmark and case.

    Parameters
    ----------
    place : path-like
        A file whose name ends with ``.jsonl`` for all rows, or a folder with a file for each benchmark. Both are made
        when the first row comes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     RowFiles(folder).add(Row("import", {"module": "numpy"}, {"cpu_seconds": 0.1}, "", environment={}))
    ...     RowFiles(folder).find("import", {"module": "numpy"}).measures
    {'cpu_seconds': 0.1}
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self._place = Path(place)
        self._rows: dict[Path, dict[tuple[str, Any], Row]] = {}

    def path(self, benchmark: str) -> Path:
        """Say which file holds the rows of a benchmark."""
        return self._place if self._place.suffix == ".jsonl" else self._place / f"{benchmark}.jsonl"

    def find(self, benchmark: str, case: Mapping[str, Any]) -> Row | None:
        """Find the row of a case; None if it has not been measured."""
        return self._stored(self.path(benchmark)).get((benchmark, case_key(case)))

    def rows(self, benchmark: str) -> list[Row]:
        """List the rows of a benchmark, in the order they were stored."""
        return [row for (name, _), row in self._stored(self.path(benchmark)).items() if name == benchmark]

    def add(self, row: Row) -> None:
        """Store a row; it is on the disk when this returns. What a killed run left unfinished at the end goes."""
        path = self.path(row.benchmark)
        stored = self._stored(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            _finish_last_line(file)
            file.write(row.to_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        stored[row.benchmark, case_key(row.case)] = row

    def _stored(self, path: Path) -> dict[tuple[str, Any], Row]:
        if path not in self._rows:
            self._rows[path] = {(row.benchmark, case_key(row.case)): row for row in _read(path)}
        return self._rows[path]


def _read(path: Path) -> list[Row]:
    """Read a file of rows; a last line that a killed run left unfinished is passed over."""
    if not path.exists():
        return []
    try:
        lines = path.read_bytes().decode("utf-8", errors="strict").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected rows of a benchmark in UTF-8, but {path} is not: {error}.") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(Row(**json.loads(line)))
        except (ValueError, TypeError) as error:
            if number == len(lines):
                break
            raise ValueError(f"Expected rows of a benchmark, but line {number} of {path} is none: {error}.") from None
    return rows


def _finish_last_line(file: IO[bytes]) -> None:
    """End a last line that holds a row but no line end; cut off one that holds none."""
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole == len(content):
        return
    try:
        json.loads(content[whole:])
    except ValueError:
        file.truncate(whole)
    else:
        file.write(b"\n")
