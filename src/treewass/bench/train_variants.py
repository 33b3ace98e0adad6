"""The paper's variants of the learned distance, on one split of two sets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from treewass.bench.rows import Row, Value

__all__ = ["variant_rows"]

_SETS = ("twitter", "bbcsport")
_VARIANTS = (("stw", None), ("smooth", 2.0), ("smooth", 10.0), ("soft-smooth", 2.0), ("soft-smooth", 10.0))
_NEIGHBORS = 19
_PROTOCOL = (
    "one fit with margin 10 and patience 5 on the training documents of the first split; nearest neighbours under each "
    "variant, fall-back vote, k = 19; documents of mass one, so that smoothness 10 is what was trained"
)


def variant_rows(data: str | os.PathLike[str] | None, quick: bool) -> Iterator[Row]:
    """Classify test documents under each variant of one fitted learner.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets.
    quick : bool
        Few epochs and generated documents.

    Yields
    ------
    Row
    """
    from treewass.bench.train_ablation import one_split
    from treewass.learners.stw import SupervisedTreeWasserstein

    small: dict[str, Any] = {"arity": 2, "depth": 1, "epochs": 2} if quick else {"patience": 5}
    for name in _SETS[:1] if quick else _SETS:
        X, y, Z, truth, told = one_split(name, data, quick)
        learner = SupervisedTreeWasserstein(**small).fit(X, y)
        rows = np.flatnonzero(np.asarray(Z[:, learner.metric_.known_words].sum(axis=1)).ravel())
        for variant, smoothness in _VARIANTS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                distances = learner.pairwise(Z[rows], X, variant=variant, smoothness=smoothness)
            wrong = np.mean(_predicted(distances, y) != np.asarray(truth)[rows])
            case: dict[str, Value] = {"case": "variants", "set": told, "variant": variant, "smoothness": smoothness}
            yield Row("train", case, {"error_percent": round(100 * float(wrong), 3)}, _PROTOCOL)


def _predicted(distances: Any, labels: Any) -> Any:
    """Let the nearest documents vote; ties go to the first."""
    from treewass.classify.votes import fallback_vote

    classes, codes = np.unique(labels, return_inverse=True)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBORS]
    return classes[fallback_vote(codes[nearest], classes.size).argmax(axis=1)]
