"""What every estimator accepts: checked as scikit-learn does, then brought into canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from treewass.documents.histograms import check_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["check_documents", "check_labelled_documents", "counts_tags"]

_ACCEPTED = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def check_documents(estimator: BaseEstimator, X: Any) -> csr_array:
    """Check documents against what the fitted estimator has seen: number and names of words.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    X : sparse matrix, array-like or data frame of shape (n_documents, n_words)
        Counts or weights.

    Returns
    -------
    csr_array of shape (n_documents, n_words), float64
        Canonical rows.
    """
    return check_counts(
        validate_data(estimator, X, reset=False, **_ACCEPTED), caller=f"X in {type(estimator).__name__}"
    )


def check_labelled_documents(estimator: BaseEstimator, X: Any, y: ArrayLike) -> tuple[csr_array, NDArray[Any]]:
    """Check documents and labels for fitting, and note number and names of words on the estimator.

    Parameters
    ----------
    estimator : estimator
        The one that is being fitted.
    X : sparse matrix, array-like or data frame of shape (n_documents, n_words)
        Counts or weights.
    y : array-like of shape (n_documents,)
        Labels.

    Returns
    -------
    counts : csr_array of shape (n_documents, n_words), float64
        Canonical rows.
    labels : ndarray of shape (n_documents,)
    """
    X, labels = validate_data(estimator, X, y, **_ACCEPTED)
    check_classification_targets(labels)
    return check_counts(X, caller=f"X in {type(estimator).__name__}"), np.asarray(labels)


def counts_tags(tags: Tags) -> Tags:
    """Say that an estimator takes non-negative counts, sparse ones too."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = True
    return tags
