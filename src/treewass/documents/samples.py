"""A sample of documents that depends on their content alone: not on their order, nor on how they are divided."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DocumentSample", "Sampling", "document_hash"]

_OF_A_CLASS = 20  # documents of each class in the sample at least, where it has so many


def document_hash(text: str, label: Any) -> int:
    """Hash a document with its label, to 64 bits, the same on every machine.

    Examples
    --------
    >>> document_hash("cats purr", "cat") == document_hash("cats purr", "cat")
    True
    >>> document_hash("cats purr", "cat") == document_hash("cats purr", "dog")
    False
    """
    return int.from_bytes(blake2b(f"{label}\0{text}".encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """Which documents are in a sample: those of the smallest hashes, and the first 20 of each class.

    Samples of parts of the data add up to the sample of the whole. Equal documents of one label are one entry.

    Parameters
    ----------
    size : int
        The most distinct documents, not counting those that are there for their class.
    n_documents : int
        Documents that the sample was taken of.
    classes : tuple
        Their labels, sorted.
    hashes : ndarray of uint64, shape (n,)
        Ascending and distinct.
    codes : ndarray of int32, shape (n,)
        The class number of each.
    copies : ndarray of int64, shape (n,)
        How many documents have this hash.
    """

    size: int
    n_documents: int
    classes: tuple[Any, ...]
    hashes: NDArray[np.uint64]
    codes: NDArray[np.int32]
    copies: NDArray[np.int64]

    @property
    def is_whole(self) -> bool:
        """Whether there are no more documents than wanted, so that all of them are the sample."""
        return self.n_documents <= self.size

    def __add__(self, other: DocumentSample) -> DocumentSample:
        classes = tuple(sorted({*self.classes, *other.classes}))
        places = {label: place for place, label in enumerate(classes)}
        codes = [np.array([places[label] for label in one.classes], dtype=np.int32)[one.codes] for one in (self, other)]
        return _first(
            self.size,
            self.n_documents + other.n_documents,
            classes,
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate(codes),
            np.concatenate([self.copies, other.copies]),
        )


class Sampling:
    """Take a sample of documents that come one after the other; only hashes are kept.

    Examples
    --------
    >>> sampling = Sampling(2000)
    >>> for text in ("cats purr", "dogs bark", "cats purr"):
    ...     number = sampling.add(text, text[:3])
    >>> sample = sampling.sample()
    >>> sample.n_documents, sorted(sample.copies.tolist()), sample.is_whole
    (3, [1, 2], True)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._classes: dict[Any, int] = {}
        self._hashes, self._codes = array("Q"), array("i")
        self._before: DocumentSample | None = None

    def add(self, text: str, label: Any) -> int:
        """Take notice of a document; return its hash."""
        number = document_hash(text, label)
        self._hashes.append(number)
        self._codes.append(self._classes.setdefault(label, len(self._classes)))
        if len(self._hashes) > 4 * self._size:
            self._before = self.sample()
            self._hashes, self._codes = array("Q"), array("i")
        return number

    def sample(self) -> DocumentSample:
        """Return the sample of all documents so far."""
        labels = list(self._classes)
        classes = tuple(sorted(labels))
        places = np.array([classes.index(label) for label in labels], dtype=np.int32)
        codes = places[np.frombuffer(self._codes, np.int32)] if self._codes else np.zeros(0, np.int32)
        hashes = np.frombuffer(self._hashes, np.uint64)
        found = _first(self._size, hashes.size, classes, hashes, codes, np.ones(hashes.size, np.int64))
        return found if self._before is None else self._before + found


def _first(
    size: int,
    n_documents: int,
    classes: tuple[Any, ...],
    hashes: NDArray[np.uint64],
    codes: NDArray[np.int32],
    copies: NDArray[np.int64],
) -> DocumentSample:
    """Join equal documents, and keep those of the smallest hashes, in all and of each class."""
    distinct, first, places = np.unique(hashes, return_index=True, return_inverse=True)
    codes = codes[first]
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(classes)))
    ranks = np.empty(distinct.size, dtype=np.int64)
    ranks[order] = np.arange(distinct.size) - starts[codes[order]]
    kept = (np.arange(distinct.size) < size) | (ranks < _OF_A_CLASS)
    added = np.bincount(places, copies, distinct.size).astype(np.int64)
    return DocumentSample(size, n_documents, classes, distinct[kept], codes[kept], added[kept])
