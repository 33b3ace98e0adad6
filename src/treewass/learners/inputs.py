"""What every estimator accepts: checked as scikit-learn does, then brought into canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from treewass.documents.histograms import check_counts, first_few

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["check_documents", "check_labelled_documents", "check_labelled_matrix", "check_weights", "counts_tags"]

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


def check_labelled_matrix(
    estimator: BaseEstimator, X: Any, y: ArrayLike, *, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Check documents and labels without copying a sparse matrix, for learners that count in parts.

    Parameters
    ----------
    estimator : estimator
        The one that is being fitted.
    X : sparse matrix, array-like or data frame of shape (n_documents, n_words)
        Counts or weights.
    y : array-like of shape (n_documents,)
        Labels.
    reset : bool, default=True
        Whether to note number and names of words on the estimator, or to check against those noted.

    Returns
    -------
    matrix : csr_array, csr_matrix or ndarray of shape (n_documents, n_words)
        Not canonical yet: `check_counts` makes it so, part by part.
    labels : ndarray of shape (n_documents,)
    """
    accepted: dict[str, Any] = dict(_ACCEPTED)
    if getattr(getattr(X, "dtype", None), "kind", "") in "biu" and hasattr(X, "tocsr"):
        accepted["dtype"] = None  # whole numbers stay as they are
    matrix, labels = validate_data(estimator, X, y, reset=reset, **accepted)
    check_classification_targets(labels)
    return matrix, np.asarray(labels)


def check_weights(sample_weight: ArrayLike | None, n_documents: int) -> NDArray[np.float64]:
    """Demand one non-negative weight a document, not all zero; ones by default.

    Parameters
    ----------
    sample_weight : array-like of shape (n_documents,), optional
    n_documents : int

    Returns
    -------
    ndarray of shape (n_documents,)

    Examples
    --------
    >>> check_weights(None, 2), check_weights([0, 3], 2)
    (array([1., 1.]), array([0., 3.]))
    """
    if sample_weight is None:
        return np.ones(n_documents)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_documents,):
        raise ValueError(
            f"Expected sample_weight of shape ({n_documents},), one per document, got shape {weights.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ValueError(
            f"Expected finite weights of zero or more, got {weights[wrong[0]]} in rows {first_few(wrong)}."
        )
    if not weights.any():
        raise ValueError("Expected at least one document with a positive sample_weight, got only zeros.")
    return weights


def counts_tags(tags: Tags) -> Tags:
    """Say that an estimator takes non-negative counts, sparse ones too."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = True
    return tags
