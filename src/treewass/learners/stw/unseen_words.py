"""Words of no training document: which training word is most like each, by their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["most_like"]

_NUMBERS = 1 << 24  # cosines held at a time


def most_like(
    vectors: NDArray[np.float64], covered: NDArray[np.bool_], known: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find for each unknown word with a vector the known word of the largest cosine, the first of equals.

    Returned are the unknown words whose largest cosine is above zero, and the known words.

    Examples
    --------
    >>> vectors = np.array([[1.0, 0], [0, 1], [1, 2], [-1, -1]])
    >>> most_like(vectors, np.ones(4, bool), np.array([True, True, False, False]))
    (array([2]), array([1]))
    """
    norms = np.linalg.norm(vectors, axis=1)
    usable = covered & (norms > 0)
    seen, unseen = np.flatnonzero(usable & known), np.flatnonzero(usable & ~known)
    if not seen.size or not unseen.size:
        return unseen[:0], seen[:0]
    units = vectors[seen] / norms[seen, None]
    like, highest = np.zeros(unseen.size, dtype=np.intp), np.zeros(unseen.size)
    step = max(1, _NUMBERS // seen.size)
    for start in range(0, unseen.size, step):
        cosines = vectors[unseen[start : start + step]] @ units.T
        best = cosines.argmax(axis=1)
        like[start : start + step] = seen[best]
        highest[start : start + step] = cosines[np.arange(best.size), best]
    placed = highest > 0
    return unseen[placed], like[placed]
