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
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treewass.compute.records import aligned_zeros, describe, record_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ABSENT",
    "COLUMNS",
    "COUNT_BITS",
    "GROUP",
    "TILE",
    "Columns",
    "EmbeddedRows",
    "build_columns",
    "compact_directory",
    "tile_size",
]

ABSENT = np.iinfo(np.int32).max  # the norm of a document that is no neighbour
TILE = 8192  # documents in a tile, at most
SEVERAL = 8064  # the same if there are several: rows that begin a power of two apart get in each other's way in caches
GROUP = 8  # dense rows added up at a time
COUNT_BITS = 14  # of an entry of the directory: as many postings as a tile has documents fit, and as many tiles
_COUNT = (1 << COUNT_BITS) - 1
COLUMNS = record_of(
    "norms", "directory", "tiles", "starts", "dense", "postings",
    "n_documents", "tile", "n_tiles", "n_rows", "n_postings", "n_directory", "n_places", "shift",
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
    directory : ndarray of int64, shape (n_features,)
        Where each feature is found: ``~row`` for a dense row, ``start << COUNT_BITS | count`` for postings in the only
        tile, or for its places in `tiles` if there are several tiles.
    tiles : ndarray of uint16, shape (n_places,)
        The tiles that have postings of a feature, ascending, feature after feature; empty if there is one tile only.
    starts : ndarray of uint32, shape (n_places + 1,)
        Where these postings begin; the last number is where all of them end.
    dense : ndarray of int32 or uint16, shape (n_tiles, n_rows, tile)
        Values of the features that many documents have.
    postings : ndarray of uint64 or uint32
        The place of a document in its tile (upper half) and its value (lower half).
    shift : int
        How many bits the values have lost; 0 if none.
    """

    norms: NDArray[np.int32]
    directory: NDArray[np.int64]
    tiles: NDArray[np.uint16]
    starts: NDArray[np.uint32]
    dense: NDArray[Any]
    postings: NDArray[Any]
    shift: int

    def described(self, n_documents: int) -> dict[str, NDArray[Any] | int]:
        """Return the fields that COLUMNS names."""
        n_tiles, n_rows, tile = self.dense.shape
        return {
            "norms": self.norms, "directory": self.directory, "tiles": self.tiles, "starts": self.starts,
            "dense": self.dense, "postings": self.postings,
            "n_documents": n_documents, "tile": tile, "n_tiles": n_tiles, "n_rows": n_rows,
            "n_postings": self.postings.size, "n_directory": self.directory.size,
            "n_places": self.tiles.size, "shift": self.shift,
        }  # fmt: skip

    def entries(self, features: ArrayLike) -> NDArray[np.int64]:
        """Return where some features are found in each tile: dense rows as ``~row``, postings as start and count.

        Parameters
        ----------
        features : array-like of int, shape (n,)
            Any features.

        Returns
        -------
        ndarray of int64, shape (n, n_tiles)
            ``~row``, or ``start << COUNT_BITS | count``, or 0 for a tile without the feature.
        """
        found = self.directory[np.asarray(features, dtype=np.intp)]
        if not self.tiles.size:
            return np.repeat(found[:, None], self.dense.shape[0], axis=1)
        entries = np.repeat(np.minimum(found, 0)[:, None], self.dense.shape[0], axis=1)
        counts = np.maximum(found, 0) & _COUNT
        rows, ends = np.repeat(np.arange(found.size), counts), np.cumsum(counts)
        places = np.arange(rows.size) + np.repeat((found >> COUNT_BITS) - (ends - counts), counts)
        starts = self.starts[np.stack([places, places + 1])].astype(np.int64)
        entries[rows, self.tiles[places]] = starts[0] << COUNT_BITS | (starts[1] - starts[0])
        return entries

    def description(self, n_documents: int) -> NDArray[np.int64]:
        """Describe the columns for the compiled loops."""
        return describe(COLUMNS, **self.described(n_documents))


def tile_size(n_documents: int, most: int = TILE) -> int:
    """Choose the size of tiles, at most `most`.

    Examples
    --------
    >>> tile_size(5), tile_size(65), tile_size(8192), tile_size(10**6)
    (64, 128, 8192, 8064)
    """
    return min(most, SEVERAL) if n_documents > most else min(most, max(64, -(-n_documents // 64) * 64))


def build_columns(
    embedded: Callable[[int, int], EmbeddedRows],
    n_documents: int,
    n_features: int,
    *,
    tile: int,
    narrow: bool = False,
) -> Columns:
    """Turn documents by feature, in two passes.

    Scanning a dense row takes a fraction of the time per document, but reads every one of them. It pays for a feature
    that more than one document in eight has.

    Parameters
    ----------
    embedded : callable
        Returns the embedded documents from a start to a stop. Called twice for each tile, or once if there is one.
    n_documents, n_features : int
        How many there are.
    tile : int
        Documents in a tile, as `tile_size` chooses it.
    narrow : bool, default=False
        Whether to hold values in 16 bits, less as many of their last bits as that takes.

    Returns
    -------
    Columns
    """
    from treewass.trees.column_kernels import fill_tile

    n_tiles = max(1, -(-n_documents // tile))
    rows_of = lru_cache(maxsize=1)(lambda number: embedded(number * tile, min((number + 1) * tile, n_documents)))
    counts = np.zeros(n_features, dtype=np.int64)
    present: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []  # features of each tile, and how many have them
    norms = np.full(n_tiles * tile, ABSENT, dtype=np.int32)
    for number in range(n_tiles):
        rows = rows_of(number)
        own = np.bincount(rows.features, minlength=n_features)
        there = np.flatnonzero(own)
        present.append((there, own[there]))
        counts += own
        norms[number * tile :][: rows.known.size] = np.where(rows.known, rows.norms, ABSENT)
    shift = max(0, int(norms[norms != ABSENT].max(initial=0)).bit_length() - 16) if narrow else 0
    is_dense = counts * 8 > n_documents
    directory, tiles, starts, entries = _make_directory(present, is_dense)
    n_rows, n_postings = int(np.count_nonzero(is_dense)), int(counts[~is_dense].sum())
    dense = aligned_zeros((n_tiles, n_rows, tile), np.uint16 if narrow else np.int32)
    postings = np.empty(n_postings, dtype=np.uint32 if narrow else np.uint64)
    moving = np.empty(n_features, dtype=np.int64)
    for number in range(n_tiles):
        bounds, features, values, _ = rows_of(number)
        there, first = entries[number]
        moving[there] = first
        fill_tile(bounds, features, values, shift, moving, dense[number], postings)
    return Columns(norms, directory, tiles, starts, dense, postings, shift)


def _make_directory(
    present: list[tuple[NDArray[np.intp], NDArray[np.intp]]], is_dense: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint32], list[tuple[NDArray[np.intp], NDArray[np.int64]]]]:
    """Give dense rows and postings their places.

    Returns directory, `tiles` and `starts` as `Columns` holds them, and of each tile its features and their entries.
    """
    features, counts = (np.concatenate(one) for one in zip(*present, strict=True))
    tiles = np.repeat(np.arange(len(present)), [own.size for own, _ in present])
    counts = np.where(is_dense[features], 0, counts)
    order = np.lexsort((tiles, features))
    ends = np.cumsum(counts[order])
    check_limits(len(present), int(ends[-1]) if ends.size else 0)
    starts = np.empty_like(counts)
    starts[order] = ends - counts[order]
    rows = np.cumsum(is_dense) - 1
    entries = np.where(is_dense[features], ~rows[features], starts << COUNT_BITS | counts)
    bounds = np.cumsum([0, *(own.size for own, _ in present)])
    by_tile = [(features[a:b], entries[a:b]) for a, b in pairwise(bounds.tolist())]
    listed = order[~is_dense[features[order]]]
    own = counts[listed] if len(present) == 1 else np.ones(listed.size, np.int64)
    numbers = np.bincount(features[listed], own, minlength=is_dense.size).astype(np.int64)
    directory = np.where(is_dense, ~rows, (np.cumsum(numbers) - numbers) << COUNT_BITS | numbers)
    if len(present) == 1:
        return directory, np.empty(0, np.uint16), np.zeros(1, np.uint32), by_tile
    ended = np.append(starts[listed], ends[-1] if ends.size else 0)
    return directory, tiles[listed].astype(np.uint16), ended.astype(np.uint32), by_tile


def check_limits(n_tiles: int, n_postings: int) -> None:
    """Refuse more documents than a directory can tell the places of."""
    if n_tiles > _COUNT or n_postings >= 2**32:
        raise ValueError(
            f"Expected at most {_COUNT} tiles of {TILE} documents and {2**32 - 1} postings in one group of documents, "
            f"got {n_tiles} tiles and {n_postings} postings. Split the documents: `ShardedIndex` searches several "
            "indexes as one."
        )


def compact_directory(
    entries: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint32]]:
    """Turn a directory with an entry for each feature and tile, as older files hold it, into that of present ones.

    Parameters
    ----------
    entries : ndarray of int64, shape (n_features, n_tiles)
        Of several tiles.

    Returns
    -------
    directory, tiles, starts : ndarray
        As `Columns` holds them.
    """
    check_limits(entries.shape[1], 0)
    is_dense = entries[:, 0] < 0
    features, tiles = np.nonzero((entries >= 0) & (entries & _COUNT > 0))
    found, n_tiles = entries[features, tiles], np.bincount(features, minlength=entries.shape[0])
    directory = np.where(is_dense, entries[:, 0], (np.cumsum(n_tiles) - n_tiles) << COUNT_BITS | n_tiles)
    end = (found[-1:] >> COUNT_BITS) + (found[-1:] & _COUNT) if found.size else np.zeros(1, np.int64)
    starts = np.concatenate([found >> COUNT_BITS, end]).clip(0, 2**32 - 1)
    return directory, tiles.astype(np.uint16), starts.astype(np.uint32)
