"""Learners and vectorisers as what JSON can hold: a name and parameters."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["LEARNERS", "describe_learner", "make_learner", "portable_parameters"]

LEARNERS = {
    "profile": ("treewass.learners.profile", "ProfileTreeWasserstein"),
    "stw": ("treewass.learners.stw", "SupervisedTreeWasserstein"),
}


def make_learner(learner: Any, *, random_state: int | None = 0, parameters: dict[str, Any] | None = None) -> Any:
    """Make a learner of its name, or copy one.

    Parameters
    ----------
    learner : {"profile", "stw"} or estimator
        A name, or an unfitted transformer with a `metric_` after fitting.
    random_state : int or None, default=0
        Of a learner given by name.
    parameters : dict, optional
        Of a learner given by name, instead of `random_state`.

    Returns
    -------
    estimator
        Unfitted.
    """
    if not isinstance(learner, str):
        from sklearn.base import clone

        if isinstance(learner, type) or not (hasattr(learner, "fit") and hasattr(learner, "get_params")):
            raise TypeError(
                f"Expected learner as one of {', '.join(LEARNERS)}, or an unfitted transformer, got {learner!r}."
            )
        return clone(learner)
    if learner not in LEARNERS:
        raise ValueError(
            f"Expected learner as one of {', '.join(LEARNERS)}, or an unfitted transformer, got {learner!r}."
        )
    module, name = LEARNERS[learner]
    return getattr(import_module(module), name)(**(parameters or {"random_state": random_state}))


def describe_learner(learner: Any) -> dict[str, Any]:
    """Describe a learner by name and parameters; the name is None where it cannot be made of them again.

    Examples
    --------
    >>> describe_learner(make_learner("profile"))["name"]
    'profile'
    """
    kind = type(learner)
    name = next(
        (key for key, (module, cls) in LEARNERS.items() if (kind.__module__, kind.__name__) == (module, cls)), None
    )
    try:
        parameters = portable_parameters(learner, kind.__name__)
    except TypeError:
        name, parameters = None, {}
    parameters.pop("verbose", None)  # of this run, not of what was learned
    return {"name": name, "class": kind.__name__, "parameters": parameters}


def portable_parameters(estimator: Any, name: str) -> dict[str, Any]:
    """Return the parameters of an estimator if JSON can hold them.

    Parameters
    ----------
    estimator : estimator
        Anything with ``get_params``.
    name : str
        For messages.

    Raises
    ------
    TypeError
        For functions, arrays and other objects.
    """
    parameters = {}
    for parameter, value in estimator.get_params(deep=False).items():
        if parameter == "dtype":
            value = np.dtype(value).name
        elif isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, set | frozenset):
            value = sorted(value)
        elif parameter == "vocabulary" and isinstance(value, dict):
            value = sorted(value, key=value.__getitem__)
        if not _is_portable(value):
            raise TypeError(
                f"Expected settings that a model can store, but {parameter} of {name} is {type(value).__name__}, which "
                "JSON cannot hold. Give words, numbers or lists, and prepare texts beforehand instead of by a function."
            )
        parameters[parameter] = value
    return parameters


def _is_portable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_portable(entry) for entry in value)
    return value is None or isinstance(value, str | bool | int | float)
