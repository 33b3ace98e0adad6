"""Texts that say nearly the same: an exact join on the word triples that they share."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["LIKENESS", "alike_pairs", "triple_sets"]

LIKENESS = 0.5  # triples that two near-duplicates share, of all that one of them holds
_WORD = re.compile(r"\w+")
_ROWS = 256  # that are joined at a time
_ENTRIES = 1 << 22  # of pairs of rows that are compared at a time


def triple_sets(texts: Iterable[str]) -> csr_array:
    """Find the triples of successive words in each text: ones, shape (n_texts, n_triples), the rarest triples first.

    A text of one or two words has one entry, itself.

    Examples
    --------
    >>> triple_sets(["The cat sat on", "the cat sat", "the cat"]).toarray()
    array([[0, 1, 1],
           [0, 0, 1],
           [1, 0, 0]], dtype=int32)
    """
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {"": 0}  # what follows the end of a short text
    lengths, flat = array("q"), array("q")
    for text in texts:
        words = _WORD.findall(text.lower())
        words += [""] * (3 - len(words) if words else 0)
        lengths.append(len(words))
        flat.extend([numbers.setdefault(word, len(numbers)) for word in words])
    codes, owners = np.array(flat), np.repeat(np.arange(len(lengths)), np.array(lengths))
    inside = np.flatnonzero(owners[:-2] == owners[2:])
    triples = _numbered(_numbered(codes[inside], codes[inside + 1]), codes[inside + 2])
    shape = (len(lengths), int(triples.max(initial=-1)) + 1)
    found = csr_array((np.ones(inside.size, dtype=np.int32), (owners[inside], triples)), shape=shape)
    found.sum_duplicates()
    order = np.argsort(np.bincount(found.indices, minlength=found.shape[1]), kind="stable")
    found.data[:] = 1
    found.indices = np.argsort(order).astype(found.indices.dtype)[found.indices]
    found.has_sorted_indices = False
    found.sort_indices()
    return found


def _numbered(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give equal pairs of numbers the same number, from 0 on."""
    return np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)[1]


def alike_pairs(sets: csr_array) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Find every two rows that share at least `LIKENESS` of their entries: shared ones over all of both.

    Yields pairs, shape (n_pairs, 2), the smaller row first, and what each shares, some at a time.

    Entries are in the order of columns. Of two rows that are so alike, the first few of each hold a common one, so that
    only rows that do are compared; rare columns first make these few.
    """
    sizes = np.diff(sets.indptr)
    few = sizes - np.ceil(LIKENESS * sizes).astype(sizes.dtype) + 1
    shown = sets.copy()
    shown.data = (np.arange(sets.nnz) - np.repeat(sets.indptr[:-1], sizes) < np.repeat(few, sizes)).astype(np.int32)
    shown.eliminate_zeros()
    by_column = shown.T.tocsr()
    for start in range(0, shown.shape[0], _ROWS):
        block = (shown[start : start + _ROWS] @ by_column).tocoo()
        candidates = np.stack([block.row.astype(np.int64) + start, block.col.astype(np.int64)], axis=1)
        candidates = candidates[candidates[:, 0] < candidates[:, 1]]
        n_entries = np.cumsum(sizes[candidates].sum(axis=1, dtype=np.int64))
        cuts = np.flatnonzero(np.diff(n_entries // _ENTRIES)) + 1
        for pairs in np.split(candidates, cuts):
            shared = np.asarray(sets[pairs[:, 0]].multiply(sets[pairs[:, 1]]).sum(axis=1)).ravel()
            likeness = shared / (sizes[pairs].sum(axis=1) - shared)
            alike = likeness >= LIKENESS
            yield pairs[alike], likeness[alike]
