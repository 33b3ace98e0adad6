"""The documents of a segment by word, with counts: what a search for typed words reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treewass.compute.records import describe
from treewass.compute.threads import ForkSafeLock
from treewass.documents.histograms import first_few
from treewass.trees.columns import COUNT_BITS
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.search.segments import Segment

__all__ = [
    "LIST_ARRAYS",
    "ListsOnce",
    "Statistics",
    "WordLists",
    "are_sound",
    "branch_shift",
    "build_lists",
    "check_lists",
    "internal_features",
]

LARGEST_COUNT = 255  # a larger count of a word in a document counts as this
LARGEST_QUERY = 2**31 - 1  # a larger count in a query is refused
_LONGEST = 2**31 - 1  # words of a document
_BRANCH_BITS = 15  # of the largest value of a node
# The arrays, as the file of a segment holds them, and their kinds.
LIST_ARRAYS = {
    "list_bounds": ("int64",), "list_places": ("int32",), "list_counts": ("uint8",),
    "lengths": ("int32",), "branches": ("int32",),
}  # fmt: skip


@dataclass(frozen=True)
class Statistics:
    """What ranking needs to know of a whole collection. Those of its parts add up.

    Parameters
    ----------
    n_documents : int
        Documents that hold a word.
    total_length : int
        Words that they hold, each as often as it occurs.
    frequencies : ndarray of int64, shape (n_columns,)
        Documents that hold each word; none hold a word beyond the last.

    Examples
    --------
    >>> one, other = Statistics(2, 5, np.array([2, 1])), Statistics(1, 1, np.array([0, 0, 1]))
    >>> one + other
    Statistics(n_documents=3, total_length=6, frequencies=array([2, 1, 1]))
    """

    n_documents: int
    total_length: int
    frequencies: NDArray[np.int64]

    def __add__(self, other: Statistics) -> Statistics:
        """Join the statistics of two collections."""
        few, many = sorted((self.frequencies, other.frequencies), key=len)
        frequencies = many.copy()
        frequencies[: few.size] += few
        return Statistics(self.n_documents + other.n_documents, self.total_length + other.total_length, frequencies)


class WordLists(NamedTuple):
    """The documents that hold each word, those that were removed among them.

    `list_bounds` says where the list of each word begins; `list_places` are documents, ascending in a list, and
    `list_counts` how often they hold the word. Of each document there are its `lengths`, in words, and `branches`, the
    sum of its values at internal nodes, each less its last bits (see `branch_shift`).
    """

    list_bounds: NDArray[np.int64]
    list_places: NDArray[np.int32]
    list_counts: NDArray[np.uint8]
    lengths: NDArray[np.int32]
    branches: NDArray[np.int32]

    def holding(self, word: int) -> slice:
        """Return where the list of a word is; an empty one for a word that no document holds."""
        if word + 1 >= self.list_bounds.size:
            return slice(0, 0)
        return slice(int(self.list_bounds[word]), int(self.list_bounds[word + 1]))


class ListsOnce:
    """The lists of a segment: from its file, or made on first use. Segments that share their documents share this."""

    def __init__(self, lists: WordLists | None = None) -> None:
        self._making = ForkSafeLock()
        self._lists = lists
        self._shares: tuple[int, NDArray[np.uint16]] | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes that they take."""
        own = 0 if self._shares is None else self._shares[1].nbytes
        return own + sum(array.nbytes for array in self._lists or ())

    def get(self, metric: TreeMetric, segment: Segment) -> WordLists:
        """Return the lists, always the same arrays."""
        with self._making:
            if self._lists is None:
                self._lists = build_lists(metric, segment)
        return self._lists

    def shares(self, metric: TreeMetric, segment: Segment, factor: int) -> NDArray[np.uint16]:
        """Return what each entry of the lists gives of its word's weight; kept until the mean length differs."""
        from treewass.search.kernels.ranking import LISTS, fill_shares

        lists = self.get(metric, segment)
        with self._making:
            if self._shares is None or self._shares[0] != factor:
                made = np.empty(lists.list_places.size, dtype=np.uint16)
                plan = describe(
                    LISTS,
                    places=lists.list_places,
                    counts=lists.list_counts,
                    lengths=lists.lengths,
                    n_entries=made.size,
                    n_documents=lists.lengths.size,
                )
                fill_shares(plan, factor, made)
                self._shares = factor, made
            return self._shares[1]


def build_lists(metric: TreeMetric, segment: Segment) -> WordLists:
    """List the documents of a segment by word.

    Raises
    ------
    ValueError
        If a weight is not a whole number, or a document too long.
    """
    is_counted = segment.has_counts
    counts = segment.all_documents()
    if not is_counted:
        places = np.repeat(np.arange(segment.ids.size), np.diff(counts.indptr))
        broken = np.unique(places[counts.data != np.rint(counts.data)])
        raise ValueError(
            f"Expected whole counts of words, but the documents of ids {first_few(segment.ids[broken])} were added "
            "with other weights. Ranking by words needs counts; `search`, by distance, takes any weights."
        )
    lengths = counts @ np.ones(counts.shape[1])
    if lengths.max(initial=0) > _LONGEST:
        longest = first_few(segment.ids[lengths > _LONGEST])
        raise ValueError(f"Expected documents of at most {_LONGEST} words, but those of ids {longest} have more.")
    capped = np.empty(counts.nnz, dtype=np.uint8)  # before they are turned, which takes memory
    counts.data = np.minimum(counts.data, LARGEST_COUNT, out=capped, casting="unsafe")
    by_word = counts.tocsc()
    return WordLists(
        by_word.indptr.astype(np.int64),
        by_word.indices.astype(np.int32, copy=False),
        by_word.data,
        lengths.astype(np.int32),
        _sum_branches(metric, segment),
    )


