"""What an index in shards asks of each of them, and how their answers become one.

Nothing here knows where a shard lives: a `TreeIndex` is one, and so is any object with the methods of `Shard`, such as
one that asks another process. Distances and scores are whole numbers of a unit, so that merged answers are those of a
single index, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from treewass.documents.histograms import first_few
from treewass.search.index import TreeIndex
from treewass.search.snapshot import Snapshot, are_among, refuse_absent
from treewass.search.word_lists import Statistics
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Shard",
    "check_shards",
    "even_shares",
    "merged",
    "merged_lists",
    "split_by_shard",
    "unchecked_snapshot",
    "with_same_memory",
]

Found: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.int64]]"


@runtime_checkable
class Shard(Protocol):
    """What `ShardedIndex` asks of a shard. A `TreeIndex` is a shard; so is whatever answers as one would.

    A shard elsewhere, say in another process, has these few methods too. Each call waits for its answer, and an answer
    that does not come is an error: never a shorter or an empty one. Calls come from several threads at a time.
    Arguments and results can be pickled. Changes are made on a shallow copy (`copy.copy`), which then takes the
    shard's place: a `TreeIndex` goes on answering as before, and a shard elsewhere may change in place. Nobody else
    may change a shard meanwhile.

    Attributes
    ----------
    metric : TreeMetric
        Shards of one index have equal metrics, which is told by their `digest`.
    ids : ndarray of int64
        Ids of the documents held, ascending; asked for often, so keep them near.
    next_id : int
        Larger than every id ever held.

    See Also
    --------
    treewass.TreeIndex : What each method does.

    Examples
    --------
    >>> from treewass import TreeIndex
    >>> from treewass.trees import star_tree
    >>> isinstance(TreeIndex(TreeMetric(star_tree(3))), Shard)
    True
    """

    metric: TreeMetric

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the documents held, ascending."""

    @property
    def next_id(self) -> int:
        """Larger than every id ever held."""

    def search(self, X: Any, k: int = 10, *, where: ArrayLike | None = None) -> Found:
        """Find the k nearest documents of each query; `where` holds ids of this shard."""

    def statistics(self) -> Statistics:
        """Return what ranking needs to know of the documents held."""

    def rank(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None, statistics: Statistics | None = None
    ) -> Found:
        """Rank documents by `statistics`, those of all shards: one object until a shard changes."""

    def within(self, X: Any, radius: float) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find all documents within a radius of each query."""

    def distances(self, x: Any, ids: ArrayLike | None = None) -> Found:
        """Compute the distances of one document to all that hold a known word, or to some."""

    def add(self, X: Any, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Add documents under ids that no shard holds."""

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents of this shard."""

    def compact(self) -> None:
        """Drop what is left of removed documents."""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the shard to a folder that `TreeIndex.load` reads."""


def check_shards(shards: Sequence[Shard]) -> None:
    """Demand shards of one metric and of ids that differ.

    Parameters
    ----------
    shards : sequence of Shard
        At least one.

    Raises
    ------
    ValueError
        If there is none, the metrics differ, or an id is in two shards.
    TypeError
        If one is no shard.
    """
    if not shards:
        raise ValueError("Expected at least one shard, got none.")
    for number, shard in enumerate(shards):
        if not isinstance(shard, TreeIndex | Shard):  # in this order: the latter reads the files of an index
            raise TypeError(f"Expected a TreeIndex or another Shard, got {type(shard).__name__} as shard {number}.")
    digests = [shard.metric.digest for shard in shards]
    others = [number for number, digest in enumerate(digests) if digest != digests[0]]
    if others:
        raise ValueError(
            f"Expected shards of one metric, but shard(s) {first_few(np.array(others))} have another one "
            f"({digests[others[0]][:12]}…) than shard 0 ({digests[0][:12]}…). Build them with the same metric."
        )
    ids = [unchecked_snapshot(shard).ids if isinstance(shard, TreeIndex) else shard.ids for shard in shards]
    every, holders = np.concatenate(ids), np.repeat(np.arange(len(ids)), [one.size for one in ids])
    order = np.argsort(every, kind="stable")
    again = np.flatnonzero(every[order[1:]] == every[order[:-1]])
    if again.size:
        both = holders[order[again[0] : again[0] + 2]].tolist()
        raise ValueError(
            f"Expected each document in one shard, but the ids {first_few(every[order[again]])} are in several, the "
            f"first in shards {both[0]} and {both[1]}. Give each document an id of its own."
        )


