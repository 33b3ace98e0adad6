"""``treewass bench accuracy``: error, macro-F1, log-loss and calibration of methods on text sets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from treewass.bench.accuracy_measures import PROTOCOL, measure
from treewass.bench.cells import Cell, Report, run_cells
from treewass.bench.datasets import PAPER_SETS, Split, TextSet, load_set, load_split
from treewass.bench.row_files import RowFiles
from treewass.bench.rows import Row, Value
from treewass.methods import DEFAULT_METHODS, METHODS

__all__ = ["accuracy_cells", "bench_accuracy", "mean_rows"]

_DOCSTRING_SPLITS = 5


def bench_accuracy(
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = DEFAULT_METHODS,
    splits: int | None = None,
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    report: Report | None = None,
) -> Iterator[Row]:
    """Measure methods on the splits of text sets.

    Parameters
    ----------
    sets, methods, splits, data
        As in `accuracy_cells`.
    output : path-like, optional
        A file of rows: those it holds are not measured again, new ones are appended.
    jobs : int, default=1
        Processes.
    report : callable, optional
        Takes a sentence about each new row.

    Yields
    ------
    Row
        One per set, split and method, as soon as it is measured.
    """
    cells = accuracy_cells(sets, methods, splits, data)
    return run_cells(cells, None if output is None else RowFiles(output), jobs, report)


def accuracy_cells(
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = DEFAULT_METHODS,
    splits: int | None = None,
    data: str | os.PathLike[str] | None = None,
    *,
    test_documents: int | None = None,
    seconds: float = 1.0,
) -> list[Cell]:
    """List what there is to measure: methods on the splits of text sets.

    Parameters
    ----------
    sets : sequence of str
        Names of text sets, or ``"docstrings"`` for the built-in corpus, on five random splits.
    methods : sequence of str
        Names of `treewass.methods.METHODS`.
    splits : int, optional
        The first so many splits of each set; all by default.
    data : path-like, optional
        Folder of the text sets and of ``word_vectors.npz``; that of the variable TREEWASS_DATA by default.
    test_documents : int, optional
        Measure on so many test documents, drawn with seed 0, where there are more; the row's case says so.
    seconds : float, default=1.0
        About how long a cell takes.

    Returns
    -------
    list of Cell
        Set after set, split after split.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(f"Expected methods among {', '.join(METHODS)}, got {', '.join(unknown)}.")
    cells, folder = [], None if data is None else os.fspath(data)
    for name in sets:
        text_set = _text_set(name, folder)
        for number in range(min(splits or len(text_set.train_rows), len(text_set.train_rows))):
            n_test = len(text_set.corpus) - len(text_set.train_rows[number])
            limit = test_documents if test_documents is not None and test_documents < n_test else None
            for method in methods:
                case = _case(name, number, method, limit)
                work = partial(_measured, name, number, method, folder, limit)
                cells.append(Cell("accuracy", case, work, PROTOCOL, seconds))
    return cells


def _measured(name: str, number: int, method: str, data: str | None, test_documents: int | None) -> dict[str, Value]:
    split = _docstrings().split(number) if name == "docstrings" else load_split(name, number, data)
    return measure(method, split if test_documents is None else _some(split, test_documents), data)


@lru_cache(maxsize=4)
def _text_set(name: str, data: str | None) -> TextSet:
    """Load a set once for its cells, as they follow each other."""
    return _docstrings() if name == "docstrings" else load_set(name, data)


def _some(split: Split, n_documents: int) -> Split:
    """Draw test documents."""
    rows = np.sort(np.random.RandomState(0).choice(split.y_test.size, n_documents, replace=False))
    texts = [split.test_texts[row] for row in rows]
    return replace(split, X_test=split.X_test[rows], y_test=split.y_test[rows], test_texts=texts)


def mean_rows(rows: Iterable[Row]) -> list[Row]:
    """Average rows over splits: what people want to see.

    Parameters
    ----------
    rows : iterable of Row
        As `bench_accuracy` yields them.

    Returns
    -------
    list of Row
        One per set and method, with the standard deviation of the error.
    """
    cells: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.case["set"], row.case["method"], row.case["vote"]), []).append(row)
    means = []
    for (name, method, vote), members in cells.items():
        measures: dict[str, Value] = {"splits": len(members)}
        for measured in members[0].measures:
            values = [value for row in members if isinstance(value := row.measures[measured], (int, float))]
            measures[measured] = float(np.mean(values)) if values else None
            if measured == "error_percent":
                measures["error_deviation"] = float(np.std(values))
        case = {"set": name, "method": method, "vote": vote}
        means.append(Row("accuracy", case, measures, PROTOCOL, members[0].environment))
    return means


@lru_cache(maxsize=1)
def _docstrings() -> TextSet:
    """Make splits of the built-in corpus, seven of ten documents for training."""
    from treewass.documents.docstrings import load_docstrings

    corpus = load_docstrings()
    train = tuple(
        np.sort(np.random.RandomState(seed).permutation(len(corpus))[: round(0.7 * len(corpus))])
        for seed in range(_DOCSTRING_SPLITS)
    )
    return TextSet(corpus, train, ())


def _case(name: str, split: int, method: str, test_documents: int | None) -> dict[str, Value]:
    chosen = METHODS[method]
    case: dict[str, Value] = {
        "set": name,
        "split": split,
        "method": method,
        "vote": chosen.vote,
        "configuration": chosen.configuration,
    }
    return case if test_documents is None else {**case, "test_documents": test_documents}
