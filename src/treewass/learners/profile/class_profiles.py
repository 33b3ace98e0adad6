"""Class profiles of words: in how many documents of each class a word occurs, and how much that says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import cached_property
from treewass.documents.histograms import check_counts, empty_rows, fingerprints, warn_about_empty_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["ClassProfiles", "ColumnCounts", "count_in_parts"]

_ENTRIES = 1 << 19  # of the matrix, counted at a time


@dataclass(frozen=True)
class ColumnCounts:
    """In how many documents of each class each word occurs. Counts add up, so that data may come in parts.

    Documents may be weighted; then the counts are sums of weights. `by_word` has shape (n_words, n_classes) and is
    sparse, since most words occur in few classes. `by_class` has shape (n_classes,).
    """

    by_word: csr_array  # n_wc
    by_class: NDArray[np.float64]

    @classmethod
    def of(
        cls, counts: csr_array, labels: NDArray[np.intp], n_classes: int, weights: NDArray[np.float64] | None = None
    ) -> ColumnCounts:
        """Count documents of canonical counts, shape (n_documents, n_words), by their class numbers.

        Examples
        --------
        >>> from treewass.documents.histograms import check_counts
        >>> counted = ColumnCounts.of(check_counts([[1, 1], [2, 0], [0, 1]]), np.array([0, 0, 1]), 2)
        >>> counted.by_word.toarray()
        array([[2., 0.],
               [1., 1.]])
        """
        from scipy.sparse import csr_array

        weights = np.ones(labels.size) if weights is None else weights
        membership = csr_array((weights, (labels, np.arange(labels.size))), shape=(n_classes, labels.size))
        presence = csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)
        by_word = csr_array((membership @ presence).T.tocsr())
        by_word.sort_indices()
        return cls(by_word, np.bincount(labels, weights, n_classes).astype(np.float64))

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        return ColumnCounts(self.by_word + other.by_word, self.by_class + other.by_class)

    def widened(self, n_words: int, classes: NDArray[np.intp], n_classes: int) -> ColumnCounts:
        """Make room for more words on the right; `classes` holds the new, ascending number of each class."""
        from scipy.sparse import csr_array

        old = self.by_word
        bounds = np.append(old.indptr, np.full(n_words - old.shape[0], old.indptr[-1], dtype=old.indptr.dtype))
        by_word = csr_array((old.data, classes[old.indices], bounds), shape=(n_words, n_classes))
        by_class = np.zeros(n_classes)
        by_class[classes] = self.by_class
        return ColumnCounts(by_word, by_class)


def count_in_parts(
    matrix: Any, labels: NDArray[Any], weights: NDArray[np.float64], classes: NDArray[Any]
) -> ColumnCounts:
    """Count documents by word and class in parts, so that no second copy of the matrix is needed.

    The matrix of counts, sparse or dense, is checked and made canonical part by part. Documents of weight zero are left
    out; the labels of all others must be among `classes`, which are sorted. Documents without a word cause a warning.
    """
    n_documents = matrix.shape[0]
    total = ColumnCounts.of(check_counts(matrix[:0]), np.zeros(0, dtype=np.intp), len(classes))
    rows = max(1, _ENTRIES * n_documents // max(int(getattr(matrix, "nnz", matrix.size)), 1))
    empty = []
    for start in range(0, n_documents, rows):
        chosen = start + np.flatnonzero(weights[start : start + rows] > 0)
        counts = check_counts(matrix[chosen] if chosen.size < rows else matrix[start : start + rows])
        total = total + ColumnCounts.of(counts, np.searchsorted(classes, labels[chosen]), len(classes), weights[chosen])
        empty.append(chosen[empty_rows(counts)])
    warn_about_empty_rows(np.concatenate(empty), "nothing is learned from them.")
    return total


@dataclass(frozen=True)
class ClassProfiles:
    r"""Class profiles of words, smoothed: the share of each class among the documents that contain the word.

    With :math:`g_{wc} = n_{wc} + \beta \pi_c` and :math:`T_w = n_w + \beta` the profile is
    :math:`F_{wc} = g_{wc} / T_w`, and its divergence from the class shares :math:`\pi` is
    :math:`\kappa_w = \frac{1}{T_w} \sum_c g_{wc} \log (g_{wc} / \pi_c) - \log T_w`. Classes that a word does not
    occur in add the same for every word, so that a profile costs only the classes that it does occur in.

    There must be at least one document. The smoothing :math:`\beta` is in documents' worth of pull towards the class
    shares. Where words borrow documents from others, the counts hold these too. Then `borrowed`, shape (n_words,
    n_words), says how much of a word's documents another one got, and `labelled` which words have documents of their
    own.

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> documents = check_counts([[1, 1], [1, 0], [0, 1], [0, 1]])
    >>> profiles = ClassProfiles(ColumnCounts.of(documents, np.array([0, 0, 1, 1]), 2), smoothing=2)
    >>> profiles.shares([0, 1])
    array([[0.75, 0.25],
           [0.4 , 0.6 ]])
    >>> profiles.informativeness.round(3)
    array([0.131, 0.02 ])
    """

    counts: ColumnCounts
    smoothing: float  # beta
    borrowed: csr_array | None = None
    labelled: NDArray[np.bool_] | None = None

    @cached_property
    def class_shares(self) -> NDArray[np.float64]:
        """Share of each class among the documents, shape (n_classes,)."""
        return np.asarray(self.counts.by_class / self.counts.by_class.sum())  # pi_c

    @cached_property
    def document_counts(self) -> NDArray[np.float64]:
        """Documents (or their weight) that contain each word, shape (n_words,)."""
        return np.asarray(self.counts.by_word.sum(axis=1))  # n_w

    @cached_property
    def informativeness(self) -> NDArray[np.float64]:
        """Kullback-Leibler divergence of each word's profile from the class shares, shape (n_words,)."""
        total = self.document_counts + self.smoothing  # T_w
        return np.asarray(np.maximum(self._terms / total - np.log(total), 0.0))  # kappa_w

    @cached_property
    def _terms(self) -> NDArray[np.float64]:
        """Sum over classes of g log(g / share), shape (n_words,)."""
        by_word, shares = self.counts.by_word, self.class_shares
        empty = self.smoothing * np.log(self.smoothing)
        changes = self._term(by_word.data, by_word.indices) - empty * shares[by_word.indices]
        words = np.repeat(np.arange(by_word.shape[0]), np.diff(by_word.indptr))
        return np.asarray(empty + np.bincount(words, changes, by_word.shape[0]))

    def _term(self, counts: NDArray[np.float64], classes: NDArray[np.integer]) -> NDArray[np.float64]:
        shares = self.class_shares[classes]
        smoothed = counts + self.smoothing * shares
        return np.asarray(smoothed * np.log(smoothed / shares))

    def without_own(
        self, documents: csr_array, labels: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Compute the informativeness of each document's words as if that document had not been counted.

        There is a value for each entry of the canonical `documents`, whose class numbers and weights have shape
        (n_documents,). A word without any other document gets −1. How much a word borrows in all stays, since it does
        not depend on labels; what it borrows of the document itself is taken off.
        """
        by_word = self.counts.by_word
        sizes, words = np.diff(documents.indptr), documents.indices
        classes, amounts = np.repeat(labels, sizes), np.repeat(weights, sizes)
        if self.borrowed is not None:
            from treewass.learners.profile.likeness_kernels import sum_within

            lent = np.zeros(words.size)
            sum_within(documents.indptr, words, self.borrowed.indptr, self.borrowed.indices, self.borrowed.data, lent)
            amounts = amounts * (1.0 + lent)
        keys = np.repeat(np.arange(by_word.shape[0]), np.diff(by_word.indptr)) * by_word.shape[1] + by_word.indices
        counts = by_word.data[np.searchsorted(keys, words.astype(np.int64) * by_word.shape[1] + classes)]
        fewer = np.maximum(counts - amounts, 0.0)
        terms = self._terms[words] - self._term(counts, classes) + self._term(fewer, classes)
        left = self.document_counts[words] - amounts
        total = np.maximum(left, 0.0) + self.smoothing
        alone = left <= 1e-9 * self.document_counts[words]
        return np.where(alone, -1.0, np.maximum(terms / total - np.log(total), 0.0))

    def shares(self, words: NDArray[np.integer] | Sequence[int]) -> NDArray[np.float64]:
        """Compute the profiles of some words, shape (len(words), n_classes)."""
        chosen = self.counts.by_word[np.asarray(words)]
        smoothed = chosen.toarray() + self.smoothing * self.class_shares  # g_wc
        return np.asarray(smoothed / (self.document_counts[words] + self.smoothing)[:, None])  # F_wc

    def points(self, words: NDArray[np.integer] | Sequence[int]) -> NDArray[np.float32]:
        """Compute points whose Euclidean distance is that of Hellinger, the class shares at zero; like `shares`."""
        return (np.sqrt(self.shares(words)) - np.sqrt(self.class_shares)).astype(np.float32)

    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find one word for each distinct row of counts, and the place of each word's equal among these."""
        keys = fingerprints(self.counts.by_word)
        _, examples, place = np.unique(keys, return_index=True, return_inverse=True)
        return examples, place
