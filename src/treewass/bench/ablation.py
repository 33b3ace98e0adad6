"""``treewass bench ablation``: what the paper's tree loses to its soft form, and how its loss falls."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.cells import Cell
from treewass.bench.datasets import PAPER_SETS, Split, load_split
from treewass.bench.duplicates import kept_documents, kept_errors
from treewass.bench.rows import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.learners.stw import SupervisedTreeWasserstein

__all__ = ["VARIANTS", "ablation_cells"]

VARIANTS = (("smooth", 2.0), ("smooth", 10.0), ("soft-smooth", 2.0), ("soft-smooth", 10.0))
_NEIGHBORS = 19
_PROTOCOL = (
    "one fit of SupervisedTreeWasserstein() on the training documents of the first split: margin 10, 30 epochs, of "
    "which that of the lowest validation loss is taken; nearest neighbours under each variant of the distance, "
    "fall-back vote, k = 19; documents of mass one, so that smoothness 10 is what was trained (mass 5, smoothness 2); "
    "losses by epoch, the mean of its batches and that of the validation documents after it; kept: without repeated "
    "documents, as in treewass bench duplicates"
)
_SECONDS = {"twitter": 50.0, "amazon": 450.0, "classic": 260.0, "bbcsport": 40.0, "ohsumed": 450.0, "reuters": 260.0}


def ablation_cells(
    data: str | os.PathLike[str] | None = None, sets: Sequence[str] = PAPER_SETS, **settings: Any
) -> list[Cell]:
    """List the cells of the paper's learner with margin 10, one a set: its variants and its losses come from one fit.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    sets : sequence of str
        Names of text sets.
    **settings
        Of the learner, other than its defaults; they become part of the case.

    Returns
    -------
    list of Cell
    """
    return [
        Cell(
            "ablation",
            {"set": name, "split": 0, "method": "stw-default", **settings},
            partial(_measures, name, data, **settings),
            _PROTOCOL,
            _SECONDS.get(name, 300.0),
        )
        for name in sets
    ]


def _measures(name: str, data: str | os.PathLike[str] | None, **settings: Any) -> dict[str, Value]:
    """Fit the learner once, and measure all that is asked of it."""
    from treewass.classify.classifier import TreeWassersteinClassifier
    from treewass.learners import SupervisedTreeWasserstein

    split = load_split(name, 0, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word: they count as errors or not
        learner = SupervisedTreeWasserstein(**settings).fit(split.X_train, split.y_train)
        classifier = TreeWassersteinClassifier(learner.metric_, vote="fallback").fit(split.X_train, split.y_train)
        wrong = classifier.predict(split.X_test) != split.y_test
    measures = kept_errors(wrong, kept_documents(split))
    for variant, smoothness in VARIANTS:
        missed = _predicted(learner, split, variant, smoothness) != split.y_test
        measures[f"{variant.replace('-', '_')}_{smoothness:g}_percent"] = round(100 * float(np.mean(missed)), 3)
    measures["best_epoch"] = learner.best_epoch_
    measures["losses"] = _joined(record.loss for record in learner.history_)
    validation = (record.validation_loss for record in learner.history_)
    measures["validation_losses"] = _joined(loss for loss in validation if loss is not None)
    return measures


def _predicted(learner: SupervisedTreeWasserstein, split: Split, variant: str, smoothness: float) -> NDArray[np.str_]:
    """Let the nearest documents vote, ties to the first; a document without a known word gets the largest class."""
    from treewass.classify.votes import fallback_vote

    known = learner.metric_.known_words.astype(np.float64)
    queries, documents = (np.flatnonzero(counts @ known) for counts in (split.X_test, split.X_train))
    classes, codes = np.unique(split.y_train, return_inverse=True)
    shares = np.tile(np.bincount(codes) / codes.size, (split.y_test.size, 1))
    distances = learner.pairwise(
        split.X_test[queries], split.X_train[documents], variant=variant, smoothness=smoothness
    )
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBORS]
    shares[queries] = fallback_vote(codes[documents[nearest]], classes.size)
    return np.asarray(classes[shares.argmax(axis=1)])


def _joined(losses: Iterable[float]) -> str:
    """Write losses as text, since a measure is one value."""
    return ",".join(f"{loss:.4f}" for loss in losses)
