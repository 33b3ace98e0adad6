"""Compiled loops of the search; imported on first use, since importing numba takes a moment."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["nearest", "scan"]


@njit(cache=True, nogil=True)
def scan(
    columns: NDArray[np.int32],
    values: NDArray[np.int32],
    norm: int,
    posting_bounds: NDArray[np.int64],
    posting_documents: NDArray[np.int32],
    posting_values: NDArray[np.int32],
    document_norms: NDArray[np.int64],
    distances: NDArray[np.int64],
) -> None:
    """Write the L1 distance of one query to every document, in units.

    |x − y|₁ = |x|₁ + |y|₁ − 2 Σ min(x, y), so that only the query's own columns are visited.
    """
    for document in range(document_norms.size):
        distances[document] = document_norms[document] + norm
    for entry in range(columns.size):
        value = values[entry]
        for posting in range(posting_bounds[columns[entry]], posting_bounds[columns[entry] + 1]):
            distances[posting_documents[posting]] -= 2 * min(value, posting_values[posting])


@njit(cache=True, nogil=True)
def nearest(distances: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the positions of the k smallest distances, in order, ties by position."""
    bound = np.partition(distances, k - 1)[k - 1]
    below = 0
    for distance in distances:
        if distance < bound:
            below += 1
    positions = np.empty(k, np.int64)
    inside, tied = 0, below
    for position in range(distances.size):
        if distances[position] < bound:
            positions[inside] = position
            inside += 1
        elif distances[position] == bound and tied < k:
            positions[tied] = position
            tied += 1
    return positions[np.argsort(distances[positions], kind="mergesort")]
