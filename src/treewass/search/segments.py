"""A group of documents turned by feature, ready to be scanned; it never changes once made."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.search.alignment import aligned_zeros
from treewass.search.layout import layout_of
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["ABSENT", "Segment", "build_segment", "merge_documents"]

ABSENT = np.iinfo(np.int32).max  # stands for the norm of a document that is no neighbour
TILE = 8192  # documents a tile, at most: what a thread adds up stays in the nearest cache
WIDE_LIMIT = 2048  # up to this many documents values are held whole, beyond it in 16 bits
LONG_LIMIT = 32768  # the same for long documents, of which 16 bits leave too many to be compared again
LONG = 128  # words a document on average
PIECE = 256  # documents of a piece where a narrow segment is a single tile
# Where things stand in a description: addresses of arrays, then numbers.
(
    IDS, DOCUMENT_BOUNDS, DOCUMENT_WORDS, SINGLE_WEIGHTS, DOUBLE_WEIGHTS, NORMS, DIRECTORY, DENSE, POSTINGS,
    EMBEDDED_BOUNDS, EMBEDDED, N_DOCUMENTS, TILE_SIZE, PIECE_SIZE, N_TILES, N_ROWS, N_POSTINGS,
    IS_NARROW, SHIFT, N_WEIGHTS, IS_SINGLE, N_DIRECTORY, N_EMBEDDED, SEGMENT_SIZE,
) = range(24)  # fmt: skip
COUNT_BITS = 14  # of an entry of the directory: as many postings as a tile has documents fit


@dataclass(frozen=True, eq=False)
class Segment:
    """Documents, once as the words they were given as and once by feature.

    Parameters
    ----------
    ids : ndarray of int64, shape (n_documents,)
        Ascending.
    held : ndarray of bool, shape (n_documents,)
        False for documents that were removed.
    document_bounds : ndarray of int64, shape (n_documents + 1,)
        Where each document's words begin.
    words : ndarray of int32
        Words of the documents, ascending in each.
    weights : ndarray of float32 or float64
        Their counts; float32 where that loses nothing.
    norms : ndarray of int32, shape (n_tiles * tile,)
        L1 norms of the embedded documents, in units; ABSENT for those that were removed, hold no known word, or only
        fill up the last tile.
    directory : ndarray of int64, shape (n_features * n_tiles,)
        Where each feature is found in each tile: ``~row`` for a dense row, ``start << COUNT_BITS | count`` for
        postings.
    dense : ndarray of int32 or uint16, shape (n_tiles, n_pieces, n_rows, piece)
        Values of the features that many documents have; a tile is one piece, or several, for a batch of queries to
        go through one after the other.
    postings : ndarray of uint64 or uint32
        The place of a document in its tile (upper half) and its value (lower half).
    shift : int
        How many bits the values have lost; 0 if none.
    n_words : int
        Number of words of the metric.
    """

    ids: NDArray[np.int64]
    held: NDArray[np.bool_]
    document_bounds: NDArray[np.int64]
    words: NDArray[np.int32]
    weights: NDArray[Any]
    norms: NDArray[np.int32]
    directory: NDArray[np.int64]
    dense: NDArray[Any]
    postings: NDArray[Any]
    shift: int
    n_words: int

    def __reduce__(self) -> tuple[type[Segment], tuple[Any, ...]]:
        return Segment, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def is_narrow(self) -> bool:
        """Whether values are held in 16 bits, and neighbours are therefore compared again."""
        return bool(self.dense.dtype == np.uint16)

    @property
    def tile(self) -> int:
        """Documents a tile."""
        return int(self.dense.shape[1] * self.dense.shape[3])

    @cached_property
    def n_held(self) -> int:
        """Documents that were not removed."""
        return int(self.held.sum())

    @cached_property
    def searchable(self) -> NDArray[np.intp]:
        """Positions of the documents that can be neighbours."""
        return np.flatnonzero(self.norms[: self.ids.size] != ABSENT)

    @property
    def n_searchable(self) -> int:
        """How many documents can be neighbours."""
        return self.searchable.size

    @cached_property
    def description(self) -> NDArray[np.int64]:
        """Addresses and numbers for the compiled loops; what belongs to embedded documents is left at 0."""
        from treewass.search.kernels.views import describe

        n_tiles, _, n_rows, piece = self.dense.shape
        arrays = (
            self.ids, self.document_bounds, self.words, self.weights, self.weights, self.norms, self.directory,
            self.dense, self.postings,
        )  # fmt: skip
        numbers = (
            0, 0, self.ids.size, self.tile, piece, n_tiles, n_rows, self.postings.size, self.is_narrow, self.shift,
            self.weights.size, self.weights.dtype == np.float32, self.directory.size, 0,
        )  # fmt: skip
        return describe(arrays, numbers)

    @property
    def n_bytes(self) -> int:
        """Bytes that the arrays take."""
        arrays = [*vars(self).values(), *(vars(self).get("_embedded") or ())]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def without(self, positions: NDArray[np.intp]) -> Segment:
        """Return the segment with some documents removed; all else is shared with this one.

        Parameters
        ----------
        positions : ndarray of int
            Positions in the segment.
        """
        held, norms = self.held.copy(), self.norms.copy()
        held[positions] = False
        norms[positions] = ABSENT
        fewer = replace(self, held=held, norms=norms)
        if "_embedded" in vars(self):  # what they are embedded as stays the same
            vars(fewer)["_embedded"] = vars(self)["_embedded"]
        return fewer

    def documents(self) -> csr_array:
        """Return the documents that are held, as counts."""
        from scipy.sparse import csr_array

        arrays = (self.weights.astype(np.float64), self.words, self.document_bounds)
        counts = csr_array(arrays, shape=(self.ids.size, self.n_words))
        counts.check_format(full_check=True)  # they may come from a file that was not verified
        return counts if self.held.all() else counts[self.held]


def build_segment(
    metric: TreeMetric, counts: csr_array, ids: NDArray[np.int64] | None = None, *, wide: bool = False
) -> Segment:
    """Embed documents and turn them by feature.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    counts : csr_array of shape (n_documents, n_words), float64
        Canonical, as `check_counts` makes it.
    ids : ndarray of int64, shape (n_documents,), optional
        Ascending; row numbers by default.
    wide : bool, default=False
        Whether to hold values whole however many documents there are.

    Returns
    -------
    Segment
    """
    from treewass.search.kernels.segments import count_entries, fill

    layout = layout_of(metric)
    n_documents = counts.shape[0]
    is_long = counts.nnz > LONG * n_documents
    narrow = not wide and n_documents > (LONG_LIMIT if is_long else WIDE_LIMIT)
    is_cut = narrow and PIECE < n_documents <= TILE
    multiple = PIECE if is_cut else 64
    tile = min(TILE, max(64, -(-n_documents // multiple) * multiple))
    piece = PIECE if is_cut else tile
    n_tiles = max(1, -(-n_documents // tile))
    bounds, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int32, copy=False)
    entries = np.zeros(metric.n_features * n_tiles, dtype=np.int64)
    norms = np.full(n_tiles * tile, ABSENT, dtype=np.int32)
    overflowing = count_entries(layout.description, bounds, words, counts.data, tile, entries, norms)
    if overflowing >= 0:
        raise ValueError(f"Expected row totals that fit a float64, but row {overflowing} overflows. Scale X down.")
    norms[norms < 0] = ABSENT
    shift = max(0, int(norms[norms != ABSENT].max(initial=0)).bit_length() - 16) if narrow else 0
    directory, n_rows, n_postings = _make_directory(entries.reshape(-1, n_tiles), n_documents)
    dense = aligned_zeros((n_tiles, tile // piece, n_rows, piece), np.uint16 if narrow else np.int32)
    postings = np.empty(n_postings, dtype=np.uint32 if narrow else np.uint64)
    bits = 16 if narrow else 32
    fill(
        layout.description, bounds, words, counts.data, tile, shift, bits, COUNT_BITS, directory.copy(), dense, postings
    )
    return Segment(
        ids=np.arange(n_documents, dtype=np.int64) if ids is None else ids,
        held=np.ones(n_documents, dtype=bool),
        document_bounds=bounds,
        words=words,
        weights=_compact(counts.data),
        norms=norms,
        directory=directory,
        dense=dense,
        postings=postings,
        shift=shift,
        n_words=metric.n_words,
    )


def merge_documents(
    segments: list[Segment], counts: csr_array | None = None, ids: NDArray[np.int64] | None = None
) -> tuple[csr_array, NDArray[np.int64]]:
    """Collect the documents that some segments hold, and new ones, in the order of their ids.

    Parameters
    ----------
    segments : list of Segment
        Any number.
    counts : csr_array of shape (n_documents, n_words), float64, optional
        New documents.
    ids : ndarray of int64, shape (n_documents,), optional
        Their ids.

    Returns
    -------
    counts : csr_array of shape (n_documents, n_words), float64
    ids : ndarray of int64, shape (n_documents,)
        Ascending.
    """
    from scipy.sparse import vstack

    blocks = [segment.documents() for segment in segments] + ([] if counts is None else [counts])
    all_ids = np.concatenate([*(s.ids[s.held] for s in segments), *([] if ids is None else [ids])])
    order = np.argsort(all_ids)
    merged = blocks[0] if len(blocks) == 1 else vstack(blocks, format="csr")
    return (merged if (order[:-1] < order[1:]).all() else merged[order]), all_ids[order]


def _make_directory(entries: NDArray[np.int64], n_documents: int) -> tuple[NDArray[np.int64], int, int]:
    """Choose dense rows and places for postings; return the directory and how many there are of both.

    Scanning a dense row takes a fraction of the time a document, but reads every one of them: it pays for a feature
    that more than one document in eight has.
    """
    frequent = np.flatnonzero(entries.sum(axis=1) * 8 > n_documents)
    counts = entries.copy()
    counts[frequent] = 0
    ends = np.cumsum(counts).reshape(counts.shape)
    directory = ((ends - counts) << COUNT_BITS) | counts
    directory[frequent] = ~np.arange(frequent.size)[:, None]
    return directory.ravel(), frequent.size, int(counts.sum())


def _compact(weights: NDArray[np.float64]) -> NDArray[Any]:
    """Hold weights as float32 if every one of them is the same number then."""
    with np.errstate(over="ignore"):
        single = weights.astype(np.float32)
    return single if np.array_equal(single, weights) else weights.copy()
