"""Linear models as the benchmark compares them: penalties chosen on training documents, equal ones together."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import to_histograms
from treewass.learners.fingerprints import fingerprints

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TunedLinear", "equal_documents"]

SVM_PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
LOGISTIC_PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0)


def equal_documents(counts: Any) -> NDArray[np.intp]:
    """Give equal documents equal numbers: the groups of every validation split.

    Parameters
    ----------
    counts : sparse matrix or array-like of shape (n_documents, n_words)

    Returns
    -------
    ndarray of int, shape (n_documents,)

    Examples
    --------
    >>> equal_documents([[1, 0], [0, 1], [1, 0]]).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    return np.asarray(np.unique(fingerprints(to_histograms(counts)), return_inverse=True)[1])


def _folds(counts: Any, labels: NDArray[Any], n_splits: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Split training documents for validation, equal ones together."""
    from sklearn.model_selection import StratifiedGroupKFold

    folds = StratifiedGroupKFold(n_splits, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer documents than folds
        return list(folds.split(counts, labels, equal_documents(counts)))


class TunedLinear:
    """A linear model on sublinear TF-IDF; its penalty is chosen on training documents, equal ones together.

    Parameters
    ----------
    kind : {"svm", "logistic"}
        Linear support vectors, chosen by accuracy over five folds, or logistic regression, chosen by log-loss over
        three.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def fit(self, counts: Any, labels: NDArray[Any]) -> TunedLinear:
        """Choose the penalty and fit on all documents."""
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        svm = self.kind == "svm"
        model = make_pipeline(
            TfidfTransformer(sublinear_tf=True), LinearSVC(random_state=0) if svm else LogisticRegression(max_iter=1000)
        )
        name = "linearsvc__C" if svm else "logisticregression__C"
        search = GridSearchCV(
            model,
            {name: SVM_PENALTIES if svm else LOGISTIC_PENALTIES},
            cv=_folds(counts, labels, 5 if svm else 3),
            scoring="accuracy" if svm else _log_loss_score,
        )
        self.model_ = search.fit(counts, labels).best_estimator_
        self.penalty_ = float(search.best_params_[name])
        self.classes_ = self.model_.classes_
        if not svm:
            self.predict_proba = self.model_.predict_proba
        return self

    def predict(self, counts: Any) -> NDArray[Any]:
        """Predict labels."""
        return np.asarray(self.model_.predict(counts))


def _log_loss_score(model: Any, counts: Any, labels: NDArray[Any]) -> float:
    """Compute minus the log-loss; a class that the training part lacks has probability zero, cut off."""
    probabilities = model.predict_proba(counts)
    places = np.searchsorted(model.classes_, labels).clip(max=model.classes_.size - 1)
    own = np.where(model.classes_[places] == labels, probabilities[np.arange(labels.size), places], 0.0)
    return float(np.log(np.maximum(own, 1e-15)).mean())
