"""``python -m treewass_bench ablation``: what the paper's tree loses to its soft form, and how its loss falls."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass_bench.accuracy_tables import SPLITS
from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, Split, load_split
from treewass_bench.duplicates import kept_documents, kept_errors
from treewass_bench.layout import figure, mean_figure, sets_of, table
from treewass_bench.rows import Row, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass import SupervisedTreeWasserstein

__all__ = [
    "PUBLISHED_VARIANTS",
    "VARIANTS",
    "ablation_cells",
    "ablation_markdown",
    "draw_losses",
    "loss_markdown",
]

VARIANTS = (("smooth", 2.0), ("smooth", 10.0), ("soft-smooth", 2.0), ("soft-smooth", 10.0))
_NEIGHBORS = 19
_PROTOCOL = (
    "one fit of SupervisedTreeWasserstein() on the training documents of a split: margin 10, 30 epochs, of "
    "which that of the lowest validation loss is taken; nearest neighbours under each variant of the distance, "
    "fall-back vote, k = 19; documents of mass one, so that smoothness 10 is what was trained (mass 5, smoothness 2); "
    "losses by epoch, the mean of its batches and that of the validation documents after it; kept: without repeated "
    "documents, as in python -m treewass_bench duplicates"
)
_SECONDS = {"twitter": 50.0, "amazon": 450.0, "classic": 260.0, "bbcsport": 40.0, "ohsumed": 450.0, "reuters": 260.0}
PUBLISHED_VARIANTS: Mapping[str, Mapping[str, float]] = {
    title: dict(zip(PAPER_SETS, errors, strict=True))
    for title, errors in {
        "soft-smooth-STW": (29.9, 8.4, 5.1, 4.5, 44.1, 6.5),
        "smooth-STW": (30.0, 10.6, 9.6, 4.5, 45.6, 6.5),
        "STW": (28.9, 10.1, 4.4, 3.4, 40.2, 4.4),
    }.items()
}
_CURVES = {"losses": "training loss", "validation_losses": "validation loss"}
_OURS = {
    "soft-smooth-STW": (("α = 10, as trained", "soft_smooth_10_percent"), ("α = 2", "soft_smooth_2_percent")),
    "smooth-STW": (("α = 10, as trained", "smooth_10_percent"), ("α = 2", "smooth_2_percent")),
    "STW": (("margin 10", "error_percent"),),
}


def ablation_cells(
    data: str | os.PathLike[str] | None = None, sets: Sequence[str] = PAPER_SETS, **settings: Any
) -> list[Cell]:
    """List the cells of the paper's learner with margin 10, one a split: variants and losses come from one fit.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    sets : sequence of str
        Names of text sets.
    **settings
        Of the learner, other than its defaults; they become part of the case.
    """
    return [
        Cell(
            "ablation",
            {"set": name, "split": split, "method": "stw-default", **settings},
            partial(_measures, name, split, data, **settings),
            _PROTOCOL,
            _SECONDS.get(name, 300.0),
        )
        for name in sets
        for split in range(SPLITS.get(name, 1))
    ]


def _measures(name: str, number: int, data: str | os.PathLike[str] | None, **settings: Any) -> dict[str, Value]:
    """Fit the learner once, and measure all that is asked of it."""
    from treewass import TreeWassersteinClassifier
    from treewass.learners import SupervisedTreeWasserstein

    split = load_split(name, number, data)
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
    from treewass.votes import fallback_vote

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


def ablation_markdown(rows: Iterable[Row]) -> str:
    """Lay out the errors under the soft and smooth variants of the distance, the published ones beside.

    Examples
    --------
    >>> row = Row("ablation", {"set": "reuters"}, {"error_percent": 4.0}, "", environment={})
    >>> print(ablation_markdown([row]).splitlines()[8])
    | STW, margin 10 | 4.0 |
    """
    rows = list(rows)
    sets, lines = sets_of(rows), []
    for variant, kinds in _OURS.items():
        for kind, measure in kinds:
            lines.append((f"{variant}, {kind}", [mean_figure(_measured(rows, name, measure)) for name in sets]))
        lines.append((f"published {variant}", [figure(PUBLISHED_VARIANTS[variant].get(name)) for name in sets]))
    return table("test error in %", [name.upper() for name in sets], lines) + (
        "\nMean ± standard deviation over the splits, one fit a split with margin 10 and 30 epochs; a figure without ± "
        "is of the first split alone. The variants are "
        "compared on documents of mass one: training with mass 5 and α = 2 is training with mass 1 and α = 10. No word "
        "vectors are used.\n"
    )


def _measured(rows: Iterable[Row], name: str, measure: str) -> list[float]:
    """List a measure of a set, split by split."""
    return [float(str(row.measures[measure])) for row in rows if row.case["set"] == name and measure in row.measures]


def loss_markdown(rows: Iterable[Row]) -> str:
    """Lay out where training with margin 10 ended.

    Examples
    --------
    >>> measures = {"best_epoch": 2, "losses": "0.5,-1.0,-1.5", "validation_losses": "0.4,-0.6,-0.5"}
    >>> print(loss_markdown([Row("ablation", {"set": "reuters"}, measures, "", environment={})]).splitlines()[2])
    | epoch of the lowest validation loss | 2 of 3 |
    """
    rows = list(rows)
    sets = sets_of(rows)
    own = {name: [row.measures for row in rows if row.case["set"] == name] for name in sets}
    epochs = [
        f"{np.mean([int(one['best_epoch'] or 0) for one in own[name]]):.3g} of {len(_curve(own[name][0]['losses']))}"
        for name in sets
    ]
    lines = [("epoch of the lowest validation loss", epochs)]
    for measure, title in _CURVES.items():
        there = [[_curve(one[measure])[int(one["best_epoch"] or 0) - 1] for one in own[name]] for name in sets]
        ends = [[_curve(one[measure])[-1] for one in own[name]] for name in sets]
        lines.append((f"{title} there", [figure(float(np.mean(values)), ".2f") for values in there]))
        lines.append((f"{title} in the end", [figure(float(np.mean(values)), ".2f") for values in ends]))
    return table("loss", [name.upper() for name in sets], lines) + (
        "\nEquation (6), margin 10, means over the same splits; a fifth of the training documents is held out. The "
        "paper shows its losses in a figure without numbers.\n"
    )


def draw_losses(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Draw training and validation loss by epoch, a panel for each set, a line for each split."""
    from treewass_bench.drawing import LINES, save_figure, set_panels

    rows = list(rows)
    sets = sets_of(rows)
    canvas, axes = set_panels(sets)
    for ax, name in zip(axes, sets, strict=True):
        for measures in (row.measures for row in rows if row.case["set"] == name):
            best = int(measures["best_epoch"] or 0)
            for (measure, title), (color, marker, dashes) in zip(_CURVES.items(), LINES, strict=False):
                curve = _curve(measures[measure])
                ax.plot(range(1, len(curve) + 1), curve, color=color, ls=dashes, lw=1, label=title)
                if measure == "validation_losses":
                    ax.plot([best], [curve[best - 1]], marker, color=color, ls="none", label="epoch taken")
    canvas.supxlabel("epoch", fontsize=9)
    canvas.supylabel("contrastive loss", fontsize=9)
    titles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    canvas.legend(titles.values(), titles.keys(), loc="outside upper center", ncols=3, frameon=False)
    save_figure(canvas, path)


def _curve(value: Value) -> list[float]:
    """Read losses as they stand in a row."""
    return [float(loss) for loss in str(value).split(",")]
