"""What an index holds at one moment: segments of falling size, never changed, only replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.compute.threads import cached_property
from treewass.documents.histograms import check_counts, first_few
from treewass.search.segments import Segment, build_segment, merge_documents
from treewass.search.word_lists import Statistics
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = [
    "NEVER_FOUND",
    "Snapshot",
    "are_among",
    "as_ids",
    "checked_count",
    "chosen_ids",
    "compacted",
    "new_ids",
    "refuse_absent",
    "wide_counts",
]

NEVER_FOUND = "they are held, but are never returned as neighbours."  # documents without a known word


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The documents of an index.

    Parameters
    ----------
    segments : tuple of Segment
        Groups of documents; together their ids are unique.
    next_id : int
        Larger than every id ever held.

    Attributes
    ----------
    kept : dict of str to Statistics
        What ranking needs to know of the documents, once it has been asked for.
    """

    segments: tuple[Segment, ...]
    next_id: int
    kept: dict[str, Statistics] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[type[Snapshot], tuple[tuple[Segment, ...], int]]:
        return Snapshot, (self.segments, self.next_id)

    @cached_property
    def n_held(self) -> int:
        """Documents held."""
        return sum(segment.n_held for segment in self.segments)

    @cached_property
    def n_searchable(self) -> int:
        """Documents that can be neighbours."""
        return sum(segment.n_searchable for segment in self.segments)

    @cached_property
    def wide_segments(self) -> tuple[Segment, ...]:
        """The segments with neighbours that hold values whole."""
        return tuple(segment for segment in self.segments if segment.n_searchable and not segment.is_narrow)

    @cached_property
    def narrow_segments(self) -> tuple[Segment, ...]:
        """The segments with neighbours that hold values in 16 bits."""
        return tuple(segment for segment in self.segments if segment.n_searchable and segment.is_narrow)

    @cached_property
    def tile(self) -> int:
        """Documents in the largest tile."""
        return max((segment.tile for segment in self.segments), default=64)

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the documents held, ascending and read-only."""
        held = [segment.ids[segment.held] for segment in self.segments]
        ids = np.sort(np.concatenate([*held, np.empty(0, dtype=np.int64)]))
        ids.setflags(write=False)
        return ids

    @cached_property
    def searchable_ids(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Ids of the documents that can be neighbours, ascending, and where each stands among the segments' ones."""
        ids = np.concatenate([*(segment.ids[segment.searchable] for segment in self.segments), np.empty(0, np.int64)])
        order = np.argsort(ids)
        return ids[order], order

    def locate(self, ids: NDArray[np.int64]) -> Iterator[tuple[Segment, NDArray[np.intp], NDArray[np.intp]]]:
        """Find documents by their ids.

        Parameters
        ----------
        ids : ndarray of int64
            In any order.

        Yields
        ------
        segment : Segment
            One that holds some of them.
        positions : ndarray of int
            Where it holds them.
        places : ndarray of int
            Where they stand in `ids`.

        Raises
        ------
        ValueError
            If one is not held.
        """
        found = np.zeros(ids.size, dtype=bool)
        located = []
        for segment in self.segments:
            if not segment.ids.size:
                continue
            positions = np.minimum(np.searchsorted(segment.ids, ids), segment.ids.size - 1)
            places = np.flatnonzero((segment.ids[positions] == ids) & segment.held[positions])
            found[places] = True
            if places.size:
                located.append((segment, positions[places], places))
        if not found.all():
            refuse_absent(ids[~found])
        yield from located

    def restricted(self, where: ArrayLike) -> Snapshot:
        """Return a snapshot that holds some of the documents only; all else is shared with this one.

        Parameters
        ----------
        where : array-like of int or bool
            Ids of documents held, or a mask over `ids`.

        Raises
        ------
        ValueError
            If a document is not held, or the mask is of another length.
        """
        kept = chosen_ids(where, self.ids)
        segments = (one.without(np.flatnonzero(one.held & ~np.isin(one.ids, kept))) for one in self.segments)
        return Snapshot(tuple(segment for segment in segments if segment.n_held), self.next_id)

    def with_documents(self, metric: TreeMetric, counts: csr_array, ids: NDArray[np.int64]) -> Snapshot:
        """Add documents: in a segment of their own, or together with the last ones if those are not much larger.

        Parameters
        ----------
        metric : TreeMetric
            Trees and word masses.
        counts : csr_array of shape (n_documents, n_words), float64
            Canonical.
        ids : ndarray of int64, shape (n_documents,)
            As `new_ids` makes them.

        Returns
        -------
        Snapshot
        """
        if not ids.size:
            return self
        segments, size = list(self.segments), ids.size
        taken: list[Segment] = []
        while segments and segments[-1].n_held <= 2 * size:
            taken.append(segments.pop())
            size += taken[-1].n_held
        segments.append(build_segment(metric, *merge_documents(taken, counts, ids)))
        return Snapshot(tuple(segments), max(self.next_id, int(ids.max()) + 1))

    def without_documents(self, metric: TreeMetric, ids: NDArray[np.int64]) -> Snapshot:
        """Remove documents; a segment that has lost more than half of its own is built again.

        Parameters
        ----------
        metric : TreeMetric
            Trees and word masses.
        ids : ndarray of int64
            All of them held.

        Returns
        -------
        Snapshot
        """
        replaced = {id(segment): segment.without(positions) for segment, positions, _ in self.locate(ids)}
        segments = []
        for old in self.segments:
            segment = replaced.get(id(old), old)
            if 0 < 2 * segment.n_held < segment.ids.size:
                segment = build_segment(metric, *merge_documents([segment]))
            if segment.n_held:
                segments.append(segment)
        return Snapshot(tuple(segments), self.next_id)


