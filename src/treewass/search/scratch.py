"""Memory of the threads that search, and plans: all that a search works with, written down in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.records import aligned_zeros, describe, record_of
from treewass.search.segments import Segment
from treewass.trees.columns import GROUP, TILE
from treewass.trees.layout import EmbeddingRoom
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BATCH",
    "BLOCK",
    "CLASSES",
    "DESK",
    "FOUND_ROOM",
    "MOST_SORTED",
    "SCRATCH",
    "Desk",
    "Scratch",
    "make_plan",
]

BATCH = 64  # queries that a thread takes at a time
BLOCK = 64  # keys looked at together
CLASSES = 256  # numbers that finding a bound takes
FOUND_ROOM = 256  # documents that are ranked against each other, at most
SCRATCH = record_of(
    "query",
    "rows", "row_values", "lists", "list_values",
    "sums", "keys", "classes", "found", "ranked",
    "room", "places", "tile",
)  # fmt: skip
MOST_SORTED = 256  # documents that the compiled ranking keeps, at most
DESK = record_of(
    "words", "weights", "rest", "starts", "cursors", "stops",
    "features", "values", "rows", "row_values", "lists", "list_values",
    "keys", "classes", "found", "sums", "shared", "best", "best_ids",
    "n_words", "n_notes",
)  # fmt: skip


class Scratch:
    """Memory that a thread reuses from query to query.

    This is the one place that sizes it. The compiled loops view the arrays through the sizes in the description.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    tile : int
        Documents in the largest tile.

    Attributes
    ----------
    tile : int
        Documents that there is room for.
    arrays : dict of str to ndarray
        The memory, but for that in which documents are embedded. `query` is zero between queries.
    description : ndarray of int64
        A ROOM and a SCRATCH: addresses, then sizes.
    """

    def __init__(self, metric: TreeMetric, tile: int) -> None:
        self.tile = max(BLOCK, -(-tile // BLOCK) * BLOCK)
        room = metric.n_features + GROUP
        self.arrays: dict[str, NDArray[Any]] = {
            "query": np.zeros(room, dtype=np.int32),
            "rows": np.empty(room, dtype=np.uint64),
            "row_values": np.empty(room, dtype=np.int32),
            "lists": np.empty(room, dtype=np.int64),
            "list_values": np.empty(room, dtype=np.int32),
            "sums": aligned_zeros((TILE,), np.int32),
            "keys": aligned_zeros((self.tile,), np.int32),
            "classes": np.empty(CLASSES, dtype=np.int32),
            "found": np.empty(FOUND_ROOM, dtype=np.int64),
            "ranked": np.empty(FOUND_ROOM, dtype=np.int64),
        }
        self._embedding = EmbeddingRoom(metric)
        own = describe(SCRATCH, **self.arrays, room=room, places=TILE, tile=self.tile)
        self.description = np.concatenate([self._embedding.description, own])


class Desk:
    """Memory that a thread reuses from query to query when it ranks.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    n_words : int
        The most words of a query.

    Attributes
    ----------
    n_words : int
        The most words of a query.
    description : ndarray of int64
        A ROOM and a DESK: addresses, then sizes.
    """

    def __init__(self, metric: TreeMetric, n_words: int) -> None:
        self.n_words = n_words
        n_notes, n_found = metric.n_features + GROUP, TILE + BLOCK
        kinds: dict[str, tuple[int, type]] = {
            "words": (n_words, np.int32), "weights": (n_words, np.int64), "rest": (n_words + 1, np.int64),
            "starts": (n_words, np.int64), "cursors": (n_words, np.int64), "stops": (n_words, np.int64),
            "features": (n_notes, np.int32), "values": (n_notes, np.int64),
            "rows": (n_notes, np.uint64), "row_values": (n_notes, np.int32),
            "lists": (n_notes, np.int64), "list_values": (n_notes, np.int32),
            "keys": (TILE, np.int32), "classes": (CLASSES, np.int32),
            "found": (n_found, np.int64), "sums": (n_found, np.int64),
            "shared": (TILE, np.int32), "best": (MOST_SORTED, np.int64), "best_ids": (MOST_SORTED, np.int64),
        }  # fmt: skip
        self._arrays: dict[str, NDArray[Any]] = {}
        for name, (size, kind) in kinds.items():
            self._arrays[name] = np.empty(size, dtype=kind)
        self._embedding = EmbeddingRoom(metric)
        own = describe(DESK, **self._arrays, n_words=n_words + 1, n_notes=n_notes)
        self.description = np.concatenate([self._embedding.description, own])


def make_plan(metric: TreeMetric, scratch: Scratch, segments: Sequence[Segment]) -> NDArray[np.int64]:
    """Join the descriptions of a metric, of a thread's memory and of segments.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    scratch : Scratch
        Memory of the thread that will search.
    segments : sequence of Segment
        Documents.

    Returns
    -------
    ndarray of int64
        One argument instead of many. Metric, scratch and segments must outlive it.
    """
    described = [segment.described_for_search() for segment in segments]
    return np.concatenate([metric.layout.description, scratch.description, *described])
