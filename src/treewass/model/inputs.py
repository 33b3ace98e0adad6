"""Texts, labels and titles at the door of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.corpus import Corpus
from treewass.documents.histograms import first_few

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_documents", "check_labels", "check_query", "check_texts", "labels_like"]


def check_documents(
    texts: Any, labels: ArrayLike, titles: Sequence[str] | None
) -> tuple[list[str], NDArray[Any], list[str] | None]:
    """Demand texts with a label each, and with a title each or none at all."""
    checked = check_texts(texts)
    names = None if titles is None else check_texts(titles)
    if names is not None and len(names) != len(checked):
        raise ValueError(f"Expected one title per text ({len(checked)}), got {len(names)}.")
    return checked, check_labels(labels, len(checked)), names


def check_texts(texts: Any) -> list[str]:
    """Demand a sequence of texts.

    Raises
    ------
    TypeError
        For a single text, and for anything that is no text.
    ValueError
        For texts that UTF-8 cannot hold.

    Examples
    --------
    >>> check_texts(("a cat", "a dog"))
    ['a cat', 'a dog']
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
        raise TypeError(
            f"Expected texts as str, but row(s) {first_few(wrong)} are not: row {wrong[0]} is "
            f"{type(checked[wrong[0]]).__name__}."
        )
    _refuse_halves(checked, "texts")
    return [str(text) for text in checked]


def _refuse_halves(texts: Sequence[str], name: str) -> None:
    """Refuse halves of surrogate pairs, which no file can hold: before learning, not when the model is saved."""
    wrong = np.array([row for row, text in enumerate(texts) if not _is_whole(text)])
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
    """Demand one text.

    Examples
    --------
    >>> check_query(["a cat"])
    Traceback (most recent call last):
        ...
    TypeError: Expected one text as str, got list.
    """
    if not isinstance(text, str):
        raise TypeError(f"Expected one text as str, got {type(text).__name__}.")
    return str(text)


def check_labels(labels: ArrayLike, count: int) -> NDArray[Any]:
    """Demand one label a text, all of them str or all of them int: what a file can hold.

    Returns
    -------
    ndarray of str or of int64, shape (count,)

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
    """Demand labels of the kind, str or int, that a model has; no labels at all are of either kind.

    Raises
    ------
    ValueError
        For labels of the other kind.

    Examples
    --------
    >>> labels_like(np.array(["1"]), (1, 2))
    Traceback (most recent call last):
        ...
    ValueError: Expected labels such as 1, got '1'.
    """
    known = np.array(classes)
    if labels.size and labels.dtype.kind != known.dtype.kind:
        raise ValueError(f"Expected labels such as {classes[0]!r}, got {labels.tolist()[0]!r}.")
    return labels if labels.size else known[:0]
