"""What a table of a benchmark is made of: cells that are measured once, in any order, and stored at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from treewass_bench.rows import Row, RowFiles, Value

__all__ = ["Cell", "Report", "run_cells"]

Report = Callable[[str], None]
Found = Mapping[str, Value] | ImportError
_TRUSTED = 120.0  # seconds of work before what was seen counts more than what was expected


@dataclass(frozen=True, slots=True)
class Cell:
    """A case of a benchmark that is still to be measured.

    Parameters
    ----------
    benchmark : str
        The benchmark's name, which is also that of its file of rows.
    case : mapping
        What is measured; together with `benchmark` it names the row.
    measure : callable
        Takes nothing and returns the measures. It is sent to another process: a function of a module, or a
        ``functools.partial`` of one.
    protocol : str
        How it is measured, in a sentence.
    seconds : float, default=1.0
        About how long it takes on one core, for the time left.
    alone : bool, default=False
        Whether nothing may run beside it, because it is a time.
    shares : str, optional
        Names what is slow to make and serves several cells: those of one name are measured in one process, and their
        rows come when all of them are done.
    """

    benchmark: str
    case: Mapping[str, Value]
    measure: Callable[[], Mapping[str, Value]]
    protocol: str
    seconds: float = 1.0
    alone: bool = False
    shares: str | None = None


def run_cells(
    cells: Iterable[Cell], files: RowFiles | None = None, jobs: int = 1, report: Report | None = None
) -> Iterator[Row]:
    """Measure the cells that have no row yet, and store each row at once.

    Parameters
    ----------
    cells : iterable of Cell
        What to measure. Cells that must be alone come after all others.
    files : RowFiles, optional
        Where rows are looked up and stored; by default nothing is stored.
    jobs : int, default=1
        Processes that measure at the same time.
    report : callable, optional
        Takes a sentence about each new row, with how far the run is and about how long it will still take; one about
        each cell that is left out because a package is missing; and one if stored rows have another protocol.

    Yields
    ------
    Row
        Stored rows first, then new ones as they come.

    Examples
    --------
    >>> cell = Cell("demo", {"word": "tree"}, lambda: {"letters": 4}, "counted")
    >>> [row.measures for row in run_cells([cell])]
    [{'letters': 4}]
    """
    missing, others = [], 0
    for cell in cells:
        row = None if files is None else files.find(cell.benchmark, cell.case)
        if row is None:
            missing.append(cell)
        else:
            others += row.protocol != cell.protocol
            yield row
    if others and report is not None:
        report(f"{others} stored rows were measured by another protocol; delete them to measure them again")
    together, alone = ([cell for cell in missing if cell.alone is kind] for kind in (False, True))
    progress = _Progress(together, alone, jobs, report)
    for cell, found in chain(_in_processes(together, jobs), map(_measured, alone)):
        if isinstance(found, ImportError):
            progress.leave_out(cell, found)
        else:
            yield _stored(cell, found, files, progress)


def _stored(cell: Cell, measures: Mapping[str, Value], files: RowFiles | None, progress: _Progress) -> Row:
    row = Row(cell.benchmark, cell.case, measures, cell.protocol)
    if files is not None:
        files.add(row)
    progress.advance(cell)
    return row


def _in_processes(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Found]]:
    """Measure cells in several processes, in this one if there is one job; give results as they come."""
    if jobs == 1:
        yield from map(_measured, cells)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="1.5*n_jobs")
    yield from chain.from_iterable(parallel(delayed(_all_measured)(task) for task in _tasks(cells)))


def _tasks(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Put the cells that share something together; the order is that of the first cells.

    Examples
    --------
    >>> cells = [Cell("demo", {"n": n}, dict, "none", shares=shares) for n, shares in enumerate(["a", None, "a", None])]
    >>> [[cell.case["n"] for cell in task] for task in _tasks(cells)]
    [[0, 2], [1], [3]]
    """
    tasks: dict[str | int, list[Cell]] = {}
    for number, cell in enumerate(cells):
        tasks.setdefault(number if cell.shares is None else cell.shares, []).append(cell)
    return list(tasks.values())


def _all_measured(cells: Sequence[Cell]) -> list[tuple[Cell, Found]]:
    return [_measured(cell) for cell in cells]


def _measured(cell: Cell) -> tuple[Cell, Found]:
    """Measure a cell, unless a package that it needs is missing."""
    try:
        return cell, cell.measure()
    except ImportError as error:
        return cell, error


class _Progress:
    """How far a run is, judged by the expected times of its cells and by how true these have been so far."""

    def __init__(self, together: Sequence[Cell], alone: Sequence[Cell], jobs: int, report: Report | None) -> None:
        self._jobs, self._report = jobs, report
        self._left = sum(map(self._cost, [*together, *alone]))
        self._count, self._total = 0, len(together) + len(alone)
        self._spent, self._start = 0.0, time.monotonic()

    def _cost(self, cell: Cell) -> float:
        return cell.seconds if cell.alone else cell.seconds / self._jobs

    def leave_out(self, cell: Cell, error: ImportError) -> None:
        """Pass over a cell, and say why."""
        self._count += 1
        self._left -= self._cost(cell)
        if self._report is not None:
            self._report(f"{self._count} of {self._total}, left out: {cell.benchmark}, {_named(cell)}: {error}")

    def advance(self, cell: Cell) -> None:
        """Count a cell as done, and say so."""
        self._count += 1
        self._left -= self._cost(cell)
        self._spent += self._cost(cell)
        if self._report is None:
            return
        pace = (time.monotonic() - self._start + _TRUSTED) / (self._spent + _TRUSTED)
        left = _duration(max(0.0, self._left) * pace)
        self._report(f"{self._count} of {self._total}, {left} left: {cell.benchmark}, {_named(cell)}")


def _named(cell: Cell) -> str:
    """Name a cell by the first of what its case holds."""
    return ", ".join(str(value) for value in list(cell.case.values())[:3])


def _duration(seconds: float) -> str:
    """Say a duration as people do.

    Examples
    --------
    >>> _duration(20), _duration(300), _duration(7500)
    ('less than a minute', 'about 5 min', 'about 2 h 5 min')
    """
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"