def unchecked_snapshot(index: TreeIndex) -> Snapshot:
    """Return the documents of an index without checking the files that it was loaded from, of which all are read."""
    opened: tuple[Snapshot, Any] | None = vars(index).get("_opened")
    return index._snapshot if opened is None or "_snapshot" in vars(index) else opened[0]


def with_same_memory(shards: Sequence[Shard]) -> tuple[Shard, ...]:
    """Copy indexes of equal metrics, so that they share one of them, and the memory of each thread; leave the rest."""
    first = next((shard for shard in shards if isinstance(shard, TreeIndex)), None)
    shared: list[Shard] = []
    for shard in shards:
        if isinstance(shard, TreeIndex) and first is not None:
            shard = copy(shard)
            shard.metric, shard._comparer, shard._ranker = first.metric, first._comparer, first._ranker
        shared.append(shard)
    return tuple(shared)


def merged(found: Sequence[Found], k: int, *, rising: bool) -> Found:
    """Merge the best documents of each shard, by value and then by id.

    Parameters
    ----------
    found : sequence of (values, ids)
        Of each shard, arrays of shape (n_queries, up to k).
    k : int
        Documents per query.
    rising : bool
        Whether the smallest values, distances, are the best; otherwise the largest, scores, of which 0 is no hit.

    Returns
    -------
    values : ndarray of float64, shape (n_queries, min(k, n))
    ids : ndarray of int64, shape (n_queries, min(k, n))

    Examples
    --------
    >>> one, other = (np.array([[0.5, 1.0]]), np.array([[7, 2]])), (np.array([[0.5]]), np.array([[3]]))
    >>> merged([one, other], 2, rising=True)
    (array([[0.5, 0.5]]), array([[3, 7]]))
    """
    if len(found) == 1:
        return found[0]
    values = np.concatenate([one for one, _ in found], axis=1)
    ids = np.concatenate([other for _, other in found], axis=1)
    order = np.lexsort((ids, values if rising else -values))[:, :k]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(ids, order, axis=1)


def merged_lists(
    found: Sequence[tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
    """Merge what shards found within a radius, for each query, by distance and then by id.

    Examples
    --------
    >>> one, other = ([np.array([1.0])], [np.array([4])]), ([np.array([0.5])], [np.array([9])])
    >>> merged_lists([one, other])
    ([array([0.5, 1. ])], [array([9, 4])])
    """
    rows = range(len(found[0][0]))
    pairs = [
        merged([(values[row][None], ids[row][None]) for values, ids in found], np.iinfo(np.int64).max, rising=True)
        for row in rows
    ]
    return [values[0] for values, _ in pairs], [ids[0] for _, ids in pairs]


def split_by_shard(ids: NDArray[np.int64], held: Sequence[NDArray[np.int64]]) -> list[NDArray[np.intp]]:
    """Find the shard of each id: the places in `ids`, which may be in any order, that each shard holds.

    Raises
    ------
    ValueError
        If no shard holds one.

    Examples
    --------
    >>> split_by_shard(np.array([5, 1, 2]), [np.array([1, 2]), np.array([5])])
    [array([1, 2]), array([0])]
    """
    found = [are_among(ids, own) for own in held]
    absent = ~np.any(found, axis=0)
    if absent.any():
        refuse_absent(ids[absent])
    return [np.flatnonzero(own) for own in found]


def even_shares(sizes: Sequence[int], count: int) -> list[int]:
    """Share new documents out among shards, the smallest first, so that in the end they differ as little as they can.

    Examples
    --------
    >>> even_shares([5, 0, 3], 4), even_shares([5, 0, 3], 9), even_shares([2, 2], 1)
    ([0, 4, 0], [0, 6, 3], [1, 0])
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    filled = len(order)  # shards that get some
    while filled > 1 and sum(sizes[one] for one in order[:filled]) + count < filled * sizes[order[filled - 1]]:
        filled -= 1
    level, rest = divmod(sum(sizes[one] for one in order[:filled]) + count, filled)
    shares = [0] * len(sizes)
    for place, one in enumerate(order[:filled]):
        shares[one] = level + (place < rest) - sizes[one]
    return shares
