"""A group of documents turned by feature, ready to be scanned; it never changes once made."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.records import describe, record_of
from treewass.compute.threads import cached_property
from treewass.documents.histograms import short_bounds
from treewass.search.word_lists import ListsOnce, Statistics
from treewass.trees.columns import (
    ABSENT,
    COLUMNS,
    TILE,
    Columns,
    EmbeddedRows,
    build_columns,
    tile_size,
)
from treewass.trees.embedding import embedded_rows
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = [
    "ARRAYS",
    "BEYOND",
    "SEGMENT",
    "Segment",
    "build_segment",
    "compact_weights",
    "merge_documents",
    "turned_documents",
]

WIDE_LIMIT = 32768  # up to this many documents values are held whole, beyond it in 16 bits
# The arrays of a segment, as its file holds them, and the kinds of numbers that they may have.
ARRAYS = {
    "ids": ("int64",), "held": ("bool",), "document_bounds": ("int64",), "words": ("int32",),
    "weights": ("uint8", "uint16", "float32", "float64"), "norms": ("int32",), "directory": ("int64",),
    "tiles": ("uint16",), "starts": ("uint32",), "dense": ("int32", "uint16"), "postings": ("uint64", "uint32"),
}  # fmt: skip
WEIGHT_KINDS = ARRAYS["weights"]  # the smallest that loses nothing is taken
# Of words beyond the metric: a document's place in the segment, the word, its count. In the file if there are any.
BEYOND = {"beyond_places": ("int32",), "beyond_words": ("int32",), "beyond_weights": ("float64",)}
SEGMENT = record_of(  # what it shares with COLUMNS comes last, lest numba take one kind for the other, with a warning
    "ids", "document_bounds", "words", "weights", "n_weights", "weight_kind", *(COLUMNS.names or ()),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Segment(Columns):
    """Documents, once by feature and once as the words they were given as.

    Parameters
    ----------
    norms, directory, tiles, starts, dense, postings, shift
        As in `Columns`. The norm of a document that was removed or holds no known word is ABSENT.
    ids : ndarray of int64, shape (n_documents,)
        Ascending.
    held : ndarray of bool, shape (n_documents,)
        False for documents that were removed.
    document_bounds : ndarray of int64, shape (n_documents + 1,)
        Where each document's words begin.
    words : ndarray of int32
        Words of the documents, ascending in each.
    weights : ndarray of uint8, uint16, float32 or float64
        Their counts, of the smallest kind that loses nothing.
    n_words : int
        Number of words of the metric.
    beyond_places, beyond_words : ndarray of int32
        Documents and the words beyond the metric that they hold, in the order of both. Only ranking counts these.
    beyond_weights : ndarray of float64
        Their counts.
    lists : ListsOnce
        The documents by word.
    """

    ids: NDArray[np.int64]
    held: NDArray[np.bool_]
    document_bounds: NDArray[np.int64]
    words: NDArray[np.int32]
    weights: NDArray[Any]
    n_words: int
    beyond_places: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    beyond_words: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    beyond_weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    lists: ListsOnce = field(default_factory=ListsOnce, repr=False)
    _kept: dict[str, Statistics] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[type[Segment], tuple[Any, ...]]:
        made = ("lists", "_kept")
        return Segment, tuple(getattr(self, one.name) for one in fields(self) if one.name not in made)

    @property
    def is_narrow(self) -> bool:
        """Whether values are held in 16 bits, and neighbours are therefore compared again."""
        return bool(self.dense.dtype == np.uint16)

    @property
    def tile(self) -> int:
        """Documents in a tile."""
        return int(self.dense.shape[2])

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

    @property
    def n_bytes(self) -> int:
        """Bytes that the arrays take."""
        arrays: list[NDArray[Any]] = [getattr(self, name) for name in (*ARRAYS, *BEYOND)]
        return sum(array.nbytes for array in arrays) + self.lists.n_bytes

    def described_for_search(self) -> NDArray[np.int64]:
        """Describe the segment for the compiled loops, with what its documents were given as."""
        return describe(
            SEGMENT,
            **self.described(self.ids.size),
            ids=self.ids,
            document_bounds=self.document_bounds,
            words=self.words,
            weights=self.weights,
            n_weights=self.weights.size,
            weight_kind=WEIGHT_KINDS.index(self.weights.dtype.name),
        )

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
        return replace(self, held=held, norms=norms)

    def all_documents(self) -> csr_array:
        """Return all documents as counts, those that were removed among them; beyond the metric if they go there."""
        from scipy.sparse import csr_array

        words, bounds = self.words.view(), short_bounds(self.document_bounds).view()
        words.flags.writeable = bounds.flags.writeable = False  # they may be the segment's own
        arrays = (self.weights.astype(np.float64), words, bounds)
        counts = csr_array(arrays, shape=(self.ids.size, self.n_words))
        counts.check_format(full_check=True)  # they may come from a file that was not verified
        if not self.beyond_words.size:
            return counts
        counts.resize((self.ids.size, int(self.beyond_words.max()) + 1))
        return csr_array(
            counts + csr_array((self.beyond_weights, (self.beyond_places, self.beyond_words)), shape=counts.shape)
        )

    def documents(self) -> csr_array:
        """Return the documents that are held, as counts."""
        counts = self.all_documents()
        return counts if self.held.all() else counts[self.held]

    @property
    def has_counts(self) -> bool:
        """Whether all weights are whole numbers, so that its documents can be ranked."""
        return all(bool((weights == np.rint(weights)).all()) for weights in (self.weights, self.beyond_weights))

    def statistics(self, metric: TreeMetric) -> Statistics:
        """Return what ranking needs to know of the documents held."""
        if "statistics" not in self._kept:
            lists, held = self.lists.get(metric, self), self.held
            frequencies = np.diff(lists.list_bounds)
            if not held.all():
                gone = self.words[np.repeat(~held, np.diff(self.document_bounds))]
                gone = np.concatenate([gone, self.beyond_words[~held[self.beyond_places]]])
                frequencies = frequencies - np.bincount(gone, minlength=frequencies.size)
            n_documents = int(np.count_nonzero(held & (lists.lengths > 0)))
            self._kept["statistics"] = Statistics(n_documents, int(lists.lengths[held].sum()), frequencies)
        return self._kept["statistics"]


def build_segment(metric: TreeMetric, counts: csr_array, ids: NDArray[np.int64] | None = None) -> Segment:
    """Embed documents and turn them by feature.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    counts : csr_array of shape (n_documents, n_columns), float64
        Canonical, as `check_counts` makes it; columns beyond the metric's words have no mass.
    ids : ndarray of int64, shape (n_documents,), optional
        Ascending; row numbers by default.

    Returns
    -------
    Segment
    """
    n_documents = counts.shape[0]
    beyond = counts[:, metric.n_words :].tocoo()
    counts = counts[:, : metric.n_words] if beyond.nnz else counts
    bounds, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int32, copy=False)
    tile, narrow = tile_size(n_documents, TILE), n_documents > WIDE_LIMIT
    columns = turned_documents(metric, bounds, words, counts.data, tile=tile, narrow=narrow)
    return Segment(
        **{one.name: getattr(columns, one.name) for one in fields(Columns)},
        ids=np.arange(n_documents, dtype=np.int64) if ids is None else ids,
        held=np.ones(n_documents, dtype=bool),
        document_bounds=bounds,
        words=words,
        weights=compact_weights(counts.data),
        n_words=metric.n_words,
        beyond_places=beyond.row.astype(np.int32),
        beyond_words=(beyond.col + metric.n_words).astype(np.int32),
        beyond_weights=beyond.data,
    )


def turned_documents(
    metric: TreeMetric,
    bounds: NDArray[np.int64],
    words: NDArray[np.int32],
    weights: NDArray[Any],
    *,
    tile: int,
    narrow: bool,
) -> Columns:
    """Embed documents and turn them by feature, in tiles as `build_columns` takes them."""

    def embedded(start: int, stop: int) -> EmbeddedRows:
        own = slice(bounds[start], bounds[stop])
        starts = (bounds[start : stop + 1] - bounds[start]).astype(np.int32)
        return embedded_rows(metric, (starts, np.array(words[own]), weights[own].astype(np.float64)))

    return build_columns(embedded, bounds.size - 1, metric.n_features, tile=tile, narrow=narrow)


def compact_weights(weights: NDArray[np.float64]) -> NDArray[Any]:
    """Hold weights in the first kind in which every one of them is the same number."""
    for kind in WEIGHT_KINDS[:-1]:
        with np.errstate(over="ignore", invalid="ignore"):
            small = weights.astype(kind)
        if np.array_equal(small, weights):
            return small
    return weights.copy()


def merge_documents(
    segments: list[Segment], counts: csr_array | None = None, ids: NDArray[np.int64] | None = None
) -> tuple[csr_array, NDArray[np.int64]]:
    """Collect the documents that some segments hold, and new ones, in the order of their ids.

    Parameters
    ----------
    segments : list of Segment
        Any number.
    counts : csr_array of shape (n_documents, n_columns), float64, optional
        New documents.
    ids : ndarray of int64, shape (n_documents,), optional
        Their ids.

    Returns
    -------
    counts : csr_array of shape (n_documents, n_columns), float64
    ids : ndarray of int64, shape (n_documents,)
        Ascending.
    """
    from scipy.sparse import vstack

    blocks = [segment.documents() for segment in segments] + ([] if counts is None else [counts])
    n_columns = max(block.shape[1] for block in blocks)
    for block in blocks:
        block.resize((block.shape[0], n_columns))
    all_ids = np.concatenate([*(s.ids[s.held] for s in segments), *([] if ids is None else [ids])])
    order = np.argsort(all_ids)
    merged = blocks[0] if len(blocks) == 1 else vstack(blocks, format="csr")
    return (merged if (order[:-1] < order[1:]).all() else merged[order]), all_ids[order]
