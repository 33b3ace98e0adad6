"""The trivial metrics: every word hangs from the root, so that the distance is plain L1."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewass.documents.histograms import check_counts
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import star_tree

__all__ = ["bow_metric", "tfidf_metric"]


def bow_metric(n_words: int) -> TreeMetric:
    """Make the L1 distance between bags of words.

    Parameters
    ----------
    n_words : int
        Number of words.

    Returns
    -------
    TreeMetric

    Examples
    --------
    >>> bow_metric(2).pairwise([[1, 1]], [[0, 2]])
    array([[1.]])
    """
    return TreeMetric(star_tree(n_words))


def tfidf_metric(X: Any) -> TreeMetric:
    """Make the L1 distance between bags of words weighted by inverse document frequency.

    A word in d of n documents has the mass factor ``log((1 + n) / (1 + d)) + 1``, as in scikit-learn.

    Parameters
    ----------
    X : sparse matrix or array-like of shape (n_documents, n_words)
        Counts of the documents that the frequencies are taken from.

    Returns
    -------
    TreeMetric

    Examples
    --------
    >>> tfidf_metric([[1, 1], [1, 0], [1, 0]]).masses.round(2)
    array([[1.  , 1.69]])
    """
    counts = check_counts(X)
    n_documents, n_words = counts.shape
    frequencies = np.bincount(counts.indices, minlength=n_words)
    return TreeMetric(star_tree(n_words), np.log((1 + n_documents) / (1 + frequencies)) + 1)
