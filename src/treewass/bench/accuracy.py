"""``treewass bench accuracy``: error, macro-F1, log-loss and calibration of methods on text sets."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.datasets import PAPER_SETS, Split, TextSet, load_set, load_vectors
from treewass.bench.rows import Row, Value, read_rows
from treewass.methods import DEFAULT_METHODS, METHODS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bench_accuracy", "calibration_error", "mean_rows", "measure"]

_PROTOCOL = (
    "one fit on the training documents of the split, measured on its test documents; every choice is made on training "
    "documents; log_loss and calibration_error (15 bins of equal width) of predict_proba"
)
_BINS = 15
_DOCSTRING_SPLITS = 5


def bench_accuracy(
    sets: Sequence[str] = PAPER_SETS,
    methods: Sequence[str] = DEFAULT_METHODS,
    splits: int | None = None,
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Iterator[Row]:
    """Measure methods on the splits of text sets.

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
    output : path-like, optional
        A file of rows: those it holds are not measured again, new ones are appended.

    Yields
    ------
    Row
        One per set, split and method, as soon as it is measured.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(f"Expected methods among {', '.join(METHODS)}, got {', '.join(unknown)}.")
    finished = {_key(row.case): row for row in _stored(output)}
    for name in sets:
        text_set = _docstrings() if name == "docstrings" else load_set(name, data)
        for number in range(min(splits or len(text_set.train_rows), len(text_set.train_rows))):
            split: Split | None = None
            for method in methods:
                case = _case(name, number, method)
                row = finished.get(_key(case))
                if row is None:
                    split = text_set.split(number) if split is None else split
                    row = Row("accuracy", case, measure(method, split, data), _PROTOCOL)
                    _append(output, row)
                yield row


def measure(method: str, split: Split, data: str | os.PathLike[str] | None = None) -> dict[str, Value]:
    """Fit a method on a split and measure it.

    Parameters
    ----------
    method : str
        A name of `treewass.methods.METHODS`.
    split : Split
        Training and test documents.
    data : path-like, optional
        Folder of ``word_vectors.npz``, for methods that need vectors.

    Returns
    -------
    dict
        ``error_percent``, ``macro_f1``, ``log_loss``, ``calibration_error``, ``fit_seconds`` and
        ``query_seconds`` for all test documents; None for probabilities that a method does not give.
    """
    from sklearn.metrics import f1_score, log_loss

    chosen = METHODS[method]
    model = chosen.make(load_vectors(split.words, data) if "vectors" in chosen.needs else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        fitted = time.perf_counter()
        probabilities = model.predict_proba(split.X_test) if hasattr(model, "predict_proba") else None
        predicted = model.predict(split.X_test) if probabilities is None else model.classes_[probabilities.argmax(1)]
        finished = time.perf_counter()
    measures: dict[str, Value] = {
        "error_percent": round(100 * float(np.mean(predicted != split.y_test)), 3),
        "macro_f1": round(float(f1_score(split.y_test, predicted, average="macro", zero_division=0)), 4),
        "log_loss": None,
        "calibration_error": None,
        "fit_seconds": round(fitted - start, 3),
        "query_seconds": round(finished - fitted, 3),
    }
    if probabilities is not None:
        cut = np.maximum(probabilities, 1e-15)
        cut /= cut.sum(axis=1, keepdims=True)
        measures["log_loss"] = round(float(log_loss(split.y_test, cut, labels=model.classes_)), 4)
        measures["calibration_error"] = round(calibration_error(probabilities, model.classes_, split.y_test), 4)
    return measures


def calibration_error(
    probabilities: NDArray[np.float64], classes: NDArray[Any], truth: NDArray[Any], bins: int = _BINS
) -> float:
    """Compute the expected calibration error: how far confidence is from accuracy, in bins of equal width.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    classes : ndarray of shape (n_classes,)
        Labels of the columns.
    truth : ndarray of shape (n_documents,)
        Labels.
    bins : int, default=15
        Number of bins.

    Examples
    --------
    >>> calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array(["a", "b"]), np.array(["a", "b"]))
    0.4
    """
    confidence = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == truth
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.abs(np.bincount(place, right - confidence, bins))
    return float(gaps.sum() / truth.size)


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
        means.append(Row("accuracy", case, measures, _PROTOCOL, members[0].environment))
    return means


def _docstrings() -> TextSet:
    """Make splits of the built-in corpus, seven of ten documents for training."""
    from treewass.documents.docstrings import load_docstrings

    corpus = load_docstrings()
    train = tuple(
        np.sort(np.random.RandomState(seed).permutation(len(corpus))[: round(0.7 * len(corpus))])
        for seed in range(_DOCSTRING_SPLITS)
    )
    return TextSet(corpus, train, ())


def _case(name: str, split: int, method: str) -> dict[str, Value]:
    chosen = METHODS[method]
    return {
        "set": name,
        "split": split,
        "method": method,
        "vote": chosen.vote,
        "configuration": chosen.configuration,
    }


def _key(case: Any) -> tuple[Any, ...]:
    return tuple(sorted(case.items()))


def _stored(output: str | os.PathLike[str] | None) -> list[Row]:
    return read_rows(output) if output is not None and Path(output).exists() else []


def _append(output: str | os.PathLike[str] | None, row: Row) -> None:
    if output is not None:
        with Path(output).open("a", encoding="utf-8") as file:
            file.write(row.to_json() + "\n")
