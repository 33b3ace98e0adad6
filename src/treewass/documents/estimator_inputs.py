"""What every estimator accepts: checked as scikit-learn does, then brought into canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from treewass.compute.arguments import check_integer, check_positive, shown
from treewass.documents.histograms import check_counts, first_few, refuse_texts, refuse_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = [
    "check_documents",
    "check_labelled_documents",
    "check_labelled_matrix",
    "check_ranges",
    "check_weights",
    "check_wider_names",
    "counts_tags",
    "join_classes",
]

_ACCEPTED = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,  # our own check names the rows
}


def check_documents(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> csr_array:
    """Check documents against what the fitted estimator has seen: number and names of words; return canonical rows.

    With `reset`, number and names are noted on the estimator instead, as when fitting without labels.
    """
    refuse_texts(X)
    return check_counts(
        validate_data(estimator, X, reset=reset, **_ACCEPTED), caller=f"X in {type(estimator).__name__}"
    )


def check_labelled_documents(estimator: BaseEstimator, X: Any, y: ArrayLike) -> tuple[csr_array, NDArray[Any]]:
    """Check documents and labels for fitting, and note number and names of words; return canonical rows, and labels."""
    matrix, labels = check_labelled_matrix(estimator, X, y)
    return check_counts(matrix, caller=f"X in {type(estimator).__name__}"), labels


def check_labelled_matrix(
    estimator: BaseEstimator, X: Any, y: ArrayLike, *, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Check documents and labels without copying a sparse matrix, for learners that count in parts.

    The matrix is not canonical yet: `check_counts` makes it so, part by part. With `reset`, number and names of words
    are noted on the estimator, else they are checked against those noted.
    """
    refuse_texts(X)
    accepted: dict[str, Any] = dict(_ACCEPTED)
    if getattr(getattr(X, "dtype", None), "kind", "") in "biu" and hasattr(X, "tocsr"):
        accepted["dtype"] = None  # whole numbers stay as they are
    matrix, labels = validate_data(estimator, X, y, reset=reset, **accepted)
    refuse_values(matrix, caller=f"X in {type(estimator).__name__}")
    check_classification_targets(labels)
    return matrix, np.asarray(labels)


def check_ranges(
    estimator: BaseEstimator,
    least: Mapping[str, int],
    positive: Iterable[str],
    shares: Iterable[str],
    optional: Iterable[str] = (),
) -> None:
    """Refuse parameters out of their range.

    `least` names whole numbers and the smallest value of each, `positive` those above zero, `shares` those from zero to
    below one, and `optional` those that may be None.
    """
    given = {name: value for name, value in vars(estimator).items() if value is not None or name not in optional}
    for name, lowest in least.items():
        check_integer(name, given.get(name, lowest), lowest)
    for name in positive:
        check_positive(name, given.get(name, 1))
    for name in shares:
        value = given.get(name, 0)
        if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and 0 <= value < 1):
            raise ValueError(f"Expected {name} from zero to below one, got {shown(value)}.")


def check_weights(sample_weight: ArrayLike | None, n_documents: int) -> NDArray[np.float64]:
    """Demand one non-negative weight per document, not all zero; ones by default."""
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


def check_wider_names(estimator: BaseEstimator, wider: BaseEstimator) -> NDArray[Any] | None:
    """Return the names of all words, where they have names, when new documents may bring new words on the right.

    `wider` has noted the names of the new documents' words. Those seen by the estimator so far must keep their columns.
    """
    seen: NDArray[Any] | None = getattr(estimator, "feature_names_in_", None)
    names: NDArray[Any] | None = getattr(wider, "feature_names_in_", None)
    if seen is None:
        return names
    if names is None or not np.array_equal(names[: seen.size], seen):
        raise ValueError(
            f"Expected a frame whose first {seen.size} columns are the words seen so far, in the same order, and new "
            "words on the right of them. Reorder the columns: names are in feature_names_in_."
        )
    return names


def join_classes(found: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the distinct labels of several arrays, sorted; text and numbers do not mix.

    Examples
    --------
    >>> join_classes([np.array([3, 1]), np.array([2, 1])])
    array([1, 2, 3])
    """
    some = [values for values in found if values.size]
    if len({values.dtype.kind in "OSU" for values in some}) > 1:
        raise ValueError("Expected labels of one kind, all text or all numbers, got both. Convert them first.")
    return np.unique(np.concatenate(some))


def counts_tags(tags: Tags) -> Tags:
    """Say that an estimator takes non-negative counts, sparse ones too."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = True
    return tags
