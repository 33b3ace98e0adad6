"""One exact index over several: in threads of this process, or wherever shards live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.compute.threads import ForkSafeLock, ThreadTeam, cached_property, count_threads
from treewass.documents.histograms import warn_about_empty_rows
from treewass.search.held_documents import documents_of
from treewass.search.index import TreeIndex
from treewass.search.ranking import Ranker
from treewass.search.shard_answers import (
    Shard,
    check_shards,
    even_shares,
    merged,
    merged_lists,
    split_by_shard,
    with_same_memory,
)
from treewass.search.snapshot import NEVER_FOUND, Snapshot, as_ids, checked_count, chosen_ids, new_ids, wide_counts
from treewass.search.word_lists import Statistics
from treewass.trees.embedding import unknown_rows
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["ShardedIndex"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class _Shards:
    """The shards of an index at one moment, and what is known of all of them once it has been asked for."""

    shards: tuple[Shard, ...]

    @cached_property
    def held(self) -> tuple[NDArray[np.int64], ...]:
        """The ids of each shard, ascending."""
        return tuple(shard.ids for shard in self.shards)

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The ids of all shards, ascending and read-only."""
        ids = np.sort(np.concatenate(self.held))
        ids.setflags(write=False)
        return ids

    @property
    def next_id(self) -> int:
        """Larger than every id ever held."""
        return max(shard.next_id for shard in self.shards)

    @cached_property
    def statistics(self) -> Statistics:
        """What ranking needs to know of the documents of all shards."""
        return sum((shard.statistics() for shard in self.shards[1:]), self.shards[0].statistics())

    @cached_property
    def indexes(self) -> tuple[TreeIndex, ...]:
        """The shards, if all of them are in this process."""
        here = tuple(shard for shard in self.shards if isinstance(shard, TreeIndex))
        if len(here) < len(self.shards):
            raise TypeError("Expected shards in this process: documents that are elsewhere cannot be taken out here.")
        return here

    @cached_property
    def snapshot(self) -> Snapshot:
        """The documents of all shards, as those of one index."""
        segments = (segment for shard in self.indexes for segment in shard._snapshot.segments)
        return Snapshot(tuple(segments), self.next_id)

    @cached_property
    def joined(self) -> TreeIndex | None:
        """One index over the documents of all shards, if all of them are in this process: it shares their memory."""
        if not all(isinstance(shard, TreeIndex) for shard in self.shards):
            return None
        index = copy(self.indexes[0])
        index._snapshot = self.snapshot
        return index

    def with_changes(self, changes: dict[int, Callable[[Any], object]]) -> _Shards:
        """Return the shards after some of them have changed; those of this process that are here stay as they are."""
        changed = list(self.shards)
        for number, change in changes.items():
            changed[number] = copy(changed[number])
            change(changed[number])
        return _Shards(tuple(changed))


