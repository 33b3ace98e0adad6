"""Texts, with their labels, titles, keys and columns, at the door of a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.documents.corpus import Corpus
from treewass.documents.histograms import first_few
from treewass.documents.texts import Texts
from treewass.model.contents import Documents
from treewass.model.kept_columns import KeptColumn, Value, check_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "NewTexts",
    "check_count",
    "check_documents",
    "check_labels",
    "check_query",
    "check_texts",
    "class_numbers",
    "labels_like",
]


@dataclass(frozen=True, slots=True)
class NewTexts:
    """Documents that come to a model, each with the same number of entries."""

    texts: list[str]
    labels: list[Any]  # None of a document without one
    titles: list[str] | None = None
    keys: list[str] | None = None
    columns: dict[str, list[Value]] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None  # one if there are none

    def weighted(self, sample_weight: ArrayLike | None) -> NewTexts:
        """Give them weights, and leave out those of weight zero."""
        if sample_weight is None:
            return self
        from treewass.documents.estimator_inputs import check_weights

        weights = check_weights(sample_weight, len(self.texts))
        rows = np.flatnonzero(weights)
        chosen = [
            None if column is None else [column[row] for row in rows]
            for column in (self.texts, self.labels, self.titles, self.keys)
        ]
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return NewTexts(chosen[0] or [], chosen[1] or [], chosen[2], chosen[3], columns, weights[rows])

    def kept(self, ids: NDArray[np.int64], codes: NDArray[np.int32], *, keep_texts: bool) -> Documents:
        """Return what a model keeps of them, with their ids and class numbers."""
        texts, titles, keys = (
            None if column is None else Texts.of(column)
            for column in (self.texts if keep_texts else None, self.titles, self.keys)
        )
        columns = {name: KeptColumn.of(values) for name, values in self.columns.items()}
        return Documents(ids, codes, texts, titles, keys, columns, self.weights)


def check_documents(
    texts: Any,
    labels: ArrayLike | Sequence[Any] | None,
    titles: Sequence[str] | None = None,
    keys: Sequence[str | None] | None = None,
    columns: Mapping[str, Sequence[Value]] | None = None,
) -> NewTexts:
    """Demand texts with a label each, or None; with a title each, a key each and a value in each column, or none."""
    checked = check_texts(texts)
    names = None if titles is None else check_texts(titles)
    if names is not None and len(names) != len(checked):
        raise ValueError(f"Expected one title per text ({len(checked)}), got {len(names)}.")
    return NewTexts(
        checked,
        _some_labels(labels, len(checked)),
        names,
        None if keys is None else _keys(keys, len(checked)),
        check_columns(columns, len(checked)),
    )


def _keys(keys: Sequence[str | None], count: int) -> list[str]:
    """Demand a key for each text, None where it has none; no key twice."""
    checked = check_texts(["" if key is None else key for key in keys])
    if len(checked) != count:
        raise ValueError(f"Expected one key per text ({count}), got {len(checked)}.")
    again = [key for key, times in Counter(checked).items() if key and times > 1]
    if again:
        raise ValueError(
            f"Expected keys that differ from each other, but {first_few(list(map(repr, again)))} come more than once."
        )
    return checked


def _some_labels(labels: ArrayLike | Sequence[Any] | None, count: int) -> list[Any]:
    """Demand labels as `check_labels` does, or None for a document without one."""
    if labels is None:
        return [None] * count
    values: list[Any] = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)  # type: ignore[arg-type]
    if len(values) != count:
        raise ValueError(f"Expected one label per text ({count}), got {len(values)}.")
    labelled = [row for row, value in enumerate(values) if value is not None]
    _refuse_missing([(row, values[row]) for row in labelled], "labels", "Leave these rows out.")
    checked = check_labels([values[row] for row in labelled], len(labelled)).tolist()
    found: list[Any] = [None] * count
    shared: dict[Any, Any] = {}  # one object for each label, not for each document
    for row, label in zip(labelled, checked, strict=True):
        found[row] = shared.setdefault(label, label)
    return found


def check_texts(texts: Any) -> list[str]:
    """Demand a sequence of texts: anything else is a TypeError, a text that UTF-8 cannot hold a ValueError.

    Examples
    --------
    >>> check_texts("a cat")
    Traceback (most recent call last):
        ...
    TypeError: Expected a sequence of texts, got one text. Put it into a list: [text].
    """
    if isinstance(texts, str | bytes):
        raise TypeError("Expected a sequence of texts, got one text. Put it into a list: [text].")
    if isinstance(texts, Corpus):
        raise TypeError("Expected a sequence of texts, got a Corpus. Pass corpus.texts and corpus.labels.")
    if getattr(texts, "ndim", 1) != 1 or hasattr(texts, "tocsr"):
        raise TypeError("Expected a sequence of texts, got a matrix. For counts use TreeWassersteinClassifier.")
    checked = list(texts)
    wrong = np.array([row for row, text in enumerate(checked) if not isinstance(text, str)])
    if wrong.size:
        _refuse_missing(enumerate(checked), "texts", 'Fill them, as by fillna("") in pandas, or leave these rows out.')
        raise TypeError(
            f"Expected texts as str, but row(s) {first_few(wrong)} are not: row {wrong[0]} is "
            f"{type(checked[wrong[0]]).__name__}."
        )
    _refuse_halves(checked, "texts")
    return [str(text) for text in checked]


def _refuse_missing(rows: Iterable[tuple[int, Any]], name: str, remedy: str) -> None:
    """Refuse None and the missing values of pandas and NumPy, given with the numbers of their rows."""
    missing = [row for row, value in rows if _is_missing(value)]
    if missing:
        raise TypeError(
            f"Expected {name} without gaps, but the value of row(s) {first_few(missing)} is missing. {remedy}"
        )


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _refuse_halves(texts: Sequence[str], name: str) -> None:
    """Refuse halves of surrogate pairs, which no file can hold: before learning, not when the model is saved."""
    wrong = np.array([row for row, text in enumerate(texts) if not text.isascii() and not _is_whole(text)])
    if wrong.size:
        raise ValueError(
            f"Expected {name} of whole characters, but row(s) {first_few(wrong)} hold halves of surrogate pairs. "
            "Decode them as what they are, or with errors='replace'."
        )


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_query(text: Any) -> str:
    """Demand one text."""
    if not isinstance(text, str):
        raise TypeError(f"Expected one text as str, got {type(text).__name__}.")
    return str(text)


def check_count(k: Any) -> int:
    """Demand a number of documents to find."""
    return check_integer("k", k)


def check_labels(labels: ArrayLike, count: int) -> NDArray[Any]:
    """Demand one label per text, all of them str or all of them int, which a file can hold.

    Examples
    --------
    >>> check_labels([1, "one"], 2)
    Traceback (most recent call last):
        ...
    TypeError: Expected labels that are all str or all int, got int and str.
    """
    values: Sequence[Any] = list(labels) if not isinstance(labels, np.ndarray) else labels.tolist()  # type: ignore[arg-type]
    if len(values) != count:
        raise ValueError(f"Expected one label per text ({count}), got {len(values)}.")
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    _refuse_missing(enumerate(values), "labels", "Leave these rows out.")
    kinds = sorted({type(value).__name__ for value in values})
    if kinds not in (["int"], ["str"], []):
        raise TypeError(f"Expected labels that are all str or all int, got {' and '.join(kinds)}.")
    if kinds == ["int"] and not all(-(2**63) <= value < 2**63 for value in values):
        raise ValueError("Expected labels that fit 64 bits.")
    if kinds == ["str"]:
        _refuse_halves(values, "labels")
        with_nul = np.array([row for row, value in enumerate(values) if "\0" in value])
        if with_nul.size:
            raise ValueError(f"Expected labels without NUL characters, but row(s) {first_few(with_nul)} have some.")
    return np.array(values, dtype=np.int64 if kinds == ["int"] else np.str_)


def labels_like(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[Any]:
    """Demand labels of the kind, str or int, that a model has; no labels at all are of either kind."""
    known = np.array(classes)
    if labels.size and not known.size:
        raise ValueError(
            f"Expected documents without labels, as those that the model was learned from, got the label "
            f"{labels.tolist()[0]!r}. Use update, which learns labels."
        )
    if labels.size and labels.dtype.kind != known.dtype.kind:
        raise ValueError(f"Expected labels such as {classes[0]!r}, got {labels.tolist()[0]!r}.")
    return labels if labels.size else known[:0]


def class_numbers(labels: Sequence[Any], classes: Sequence[Any]) -> NDArray[np.int32]:
    """Look up the number of each label, -1 for None, among classes, which are sorted; others are a ValueError."""
    given = [label for label in labels if label is not None]
    labels_like(check_labels(given, len(given)), classes)
    numbers = {label: number for number, label in enumerate(classes)}
    new = sorted(set(given) - numbers.keys())
    if new:
        listed = first_few([repr(label) for label in new])
        raise ValueError(
            f"Expected labels that the model has learned, got {listed}. Use update, which learns new ones."
        )
    return np.array([-1 if label is None else numbers[label] for label in labels], dtype=np.int32)
