"""Counting labelled documents in parts, so that no second copy of them is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import check_counts, empty_rows, warn_about_empty_rows
from treewass.learners.profiles import ClassCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_in_parts"]

_ENTRIES = 1 << 21  # of the matrix, in a part


def count_in_parts(
    matrix: Any, labels: NDArray[Any], weights: NDArray[np.float64], classes: NDArray[Any]
) -> ClassCounts:
    """Count in how many documents of each class each word occurs.

    Parameters
    ----------
    matrix : csr_array, csr_matrix or ndarray of shape (n_documents, n_words)
        Counts; checked and made canonical part by part.
    labels : ndarray of shape (n_documents,)
        Labels, among `classes` wherever the weight is positive.
    weights : ndarray of shape (n_documents,)
        Documents of weight zero are left out.
    classes : ndarray of shape (n_classes,)
        Sorted.

    Returns
    -------
    ClassCounts

    Warns
    -----
    EmptyDocumentWarning
        If documents hold no word.
    """
    n_documents = matrix.shape[0]
    total = ClassCounts.of(check_counts(matrix[:0]), np.zeros(0, dtype=np.intp), len(classes))
    rows = max(1, _ENTRIES * n_documents // max(int(getattr(matrix, "nnz", matrix.size)), 1))
    empty = []
    for start in range(0, n_documents, rows):
        chosen = start + np.flatnonzero(weights[start : start + rows] > 0)
        counts = check_counts(matrix[chosen] if chosen.size < rows else matrix[start : start + rows])
        total = total + ClassCounts.of(counts, np.searchsorted(classes, labels[chosen]), len(classes), weights[chosen])
        empty.append(chosen[empty_rows(counts)])
    warn_about_empty_rows(np.concatenate(empty), "nothing is learned from them.")
    return total
