"""Compiled loops that turn documents by feature, in two passes over their embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.search.kernels.compiling import compiled
from treewass.search.kernels.embedding import spread_document
from treewass.search.layout import N_FEATURES, N_WORDS

__all__ = ["count_entries", "fill"]


@compiled
def count_entries(
    metric: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    weights: NDArray[np.float64],
    tile: int,
    counts: NDArray[np.int64],
    norms: NDArray[np.int32],
) -> int:
    """Count each feature's entries in each tile, and write the documents' norms, -1 where no word is known.

    Returns -1, or a row whose total overflows.
    """
    word_masses, sums = np.empty(metric[N_WORDS], np.int64), np.zeros(metric[N_FEATURES], np.int64)
    touched, amounts = np.empty(metric[N_FEATURES] + 1, np.int32), np.empty(metric[N_FEATURES] + 1, np.float64)
    unsorted = np.empty(0, np.uint64)
    n_tiles = counts.size // max(metric[N_FEATURES], 1)
    for row in range(indptr.size - 1):
        start = indptr[row]
        count = indptr[row + 1] - start
        n_touched = spread_document(
            metric, words, weights, start, start, count, word_masses, sums, unsorted, touched, amounts
        )
        if n_touched < 0:
            return row
        norm = np.int64(0)
        for position in range(n_touched):
            feature = touched[position]
            value = np.int64(np.rint(amounts[position]))
            norm += value
            counts[feature * n_tiles + row // tile] += value > 0
        norms[row] = norm if n_touched else -1
    return -1


@compiled
def fill(
    metric: Any,
    indptr: Any,
    words: Any,
    weights: Any,
    tile: Any,
    shift: Any,
    bits: Any,
    count_bits: Any,
    directory: Any,
    dense: Any,
    postings: Any,
) -> Any:
    """Write each document's values, less their last `shift` bits, into dense rows or as postings.

    What stands in `directory` moves along the postings as they are written.
    """
    word_masses, sums = np.empty(metric[N_WORDS], np.int64), np.zeros(metric[N_FEATURES], np.int64)
    touched, amounts = np.empty(metric[N_FEATURES] + 1, np.int32), np.empty(metric[N_FEATURES] + 1, np.float64)
    unsorted = np.empty(0, np.uint64)
    n_tiles, _, _, piece = dense.shape
    for document in range(indptr.size - 1):
        start = indptr[document]
        count = indptr[document + 1] - start
        n_touched = spread_document(
            metric, words, weights, start, start, count, word_masses, sums, unsorted, touched, amounts
        )
        number, place = document // tile, document % tile
        for position in range(n_touched):
            feature = touched[position]
            value = np.int64(np.rint(amounts[position]))
            if value == 0:
                continue
            entry = directory[feature * n_tiles + number]
            if entry < 0:
                dense[number, place // piece, ~entry, place % piece] = value >> shift
            else:
                postings[entry >> count_bits] = (place << bits) | (value >> shift)
                directory[feature * n_tiles + number] = entry + (1 << count_bits)
