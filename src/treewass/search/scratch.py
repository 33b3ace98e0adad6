"""Memory that a thread reuses from query to query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.search.alignment import aligned_zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scratch"]

# Where things stand in a description: addresses of arrays, then numbers.
(
    SUMS, WORD_MASSES, WEIGHTS, TOUCHED, AMOUNTS, QUERY, ROWS, ROW_VALUES, NARROW_VALUES, LISTS, VALUES,
    WIDE_SHARED, NARROW_SHARED, BATCH_SHARED, COPIED, KEYS, FOUND, ROOM, TILE_ROOM, SCRATCH_SIZE,
) = range(20)  # fmt: skip
BATCH = 64  # queries that a thread takes at a time
FOUND_ROOM = 256  # documents that are ranked against each other, at most


class Scratch:
    """Arrays that the compiled loops of one thread write to, and leave as they found them where that matters.

    Parameters
    ----------
    n_words, n_features : int
        As in the metric.
    tile : int
        Documents in the largest tile.

    Attributes
    ----------
    tile : int
        Documents that there is room for.
    description : ndarray of int64
        Addresses and sizes.
    """

    def __init__(self, n_words: int, n_features: int, tile: int) -> None:
        from treewass.search.kernels.scans import BUFFER, GROUP, PLACES
        from treewass.search.kernels.views import describe

        self.tile = max(64, -(-tile // 64) * 64)
        room = n_features + GROUP
        self._arrays: tuple[NDArray[np.generic], ...] = (
            np.zeros(n_features, dtype=np.int64),  # sums of mass: zero between documents
            np.empty(n_words, dtype=np.int64),
            np.empty(n_words, dtype=np.float64),
            np.empty(room, dtype=np.int32),
            np.empty(room, dtype=np.float64),
            np.zeros(room, dtype=np.int32),  # the query in full: zero between queries
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int32),
            np.empty(room, dtype=np.uint16),
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int32),
            aligned_zeros((PLACES,), np.int32),
            aligned_zeros((PLACES,), np.uint16),
            aligned_zeros(
                (BATCH * (self.tile + 32) + PLACES,), np.uint16
            ),  # 64 bytes more, lest all lie in one set of the cache
            aligned_zeros((BUFFER,), np.uint64),
            aligned_zeros((self.tile,), np.int32),
            np.empty(FOUND_ROOM, dtype=np.int64),
        )
        self.description = describe(self._arrays, (room, self.tile))
