"""Confusion tables and learning curves, and what all pictures share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.extras import require
from treewass.plot.colors import class_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewass.model.evaluation import Evaluation

__all__ = ["confusion", "history", "new_axes", "save_picture"]

_MOST_NUMBERS = 30  # classes up to which counts are written into a confusion table


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", purpose="treewass.plot", extra="plot")
    _, made = pyplot.subplots(figsize=size, layout="constrained")
    return made  # type: ignore[no-any-return]


def save_picture(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure of some axes to a file, and forget the figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        What one of the functions here returned.
    path : path-like
        The ending tells the format: ``.png``, ``.svg``, ``.pdf``.
    """
    pyplot = require("matplotlib.pyplot", purpose="treewass.plot", extra="plot")
    figure: Any = ax.figure
    figure.savefig(path, dpi=150, bbox_inches="tight")
    pyplot.close(figure)


def confusion(evaluation: Evaluation, *, ax: Axes | None = None) -> Axes:
    """Draw which classes are taken for which: rows are true labels, columns predicted ones.

    Parameters
    ----------
    evaluation : Evaluation
        Figures on held-out documents.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from treewass.model import Evaluation
    >>> confusion(Evaluation(("cat", "dog"), ((8, 2), (1, 9)), 60, {})).get_xlabel()
    'predicted'
    """
    counts = np.array(evaluation.confusion)
    n_classes = len(evaluation.classes)
    side = 2.2 + 0.36 * min(n_classes, 40)
    ax = new_axes(ax, (side + 0.6, side))
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="share of the class", fraction=0.046)
    names = [str(label) for label in evaluation.classes]
    ax.set_xticks(range(n_classes), names, rotation=60, ha="right", rotation_mode="anchor", parse_math=False)
    ax.set_yticks(range(n_classes), names, parse_math=False)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    if n_classes <= _MOST_NUMBERS:
        for row, column in np.argwhere(counts).tolist():
            color = "white" if shares[row, column] > 0.5 else "black"
            ax.text(column, row, str(counts[row, column]), ha="center", va="center", fontsize=8, color=color)
    return ax


def history(records: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw how the loss fell while a learner learned.

    Parameters
    ----------
    records : sequence
        A learner's `history_`, or ``model.contents_.history``: records with an epoch and a loss, the tree or the run
        they belong to where there are several, and a validation loss, dotted, where there is one.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> history([{"epoch": 1, "loss": 0.9}, {"epoch": 2, "loss": 0.5}]).get_ylabel()
    'loss'
    """
    rows = [record if isinstance(record, Mapping) else asdict(record) for record in records]
    if not rows:
        raise ValueError("Expected records of learning, got none: the learner reported nothing, as without refinement.")
    missing = [name for name in ("epoch", "loss") if name not in rows[0]]
    if missing:
        raise ValueError(f"Expected records with epoch and loss, but {' and '.join(missing)} is missing.")
    ax = new_axes(ax, (5.0, 3.2))
    series = {_run(row): [other for other in rows if _run(other) == _run(row)] for row in rows}
    for number, (run, own) in enumerate(series.items()):
        epochs, color = [row["epoch"] for row in own], class_color(number)
        ax.plot(epochs, [row["loss"] for row in own], ".-", color=color, label=run)
        if any(row.get("validation_loss") is not None for row in own):
            losses = [np.nan if row.get("validation_loss") is None else row["validation_loss"] for row in own]
            ax.plot(epochs, losses, ".:", color=color, label=f"{run}, validation")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.spines[["top", "right"]].set_visible(False)
    if len(ax.lines) > 1:
        ax.legend(frameon=False)
    return ax


def _run(row: Mapping[str, Any]) -> str:
    """Name the training that a record belongs to."""
    return str(row["run"]) if row.get("run") else f"tree {row.get('tree', 0) + 1}"
