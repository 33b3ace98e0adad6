"""Class profiles of words: in documents of which classes a word occurs, and how much that says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["ClassProfiles", "count_profiles"]


@dataclass(frozen=True, slots=True)
class ClassProfiles:
    """Smoothed class profiles of the words of a training set.

    Parameters
    ----------
    document_counts : ndarray of shape (n_words,)
        Documents (or their weight) that contain each word.
    class_shares : ndarray of shape (n_classes,)
        Share of each class among the documents.
    shares : ndarray of shape (n_words, n_classes)
        Share of each class among the documents that contain the word, pulled towards `class_shares`.
    """

    document_counts: NDArray[np.float64]  # n_w
    class_shares: NDArray[np.float64]  # pi_c
    shares: NDArray[np.float64]  # F_wc

    @property
    def informativeness(self) -> NDArray[np.float64]:
        """Kullback-Leibler divergence of each word's profile from the class shares, shape (n_words,)."""
        divergence = (self.shares * np.log(self.shares / self.class_shares)).sum(axis=1)  # kappa_w
        return np.asarray(np.maximum(divergence, 0.0))

    @property
    def hellinger_features(self) -> NDArray[np.float64]:
        """Points whose Euclidean distance is that of Hellinger, the class shares at zero; like `shares`."""
        return np.sqrt(self.shares) - np.sqrt(self.class_shares)


def count_profiles(
    counts: csr_array,
    labels: NDArray[np.intp],
    n_classes: int,
    *,
    smoothing: float,
    sample_weight: NDArray[np.float64] | None = None,
) -> ClassProfiles:
    """Count in which classes each word occurs.

    Parameters
    ----------
    counts : csr_array of shape (n_documents, n_words)
        Canonical counts; only whether an entry is there matters.
    labels : ndarray of int, shape (n_documents,)
        Class numbers below `n_classes`, each of which occurs.
    n_classes : int
        Number of classes.
    smoothing : float
        Documents' worth of pull towards the class shares.
    sample_weight : ndarray of shape (n_documents,), optional
        Weight of each document, one by default.

    Returns
    -------
    ClassProfiles

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> counts = check_counts([[1, 1], [1, 0], [0, 1], [0, 1]])
    >>> profiles = count_profiles(counts, np.array([0, 0, 1, 1]), 2, smoothing=2)
    >>> profiles.shares
    array([[0.75, 0.25],
           [0.4 , 0.6 ]])
    >>> profiles.informativeness.round(3)
    array([0.131, 0.02 ])
    """
    from scipy.sparse import csr_array

    weights = np.ones(labels.size) if sample_weight is None else sample_weight
    membership = csr_array((weights, (labels, np.arange(labels.size))), shape=(n_classes, labels.size))
    presence = csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)
    by_class = (membership @ presence).toarray().T  # n_wc
    class_shares = np.bincount(labels, weights=weights, minlength=n_classes) / weights.sum()
    document_counts = by_class.sum(axis=1)
    shares = (by_class + smoothing * class_shares) / (document_counts + smoothing)[:, None]
    return ClassProfiles(document_counts, class_shares, shares)