def check_lists(lists: WordLists, segment: Segment, name: str) -> None:
    """Demand that the lists of a file fit each other and its documents in kind and size; reads next to nothing."""
    n_documents, n_entries = segment.ids.size, segment.words.size + segment.beyond_words.size
    sizes = (lists.list_bounds.size, n_entries, n_entries, n_documents, n_documents)
    for (array, (kind,)), size in zip(LIST_ARRAYS.items(), sizes, strict=True):
        found = getattr(lists, array)
        if found.dtype != kind or found.shape != (size,):
            raise ValueError(
                f"Expected {array} of kind {kind} and shape ({size},) in {name}, got {found.dtype} {found.shape}. "
                "The file is damaged."
            )
    if lists.list_bounds.size <= segment.n_words or lists.list_bounds[-1] != n_entries:
        raise ValueError(f"Expected a list for every word in {name}. The file is damaged.")


def are_sound(lists: WordLists, metric: TreeMetric, segment: Segment) -> bool:
    """Tell whether lists of sound shapes fit the documents of a segment; reads all of them."""
    bounds, places, n_documents = lists.list_bounds, lists.list_places, segment.ids.size
    if bounds[0] != 0 or (np.diff(bounds) < 0).any() or not ((places >= 0) & (places < n_documents)).all():
        return False
    entries = np.repeat(np.arange(bounds.size - 1), np.diff(bounds)) << 32 | places
    words = np.concatenate([segment.words, segment.beyond_words])
    holders = np.repeat(np.arange(n_documents), np.diff(segment.document_bounds))
    holders = np.concatenate([holders, segment.beyond_places])
    weights = np.concatenate([segment.weights, segment.beyond_weights])
    return (
        bool((np.diff(entries) > 0).all())
        and bool((lists.list_counts > 0).all())
        and np.array_equal(np.bincount(words, minlength=bounds.size - 1), np.diff(bounds))
        and np.array_equal(np.bincount(holders, minlength=n_documents), np.bincount(places, minlength=n_documents))
        and np.array_equal(np.bincount(holders, weights, minlength=n_documents), lists.lengths)
        and np.array_equal(
            np.bincount(holders, np.minimum(weights, LARGEST_COUNT), minlength=n_documents),
            np.bincount(places, lists.list_counts, minlength=n_documents),
        )
        and np.array_equal(lists.branches, _sum_branches(metric, segment))
    )


def branch_shift(metric: TreeMetric) -> int:
    """Return how many bits the values of internal nodes lose where branches are compared.

    No value of a segment has lost more, so that the rest is the same in every segment.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> branch_shift(TreeMetric(star_tree(3))), branch_shift(TreeMetric(star_tree(3), fraction_bits=4))
    (15, 0)
    """
    highest = int(np.ldexp(metric.height, metric.fraction_bits))
    return max(0, highest.bit_length() - _BRANCH_BITS)


def internal_features(metric: TreeMetric) -> list[tuple[int, int]]:
    """Return where the features of each tree's internal nodes begin and end.

    Examples
    --------
    >>> from treewass import Tree
    >>> internal_features(TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 2])))
    [(0, 2)]
    """
    found, first = [], 0
    for tree in metric.trees:
        found.append((first, first + tree.n_nodes - 1))
        first += tree.n_nodes - 1 + tree.n_words
    return found


def _sum_branches(metric: TreeMetric, segment: Segment) -> NDArray[np.int32]:
    """Add up the values of each document at internal nodes."""
    n_tiles, tile = segment.dense.shape[0], segment.tile
    lost = max(0, branch_shift(metric) - segment.shift)
    half = segment.postings.itemsize * 4
    sums = np.zeros(n_tiles * tile, dtype=np.int64)
    for first, stop in internal_features(metric):
        entries = segment.entries(np.arange(first, stop))
        for row in np.unique(~entries[entries < 0]):
            sums += segment.dense[:, row].ravel() >> lost
        entries = np.maximum(entries, 0).ravel()
        counts = entries & ((1 << COUNT_BITS) - 1)
        if counts.any():  # the lists of a tree's nodes follow each other
            tiles = np.repeat(np.tile(np.arange(n_tiles), stop - first), counts)
            start = int(entries[counts > 0][0] >> COUNT_BITS)
            postings = segment.postings[start : start + tiles.size].astype(np.int64)
            np.add.at(sums, tiles * tile + (postings >> half), (postings & ((1 << half) - 1)) >> lost)
    return sums[: segment.ids.size].astype(np.int32)