def compacted(snapshot: Snapshot, metric: TreeMetric) -> Snapshot:
    """Build segments that have lost documents again, so that nothing of those is left."""
    segments = (
        segment if segment.n_held == segment.ids.size else build_segment(metric, *merge_documents([segment]))
        for segment in snapshot.segments
    )
    return Snapshot(tuple(segments), snapshot.next_id)


def new_ids(
    ids: ArrayLike | None, count: int, *, held: Callable[[], NDArray[np.int64]], next_id: int
) -> NDArray[np.int64]:
    """Choose ids for new documents, or check those given: as many as documents, unique and not held.

    Parameters
    ----------
    ids : array-like of int or None
        Ids given.
    count : int
        Number of documents.
    held : callable
        Returns the ids held.
    next_id : int
        Larger than every id ever held.

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    if ids is None:
        if next_id > np.iinfo(np.int64).max - count:
            raise ValueError(f"Expected room for {count} more ids, but the largest is {next_id - 1}: pass ids.")
        return np.arange(next_id, next_id + count, dtype=np.int64)
    new = as_ids(ids)
    if new.size != count:
        raise ValueError(f"Expected one id per document ({count}), got {new.size}.")
    values, counts = np.unique(new, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"Expected unique ids, got {first_few(values[counts > 1])} more than once.")
    there = np.intersect1d(values, held())
    if there.size:
        raise ValueError(f"Expected new ids, but {first_few(there)} are in the index: remove them first.")
    return new


def chosen_ids(where: ArrayLike, held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn what a search is restricted to, ids or a mask over the ascending ids held, into ascending ids.

    Examples
    --------
    >>> held = np.array([2, 5, 7])
    >>> chosen_ids([7, 2, 7], held), chosen_ids([False, True, False], held)
    (array([2, 7]), array([5]))
    """
    mask = np.asarray(where)
    if mask.dtype == bool:
        if mask.shape != held.shape:
            raise ValueError(
                f"Expected a mask over the {held.size} ids of the index, got shape {mask.shape}. "
                "Make it from `index.ids`, or give ids."
            )
        return np.asarray(held[mask])
    chosen = np.unique(as_ids(where))
    are_held = are_among(chosen, held)
    if not are_held.all():
        refuse_absent(chosen[~are_held])
    return chosen


def are_among(ids: NDArray[np.int64], held: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which ids are among those held, which ascend.

    Examples
    --------
    >>> are_among(np.array([5, 3, 9]), np.array([2, 5, 7]))
    array([ True, False, False])
    """
    if not held.size:
        return np.zeros(ids.shape, dtype=bool)
    return np.asarray(held[np.minimum(np.searchsorted(held, ids), held.size - 1)] == ids)


def refuse_absent(ids: NDArray[np.int64]) -> NoReturn:
    """Raise a ValueError about ids that no document in an index has."""
    absent = np.unique(ids)
    if absent.size == 1:
        raise ValueError(f"No document in the index has id {absent[0]}.")
    raise ValueError(f"No documents in the index have the ids {first_few(absent)}.")


def as_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Turn a list of whole numbers into int64, refusing anything else.

    Examples
    --------
    >>> as_ids(3)
    array([3])
    """
    array = np.atleast_1d(np.asarray(ids))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TypeError(f"Expected ids as a list of integers, got dtype {array.dtype} of shape {array.shape}.")
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"Expected ids below 2**63, got {int(array.max())}.")
    return array.astype(np.int64)


def checked_count(k: Any) -> int:
    """Refuse a number of neighbours that is not a whole number of at least 1."""
    return check_integer("k", k)


def wide_counts(X: Any, n_words: int) -> csr_array:
    """Validate counts of a metric's words, and of any number of words beyond it."""
    counts = check_counts(X, caller="TreeMetric")
    return counts if counts.shape[1] >= n_words else check_counts(X, n_words=n_words)
