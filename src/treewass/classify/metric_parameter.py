"""What ``metric=`` means, wherever it is a parameter: one vocabulary, one way to a `TreeMetric`."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import TYPE_CHECKING, Any

from treewass.compute.arguments import shown
from treewass.documents.histograms import EmptyDocumentWarning, check_counts
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["METRICS", "learn_metric", "metric_learner", "needs_labels"]

METRICS = ("profile", "stw", "topics", "bow", "tfidf")


def learn_metric(
    metric: Any,
    counts: csr_array,
    labels: NDArray[Any] | None,
    sample_weight: NDArray[np.float64] | None = None,
    **settings: Any,
) -> tuple[TreeMetric, Any]:
    """Turn a parameter ``metric`` into a `TreeMetric`, by learning it from canonical counts and labels if need be.

    What it may be is written down in `TreeWassersteinClassifier`. The settings, such as ``random_state``, go to a
    learner given by its name; a transformer keeps its own. A learner whose ``fit`` takes no weights is refused if
    weights differ from one. There may be no labels for a metric that does not need them (`needs_labels`). The
    second value returned is the fitted learner, or None. Documents without a known word are left to the caller to warn
    about.

    Examples
    --------
    >>> from treewass.documents.histograms import check_counts
    >>> metric, learner = learn_metric("bow", check_counts([[1, 0], [0, 1]]), ["a", "b"])
    >>> metric.n_words, learner
    (2, None)
    """
    learner = metric_learner(metric, **settings)
    if learner is None:
        if isinstance(metric, TreeMetric):
            check_counts(counts, n_words=metric.n_words, caller="TreeMetric")
            return metric, None
        from treewass.learners import bow_metric, tfidf_metric

        return (bow_metric(counts.shape[1]) if metric == "bow" else tfidf_metric(counts, sample_weight)), None
    weights = {} if sample_weight is None or (sample_weight == 1).all() else {"sample_weight": sample_weight}
    if weights and "sample_weight" not in signature(learner.fit).parameters:
        raise ValueError(
            f"Expected no sample_weight, or a learner that takes it, but {type(learner).__name__}.fit does not. "
            "Leave the weights out, or take ProfileTreeWasserstein."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        learned = getattr(learner.fit(counts, labels, **weights), "metric_", None)
    if not isinstance(learned, TreeMetric):
        raise TypeError(f"Expected {type(learner).__name__} to have a TreeMetric as metric_ after fitting.")
    return learned, learner


def metric_learner(metric: Any, **settings: Any) -> Any:
    """Make the unfitted learner that a parameter ``metric`` asks for; None if nothing is learned from labels.

    Examples
    --------
    >>> metric_learner("profile"), metric_learner("tfidf")
    (ProfileTreeWasserstein(), None)
    """
    name = metric if isinstance(metric, str) else None
    if isinstance(metric, TreeMetric) or name in ("bow", "tfidf"):
        return None
    if metric is None or name == "profile":
        from treewass.learners import ProfileTreeWasserstein

        return ProfileTreeWasserstein(**settings)
    if name == "stw":
        from treewass.learners import SupervisedTreeWasserstein

        return SupervisedTreeWasserstein(**settings)
    if name == "topics":
        from treewass.learners import TopicTreeWasserstein

        return TopicTreeWasserstein(random_state=settings.get("random_state", 0))
    if isinstance(metric, str | type) or not (hasattr(metric, "fit") and hasattr(metric, "get_params")):
        names = ", ".join(f'"{name}"' for name in METRICS)
        raise ValueError(
            f"Expected metric to be None, {names}, an unfitted transformer with a metric_, or a TreeMetric, got "
            f"{shown(metric)}."
        )
    from sklearn.base import clone

    return clone(metric)


def needs_labels(metric: Any) -> bool:
    """Tell whether a parameter ``metric`` asks for a learner that cannot do without labels, as its tags say.

    Examples
    --------
    >>> needs_labels("profile"), needs_labels("topics")
    (True, False)
    """
    learner = metric_learner(metric) if metric is None or isinstance(metric, str) else metric
    return hasattr(learner, "__sklearn_tags__") and bool(learner.__sklearn_tags__().target_tags.required)