class ShardedIndex:
    """An exact index of documents in several shards, with the answers of one `TreeIndex` of all of them, to the bit.

    A query is put to all shards, several at a time, and their answers are merged by distance and id. So a single query
    uses several cores, and a collection can be split into folders that are built, copied and mapped one by one.
    Any number of threads may search while another adds or removes: a search sees the index as it was when it began.

    Parameters
    ----------
    shards : sequence of TreeIndex or other Shard
        Of equal metrics; no id is in two of them. Indexes of this process are not changed by what happens here. The
        shards of a ShardedIndex among them are taken one by one.
    n_jobs : int, optional
        Threads, each of which asks one shard at a time; -1 for as many as cores. Shards elsewhere wait for each other
        unless there are as many threads as shards.

    Attributes
    ----------
    metric : TreeMetric
    n_jobs : int or None
    shards : tuple of TreeIndex or other Shard
    ids : ndarray of int64, shape (n_documents,)
        Ids of the documents held, ascending.

    See Also
    --------
    TreeIndex : What each method takes and returns.
    treewass.search.Shard : The few methods of a shard that lives elsewhere.

    Examples
    --------
    >>> from treewass import ShardedIndex, TreeIndex, TreeMetric
    >>> from treewass.trees import star_tree
    >>> metric = TreeMetric(star_tree(3))
    >>> index = ShardedIndex([TreeIndex(metric), TreeIndex(metric)], n_jobs=2)
    >>> index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    array([0, 1, 2])
    >>> [len(shard) for shard in index.shards]
    [2, 1]
    >>> index.search([[2, 1, 0]], k=2)[1]
    array([[1, 0]])
    """

    def __init__(self, shards: Sequence[Shard], *, n_jobs: int | None = None) -> None:
        nested = (shard.shards if isinstance(shard, ShardedIndex) else (shard,) for shard in shards)
        given = list(chain.from_iterable(nested))
        count_threads(n_jobs)
        check_shards(given)
        self.metric: TreeMetric = given[0].metric
        self.n_jobs = n_jobs
        self._now = _Shards(with_same_memory(given))
        self._prepare()

    def _prepare(self) -> None:
        self._changing = ForkSafeLock()
        self._team = ThreadTeam()

    def __getstate__(self) -> dict[str, Any]:
        return {"metric": self.metric, "n_jobs": self.n_jobs, "shards": self._now.shards}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.metric, self.n_jobs = state["metric"], state["n_jobs"]
        self._now = _Shards(with_same_memory(state["shards"]))
        self._prepare()

    def __copy__(self) -> ShardedIndex:
        """Return an index of the same documents, which goes on by itself."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._changing = ForkSafeLock()
        return made

    def __len__(self) -> int:
        return int(sum(ids.size for ids in self._now.held))

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int | np.integer):
            return False
        places = ((ids, np.searchsorted(ids, number)) for ids in self._now.held)
        return any(place < ids.size and ids[place] == number for ids, place in places)

    def __repr__(self) -> str:
        return f"ShardedIndex({self.metric!r}, n_shards={len(self.shards)}, n_documents={len(self)})"

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The shards. Change documents through the index that holds them."""
        return self._now.shards

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the documents held, ascending, shape (n_documents,)."""
        return self._now.ids

    @property
    def next_id(self) -> int:
        """The id that the next document gets: larger than every id ever held."""
        return self._now.next_id

    @property
    def n_bytes(self) -> int:
        """Bytes of memory that the documents take, of the shards in this process."""
        return sum(shard.n_bytes for shard in self.shards if isinstance(shard, TreeIndex))

    @property
    def _snapshot(self) -> Snapshot:
        """The documents, as those of one index, for whatever takes documents out."""
        return self._now.snapshot

    @property
    def _ranker(self) -> Ranker:
        """What ranks the documents of that one index."""
        return self._now.indexes[0]._ranker

    @classmethod
    def from_index(cls, index: TreeIndex | ShardedIndex, n_shards: int, *, n_jobs: int | None = None) -> ShardedIndex:
        """Split an index, by ascending ids, into shards of as many documents.

        Parameters
        ----------
        index : TreeIndex or ShardedIndex
            Left as it is.
        n_shards : int
            At least 1.
        n_jobs : int, optional
            Threads.

        Examples
        --------
        >>> from treewass import ShardedIndex, TreeIndex, TreeMetric
        >>> from treewass.trees import star_tree
        >>> index = TreeIndex(TreeMetric(star_tree(2)))
        >>> ids = index.add([[1, 0], [1, 1], [0, 1]])
        >>> [shard.ids.tolist() for shard in ShardedIndex.from_index(index, 2).shards]
        [[0, 1], [2]]
        """
        shards = []
        for ids in np.array_split(index.ids, check_integer("n_shards", n_shards)):
            shard = TreeIndex(index.metric)
            counts = documents_of(index, ids, beyond=True)
            shard._snapshot = Snapshot((), index.next_id).with_documents(index.metric, counts, ids)
            shards.append(shard)
        return cls(shards, n_jobs=n_jobs)

    def add(self, X: Any, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Add documents, to the smallest shards; as `TreeIndex.add`."""
        added, unknown = self.hold(X, ids)
        warn_about_empty_rows(unknown, NEVER_FOUND)
        return added

    def hold(self, X: Any, ids: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Add documents without a warning; as `TreeIndex.hold`."""
        counts = wide_counts(X, self.metric.n_words)
        with self._changing:
            before = self._now
            added = new_ids(ids, counts.shape[0], held=lambda: before.ids, next_id=before.next_id)
            bounds = np.cumsum([0, *even_shares([own.size for own in before.held], added.size)]).tolist()
            self._now = before.with_changes(
                {
                    number: partial(_hold, counts=counts[start:stop], ids=added[start:stop])
                    for number, (start, stop) in enumerate(pairwise(bounds))
                    if start < stop
                }
            )
        return added, unknown_rows(self.metric, counts)

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents by their ids; all of them must be in the index, otherwise nothing is removed."""
        gone = as_ids(ids)
        with self._changing:
            places = split_by_shard(gone, self._now.held)
            self._now = self._now.with_changes(
                {number: methodcaller("remove", gone[own]) for number, own in enumerate(places) if own.size}
            )

    def compact(self) -> None:
        """Drop what is left of removed documents, which `remove` only marks; as `TreeIndex.compact`."""
        with self._changing:
            self._now = self._now.with_changes(dict.fromkeys(range(len(self.shards)), methodcaller("compact")))

    def search(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest documents of each query; as `TreeIndex.search`.

        One thread takes the documents of all shards as those of one index: what it has found in a shard tells it how
        near documents of the next ones must be.
        """
        k, now = checked_count(k), self._now
        if count_threads(self.n_jobs) == 1 and now.joined is not None:
            return now.joined.search(X, k, where=where)
        found = self._ask(now, where, lambda shard, ids: shard.search(X, k, where=ids))
        return merged(found, k, rising=True)

    def statistics(self) -> Statistics:
        """Return what ranking needs to know of the documents held, of all shards; as `TreeIndex.statistics`."""
        return self._now.statistics

    def rank(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None, statistics: Statistics | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find documents by the words of a query; as `TreeIndex.rank`.

        How rare a word is and how long documents are is counted over all shards before any of them ranks.
        """
        k, now = checked_count(k), self._now
        whole = now.statistics if statistics is None else statistics
        found = self._ask(now, where, lambda shard, ids: shard.rank(X, k, where=ids, statistics=whole))
        return merged(found, k, rising=False)

    def within(self, X: Any, radius: float) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find all documents within a radius of each query; as `TreeIndex.within`."""
        return merged_lists(self._ask(self._now, None, lambda shard, _: shard.within(X, radius)))

    def distances(self, x: Any, ids: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Compute the distances of one document to all, or to chosen ones; as `TreeIndex.distances`."""
        now = self._now
        if ids is None:
            found = self._ask(now, None, lambda shard, _: shard.distances(x))
            numbers = np.concatenate([own for _, own in found])
            order = np.argsort(numbers)
            return np.concatenate([values for values, _ in found])[order], numbers[order]
        wanted = as_ids(ids)
        places, distances = split_by_shard(wanted, now.held), np.empty(wanted.size)
        asked = [number for number, own in enumerate(places) if own.size] or [0]  # one at least, to check the query
        answers = self._team.map(lambda n: now.shards[n].distances(x, wanted[places[n]])[0], asked, self.n_jobs)
        for number, answer in zip(asked, answers, strict=True):
            distances[places[number]] = answer
        return distances, wanted

    def _ask(self, now: _Shards, where: ArrayLike | None, ask: Callable[[Shard, Any], _Result]) -> list[_Result]:
        """Put a question to all shards, or to those that hold documents to consider, with the ids of these."""
        if where is None:
            return self._team.map(lambda shard: ask(shard, None), now.shards, self.n_jobs)
        chosen = chosen_ids(where, now.ids)
        pairs = [(s, chosen[own]) for s, own in zip(now.shards, split_by_shard(chosen, now.held), strict=True)]
        asked = [pair for pair in pairs if pair[1].size] or pairs[:1]  # one at least, to check the query
        return self._team.map(lambda pair: ask(*pair), asked, self.n_jobs)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index to a folder, a part for each shard, all of it or nothing.

        Parameters
        ----------
        folder : path-like
            Made, or replaced if it holds an index in shards.

        See Also
        --------
        load : Read it again, or map it into memory.
        """
        from treewass.search.sharded_folder import save_shards

        save_shards(folder, self.shards)

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False, n_jobs: int | None = None
    ) -> ShardedIndex:
        """Open an index that `save` wrote: all of its parts, or none with an error; as `TreeIndex.load`.

        Examples
        --------
        >>> import tempfile
        >>> from treewass import ShardedIndex, TreeIndex, TreeMetric
        >>> from treewass.trees import star_tree
        >>> index = ShardedIndex([TreeIndex(TreeMetric(star_tree(2))) for _ in range(2)])
        >>> ids = index.add([[1, 0], [1, 1], [0, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(folder)
        ...     ShardedIndex.load(folder).search([[1, 0]], k=2)
        (array([[0., 1.]]), array([[0, 1]]))
        """
        from treewass.search.sharded_folder import load_shards

        return cls(load_shards(folder, mmap=mmap, check="documents" if verify else "later"), n_jobs=n_jobs)


def _hold(shard: Shard, counts: csr_array, ids: NDArray[np.int64]) -> None:
    """Add checked documents to a shard; an index of this process does not warn of empty ones by itself."""
    if isinstance(shard, TreeIndex):
        shard._snapshot = shard._snapshot.with_documents(shard.metric, counts, ids)
    else:
        shard.add(counts, ids)
