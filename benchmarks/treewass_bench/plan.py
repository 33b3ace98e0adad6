"""``python -m treewass_bench all``: the cells behind every table and figure of the paper, and those beyond it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treewass_bench.ablation import ablation_cells
from treewass_bench.accuracy import accuracy_cells
from treewass_bench.accuracy_tables import SPLITS
from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, data_folder
from treewass_bench.depth import depth_cells
from treewass_bench.duplicates import duplicate_cells
from treewass_bench.statistics import statistics_cells
from treewass_bench.synthetic import synthetic_cells
from treewass_bench.times import time_cells

__all__ = ["all_cells", "chosen_cells", "quick_cells"]

_QUICK_SETS, _QUICK_SECONDS = ("twitter", "bbcsport", "reuters"), 45.0


@dataclass(frozen=True, slots=True)
class _Group:
    """Methods of table 3 that are measured alike.

    Parameters
    ----------
    methods : tuple of str
        Names of `treewass_bench.methods.METHODS`.
    seconds : mapping
        About how long one of them takes on a split of each set; sets that are missing are left out.
    test_documents : int or None
        How many test documents are drawn, where not all are taken.
    seeds : int, default=1
        Seeds of the trees on sets with one split.
    """

    methods: tuple[str, ...]
    seconds: Mapping[str, float]
    test_documents: int | None = None
    seeds: int = 1


def _by_set(*values: float) -> dict[str, float]:
    return dict(zip(PAPER_SETS, values, strict=True))


_GROUPS = (
    _Group(("bow", "tfidf", "tfidf-distance", "quadtree"), _by_set(1, 2, 2, 1, 2, 1)),
    _Group(("tsw-1", "tsw-1-clusters"), _by_set(1, 2, 2, 1, 2, 1), seeds=3),
    _Group(("tsw-5", "tsw-10", "tsw-5-clusters", "tsw-10-clusters"), _by_set(3, 8, 7, 4, 6, 5), seeds=3),
    _Group(("profile-fallback", "profile"), _by_set(3, 8, 7, 4, 6, 5)),
    _Group(("svm", "logistic"), _by_set(2, 10, 7, 2, 27, 10)),
    _Group(("minilm", "minilm-logistic"), _by_set(15, 60, 50, 15, 450, 180)),
    _Group(("static", "static-logistic"), _by_set(15, 15, 15, 15, 15, 15)),
    _Group(("stw",), _by_set(30, 330, 95, 46, 180, 120)),
    _Group(("flowtree",), _by_set(5, 180, 120, 5, 300, 160)),
    _Group(("rwmd",), _by_set(4, 200, 100, 8, 420, 100)),
    _Group(("swmd",), _by_set(60, 250, 200, 400, 400, 200), 300),
    _Group(("wmd",), _by_set(8, 430, 290, 80, 2250, 320)),
)


def all_cells(data: str | os.PathLike[str] | None = None) -> list[Cell]:
    """List every cell of the full run.

    Returns
    -------
    list of Cell
        What is quick first.
    """
    folder = os.fspath(data_folder(data))
    cells = [
        *statistics_cells(folder, PAPER_SETS),
        *synthetic_cells(folder),
        *_table_3(folder),
        *duplicate_cells(folder),
        *depth_cells(folder),
        *ablation_cells(folder),
        *time_cells(folder),
    ]
    return sorted(cells, key=lambda cell: cell.seconds > _QUICK_SECONDS)


def chosen_cells(cells: Iterable[Cell], only: str | None) -> list[Cell]:
    """Choose the cells of some benchmarks.

    Parameters
    ----------
    cells : iterable of Cell
        As `all_cells` lists them.
    only : str or None
        Names of benchmarks, with commas; None for all.
    """
    cells = list(cells)
    if only is None:
        return cells
    known, names = {cell.benchmark for cell in cells}, only.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"Expected benchmarks among {', '.join(sorted(known))}, got {', '.join(unknown)}.")
    return [cell for cell in cells if cell.benchmark in names]


def quick_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Choose the cells for everyday use: small sets, the first split, nothing that takes long.

    Parameters
    ----------
    cells : iterable of Cell
        As `all_cells` lists them.
    """
    return [
        cell
        for cell in cells
        if cell.seconds <= _QUICK_SECONDS
        and cell.case.get("set", _QUICK_SETS[0]) in _QUICK_SETS
        and cell.case.get("split", 0) == 0
        and (cell.benchmark != "time" or _is_quick_time(cell))
    ]


def _is_quick_time(cell: Cell) -> bool:
    """Tell whether a time is for everyday use: one set, the paper's batch size."""
    return cell.case.get("set") == _QUICK_SETS[0] and cell.case.get("batch", 500) == 500


def _table_3(data: str) -> list[Cell]:
    """Errors of every method on the six sets."""
    cells = []
    for group in _GROUPS:
        for name, seconds in group.seconds.items():
            cells += accuracy_cells(
                [name],
                group.methods,
                None,
                data,
                test_documents=group.test_documents,
                seconds=seconds,
                seeds=1 if name in SPLITS else group.seeds,
            )
    return cells
