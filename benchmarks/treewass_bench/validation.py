"""``python -m treewass_bench validation``: methods compared on training documents alone, as a choice must be made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from treewass_bench.accuracy import measure
from treewass_bench.cells import Cell
from treewass_bench.datasets import load_split
from treewass_bench.layout import figure, mean_figure, table
from treewass_bench.methods import METHODS, folds_of
from treewass_bench.rows import Row, Value

__all__ = ["validation_cells", "validation_markdown"]

_FOLDS = 5
_PROTOCOL = (
    "training documents of the split in five parts, equal documents together; a fit on four of them, with every choice "
    "that the method makes itself, and its error on the fifth, with the vote of the method; no test document is read"
)


def validation_cells(
    data: str | None = None,
    sets: Sequence[str] = ("twitter",),
    methods: Sequence[str] = ("stw", "stw-lars"),
    splits: int = 5,
    folds: int = 2,
) -> list[Cell]:
    """List what is measured: methods on parts of the training documents, part after part.

    Examples
    --------
    >>> [(cell.case["split"], cell.case["fold"]) for cell in validation_cells(methods=["stw"], splits=2)]
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    return [
        Cell(
            "validation",
            {
                "set": name,
                "split": split,
                "fold": fold,
                "method": method,
                "configuration": METHODS[method].configuration,
            },
            partial(_measured, name, split, fold, method, data),
            _PROTOCOL,
            45.0,
        )
        for name in sets
        for fold in range(folds)
        for split in range(splits)
        for method in methods
    ]


def _measured(name: str, number: int, fold: int, method: str, data: str | None) -> dict[str, Value]:
    split = load_split(name, number, data)
    fitted, held = folds_of(split.X_train, split.y_train, _FOLDS)[fold]
    inner = replace(
        split,
        X_train=split.X_train[fitted],
        y_train=split.y_train[fitted],
        X_test=split.X_train[held],
        y_test=split.y_train[held],
        train_texts=[split.train_texts[row] for row in fitted],
        test_texts=[split.train_texts[row] for row in held],
    )
    figures = measure(method, inner, data)
    return {name: figures[name] for name in ("error_percent", "distance_vote_error_percent", "macro_f1", "fit_seconds")}


def validation_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors of methods on held-out parts, the choice they lead to, and the test error of that choice.

    Parameters
    ----------
    rows : iterable of Row
        Rows of ``validation``, and of ``accuracy`` for the test errors.

    Examples
    --------
    >>> case = {"set": "twitter", "split": 0, "method": "stw"}
    >>> rows = [Row("validation", case | {"fold": 0}, {"error_percent": 30.0}, "", environment={})]
    >>> print(validation_markdown([*rows, Row("accuracy", case, {"error_percent": 29.0}, "", environment={})]))
    | held-out error in % | STW, margin selected | chosen | its test error |
    |---|---|---|---|
    | TWITTER, split 0 | 30.0 | STW, margin selected | 29.0 |
    | TWITTER, mean ± standard deviation | 30.0 |  | 29.0 |
    <BLANKLINE>
    """
    rows = list(rows)
    held: dict[tuple[str, int], dict[str, list[float]]] = {}
    for row in (row for row in rows if row.benchmark == "validation"):
        errors = held.setdefault((str(row.case["set"]), int(row.case["split"] or 0)), {})
        errors.setdefault(str(row.case["method"]), []).append(float(row.measures["error_percent"] or 0.0))
    test = {
        (row.case["set"], row.case["split"], row.case["method"]): row.measures["error_percent"]
        for row in rows
        if row.benchmark == "accuracy" and "test_documents" not in row.case and "random_state" not in row.case
    }
    methods = list(dict.fromkeys(method for errors in held.values() for method in errors))
    lines = []
    for name in dict.fromkeys(name for name, _ in held):
        chosen_errors: list[float] = []
        means: dict[str, list[float]] = {method: [] for method in methods}
        for split in sorted(split for own, split in held if own == name):
            found = {method: float(np.mean(errors)) for method, errors in held[name, split].items()}
            chosen = min(found, key=lambda method: found[method])
            for method, value in found.items():
                means[method].append(value)
            error = test.get((name, split, chosen))
            chosen_errors += [float(error)] if isinstance(error, int | float) else []
            entries = [*(figure(found.get(method)) for method in methods), METHODS[chosen].title, figure(error)]
            lines.append((f"{name.upper()}, split {split}", entries))
        entries = [*(mean_figure(means[method]) for method in methods), "", mean_figure(chosen_errors)]
        lines.append((f"{name.upper()}, mean ± standard deviation", entries))
    return table(
        "held-out error in %", [*(METHODS[method].title for method in methods), "chosen", "its test error"], lines
    )
