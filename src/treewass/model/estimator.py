"""What scikit-learn asks of an estimator, without importing it: a model is loaded and searched in a moment."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from treewass.model.labelled_texts import check_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

__all__ = ["TextClassifier"]


class TextClassifier:
    """Base of a classifier of texts: parameters, tags and `score` as scikit-learn knows them.

    `clone`, `cross_val_score`, `GridSearchCV` and `Pipeline` work as with scikit-learn's own base classes.
    """

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Predict the label of each text."""
        raise NotImplementedError

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Return the parameters of nested estimators too, as ``metric__depth``.

        Returns
        -------
        dict of str to object
        """
        parameters = {name: getattr(self, name) for name in sorted(self._parameter_names())}
        if not deep:
            return parameters
        nested = {
            f"{name}__{inner}": setting
            for name, value in parameters.items()
            if hasattr(value, "get_params") and not isinstance(value, type)
            for inner, setting in value.get_params().items()
        }
        return {**parameters, **nested}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, those of nested estimators as ``metric__depth``.

        Parameters
        ----------
        **parameters
            Names and values.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a name that is none of a parameter.
        """
        nested: dict[str, dict[str, Any]] = {}
        for key, value in parameters.items():
            name, has_inner, inner = key.partition("__")
            if name not in self._parameter_names() or (has_inner and not hasattr(getattr(self, name), "set_params")):
                raise ValueError(
                    f"Expected the name of a parameter of {type(self).__name__}, such as "
                    f"{', '.join(sorted(self._parameter_names()))}, got {key!r}."
                )
            if has_inner:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, settings in nested.items():
            getattr(self, name).set_params(**settings)
        return self

    def score(self, texts: Sequence[str], labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of texts that get their right label.

        Parameters
        ----------
        texts : sequence of str
        labels : array-like of shape (n_texts,)
            The true labels.
        sample_weight : array-like of shape (n_texts,), optional
            How much each text counts.

        Returns
        -------
        float
        """
        predicted = self.predict(texts)
        right = predicted == check_labels(labels, predicted.size)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(right, weights=weights))

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )
