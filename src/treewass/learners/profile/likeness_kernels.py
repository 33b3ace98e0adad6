"""Compiled loops over words that are like each other; imported on first use, since importing numba takes a moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treewass.compute.compiling import compiled

__all__ = ["largest", "sum_within"]


def _largest(
    values: NDArray[np.float32],
    own: NDArray[np.integer],
    columns: NDArray[np.integer],
    found: NDArray[np.float32],
) -> None:
    """Write the largest values of each row and their columns, descending; ties go to the earlier column.

    The column `own` of a row, if it is not negative, is left out: where no other is left, the value found is zero.
    """
    k = columns.shape[1]
    for row in range(values.shape[0]):
        n_found = 0
        for column in range(values.shape[1]):
            value = values[row, column]
            if (n_found == k and value <= found[row, k - 1]) or column == own[row]:
                continue
            n_found = min(n_found + 1, k)
            place = n_found - 1
            while place > 0 and found[row, place - 1] < value:
                found[row, place] = found[row, place - 1]
                columns[row, place] = columns[row, place - 1]
                place -= 1
            found[row, place] = value
            columns[row, place] = column


def _sum_within(
    bounds: NDArray[np.integer],
    words: NDArray[np.integer],
    lender_bounds: NDArray[np.integer],
    lenders: NDArray[np.integer],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add to each entry of the documents the values of those lenders of its word that the same document holds."""
    document_of = np.full(lender_bounds.size - 1, -1)  # the last document that held each word
    for document in range(bounds.size - 1):
        for entry in range(bounds[document], bounds[document + 1]):
            document_of[words[entry]] = document
        for entry in range(bounds[document], bounds[document + 1]):
            word = words[entry]
            for place in range(lender_bounds[word], lender_bounds[word + 1]):
                if document_of[lenders[place]] == document:
                    sums[entry] += values[place]


largest = compiled(_largest)
sum_within = compiled(_sum_within)
