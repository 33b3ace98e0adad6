"""Documents turned by feature, ready to be scanned.

|x − y|₁ = |x|₁ + |y|₁ − 2 Σ min(x, y), so a comparison visits the features of one side only. A feature that many
documents have is a dense row with one number per document. Any other feature is a list of postings, each the place of
a document and its value, packed into one integer. Documents come in tiles, so that what a thread adds up stays in the
nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treewass.compute.records import aligned_zeros, describe, record_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "COLUMNS",
    "COUNT_BITS",
    "GROUP",
    "TILE",
    "Columns",
    "EmbeddedRows",
    "build_columns",
    "tile_size",
]

ABSENT = np.iinfo(np.int32).max  # the norm of a document that is no neighbour
TILE = 8192  # documents in a tile, at most
GROUP = 8  # dense rows added up at a time
COUNT_BITS = 14  # of an entry of the directory: as many postings as a tile has documents fit
COLUMNS = record_of(
    "norms", "directory", "dense", "postings",
    "n_documents", "tile", "piece", "n_tiles", "n_rows", "n_postings", "n_directory", "shift",
)  # fmt: skip


class EmbeddedRows(NamedTuple):
    """Embedded documents in units: where each begins, its features and values, and whether it holds a known word."""

    bounds: NDArray[np.int64]
    features: NDArray[np.int32]
    values: NDArray[Any]
    known: NDArray[np.bool_]

    @property
    def norms(self) -> NDArray[np.int64]:
        """The L1 norm of each document."""
        ends = np.concatenate([[0], np.cumsum(self.values)])
        return np.asarray(ends[self.bounds[1:]] - ends[self.bounds[:-1]])

    def part(self, start: int, stop: int) -> EmbeddedRows:
        """Return the documents from `start` to `stop`."""
        bounds = self.bounds[start : stop + 1]
        own = slice(bounds[0], bounds[-1])
        return EmbeddedRows(bounds - bounds[0], self.features[own], self.values[own], self.known[start:stop])


@dataclass(frozen=True, eq=False)
class Columns:
    """Documents by feature.

    Parameters
    ----------
    norms : ndarray of int32, shape (n_tiles * tile,)
        L1 norms of the embedded documents, in units; ABSENT for those that are no neighbours.
    directory : ndarray of int64, shape (n_features * n_tiles,)
        Where each feature is found in each tile: ``~row`` for a dense row, ``start << COUNT_BITS | count`` for
        postings.
    dense : ndarray of int32 or uint16, shape (n_tiles, n_pieces, n_rows, piece)
        Values of the features that many documents have. A tile is one piece, or several for a batch of queries to go
        through one after the other.
    postings : ndarray of uint64 or uint32
        The place of a document in its tile (upper half) and its value (lower half).
    shift : int
        How many bits the values have lost; 0 if none.
    """

    norms: NDArray[np.int32]
    directory: NDArray[np.int64]
    dense: NDArray[Any]
    postings: NDArray[Any]
    shift: int

    def described(self, n_documents: int) -> dict[str, NDArray[Any] | int]:
        """Return the fields that COLUMNS names."""
        n_tiles, n_pieces, n_rows, piece = self.dense.shape
        return {
            "norms": self.norms, "directory": self.directory, "dense": self.dense, "postings": self.postings,
            "n_documents": n_documents, "tile": n_pieces * piece, "piece": piece, "n_tiles": n_tiles,
            "n_rows": n_rows, "n_postings": self.postings.size, "n_directory": self.directory.size,
            "shift": self.shift,
        }  # fmt: skip

    def description(self, n_documents: int) -> NDArray[np.int64]:
        """Describe the columns for the compiled loops."""
        return describe(COLUMNS, **self.described(n_documents))


def tile_size(n_documents: int, multiple: int = 64, most: int = TILE) -> int:
    """Choose the size of tiles, at most `most`.

    Examples
    --------
    >>> tile_size(5), tile_size(65), tile_size(10**6)
    (64, 128, 8192)
    """
    return min(most, max(64, -(-n_documents // multiple) * multiple))


def build_columns(
    embedded: Callable[[int, int], EmbeddedRows],
    n_documents: int,
    n_features: int,
    *,
    tile: int,
    piece: int | None = None,
    narrow: bool = False,
) -> Columns:
    """Turn documents by feature, in two passes.

    Parameters
    ----------
    embedded : callable
        Returns the embedded documents from a start to a stop. Called twice for each tile, or once if there is one.
    n_documents, n_features : int
        How many there are.
    tile : int
        Documents in a tile, as `tile_size` chooses it.
    piece : int, optional
        Documents in a piece; the tile by default.
    narrow : bool, default=False
        Whether to hold values in 16 bits, less as many of their last bits as that takes.

    Returns
    -------
    Columns
    """
    from treewass.trees.column_kernels import fill_tile

    piece, n_tiles = piece or tile, max(1, -(-n_documents // tile))
    rows_of = lru_cache(maxsize=1)(lambda number: embedded(number * tile, min((number + 1) * tile, n_documents)))
    entries = np.empty((n_features, n_tiles), dtype=np.int64)
    norms = np.full(n_tiles * tile, ABSENT, dtype=np.int32)
    for number in range(n_tiles):
        rows = rows_of(number)
        entries[:, number] = np.bincount(rows.features, minlength=n_features)
        norms[number * tile :][: rows.known.size] = np.where(rows.known, rows.norms, ABSENT)
    shift = max(0, int(norms[norms != ABSENT].max(initial=0)).bit_length() - 16) if narrow else 0
    directory, n_rows, n_postings = _make_directory(entries, n_documents)
    dense = aligned_zeros((n_tiles, tile // piece, n_rows, piece), np.uint16 if narrow else np.int32)
    postings = np.empty(n_postings, dtype=np.uint32 if narrow else np.uint64)
    for number in range(n_tiles):
        bounds, features, values, _ = rows_of(number)
        fill_tile(bounds, features, values, shift, directory[:, number].copy(), dense[number], postings)
    return Columns(norms, directory.ravel(), dense, postings, shift)


def _make_directory(entries: NDArray[np.int64], n_documents: int) -> tuple[NDArray[np.int64], int, int]:
    """Choose dense rows and places for postings; return the directory and how many there are of both.

    Scanning a dense row takes a fraction of the time per document, but reads every one of them. It pays for a feature
    that more than one document in eight has.
    """
    frequent = np.flatnonzero(entries.sum(axis=1) * 8 > n_documents)
    counts = entries.copy()
    counts[frequent] = 0
    ends = np.cumsum(counts).reshape(counts.shape)
    directory = ((ends - counts) << COUNT_BITS) | counts
    directory[frequent] = ~np.arange(frequent.size)[:, None]
    return directory, frequent.size, int(counts.sum())
