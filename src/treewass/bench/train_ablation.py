"""What the options of the paper's learner do, on one split of TWITTER and a small tree."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from treewass.bench.rows import Row, Value

__all__ = ["ablation_rows", "one_split"]

_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"learn_lengths": True},
    {"learn_tree": True},
    {"learn_lengths": True, "learn_tree": True},
    {"parents": "sparsemax"},
    {"parents": "entmax"},
    {"parents": "rankmax"},
    {"absolute": "huber"},
    {"optimizer": "lars"},
    {"updates": "dense"},
    {"state": "bfloat16"},
    {"select": "error"},
    {"retrain": True},
)
_SEEDS, _EPOCHS = 2, 15


def ablation_rows(data: str | os.PathLike[str] | None, quick: bool) -> Iterator[Row]:
    """Fit with one option at a time, and all else at its default.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets.
    quick : bool
        Few epochs, options and generated documents.

    Yields
    ------
    Row
        Means over seeds.
    """
    X, y, Z, truth, name = one_split("twitter", data, quick)
    small = {"arity": 2, "depth": 1, "epochs": 2} if quick else {"depth": 3, "epochs": _EPOCHS}
    for option in _OPTIONS[3:4] if quick else _OPTIONS:
        found = [_fit({**small, **option, "random_state": seed}, X, y, Z, truth) for seed in range(_SEEDS)]
        measures: dict[str, Value] = {
            measure: round(float(np.mean([each[measure] for each in found])), 3) for measure in found[0]
        }
        measures["error_deviation"] = round(float(np.std([each["error_percent"] for each in found])), 3)
        told = ", ".join(f"{key}={value!r}" for key, value in option.items()) or "defaults"
        protocol = (
            f"mean of {_SEEDS} seeds, 5-ary tree of depth 3, {_EPOCHS} epochs, else defaults; fall-back vote, k = 19. "
            "Losses are those of the epoch taken"
        )
        yield Row("train", {"case": "ablation", "set": name, "option": told}, measures, protocol)


def _fit(settings: dict[str, Any], X: Any, y: Any, Z: Any, truth: Any) -> dict[str, float]:
    from treewass.classify.classifier import TreeWassersteinClassifier
    from treewass.learners.stw import SupervisedTreeWasserstein

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word
        learner = SupervisedTreeWasserstein(**settings).fit(X, y)
        classifier = TreeWassersteinClassifier(learner.metric_, vote="fallback").fit(X, y)
        error = 100 * float(np.mean(classifier.predict(Z) != truth))
    first = learner.history_[0].run
    taken = next(record for record in learner.history_ if record.run == first and record.epoch == learner.best_epoch_)
    return {
        "error_percent": error,
        "validation_percent": 100 * float(taken.validation_error or 0.0),
        "loss": taken.loss,
        "validation_loss": float(taken.validation_loss or 0.0),
        "epoch": float(learner.best_epoch_),
        "epoch_seconds": float(np.median([record.seconds for record in learner.history_])),
    }


def one_split(name: str, data: str | os.PathLike[str] | None, quick: bool) -> tuple[Any, Any, Any, Any, str]:
    """Return training and test documents of the first split of a set, or generated ones, and the name.

    Parameters
    ----------
    name : str
        Of the set.
    data : path-like, optional
        Folder of the text sets.
    quick : bool
        Whether to generate some.
    """
    if quick:
        from treewass.documents.synthetic import make_documents

        counts, labels = make_documents(100, n_words=50, words_per_document=8, n_classes=2)
        return counts[:60], labels[:60], counts[60:], labels[60:], "generated"
    from treewass.bench.datasets import load_set

    split = load_set(name, data).split(0)
    return split.X_train, split.y_train, split.X_test, split.y_test, name
