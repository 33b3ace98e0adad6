"""Pictures of a transport plan, of confusions between classes and of learning curves, by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.cards.colors import GREY, class_color
from treewass.compute.extras import require
from treewass.explain.transport_plans import Explanation, Move

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewass.model.evaluation import Evaluation

__all__ = ["confusion", "history", "new_axes", "plan", "save_picture"]

_MOST_NUMBERS = 30  # classes up to which counts are written into a confusion table
_LINE = 0.05  # the least distance of two names in a plan
_GAP, _LEAST = 0.02, 0.02  # between words; of a word's mass, so that its name has room
_SHARED = "#4f9e4c"
_REST = "other words"


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


def plan(explanation: Explanation, *, max_words: int = 14, ax: Axes | None = None) -> Axes:
    """Draw how one document becomes another: bands as wide as the mass, the redder the more of the distance they cost.

    Parameters
    ----------
    explanation : Explanation
        As `explain_pair` or `DocumentModel.explain` returns it.
    max_words : int, default=14
        Most words at each side; the others are drawn together.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from treewass.explain import Explanation, Move
    >>> moved = Explanation(2.0, (Move("cat", "cat", 0.5, 0.0),), (Move("dog", "car", 0.5, 2.0),), ())
    >>> sorted({text.get_text() for text in plan(moved).texts})
    ['car', 'cat', 'dog']
    """
    moves = [*explanation.shared, *explanation.moves]
    sides = [_spans(moves, side, max_words) for side in ("source", "target")]
    ax = new_axes(ax, (7.0, 0.9 + 0.3 * max(len(side) for side in sides)))
    dearest = max((move.cost / move.mass for move in explanation.moves), default=1.0) or 1.0
    filled = [{name: low for name, (low, _) in side.items()} for side in sides]
    prices = [None] * len(explanation.shared) + [dearest] * len(explanation.moves)  # mass that stays has none
    flows = zip(moves, prices, strict=True)
    for move, price in sorted(
        flows, key=lambda flow: (_order(sides[0], flow[0].source), _order(sides[1], flow[0].target))
    ):
        names = [_name(sides[0], move.source), _name(sides[1], move.target)]
        starts = [filled[side][name] for side, name in enumerate(names)]
        for side, name in enumerate(names):
            filled[side][name] += move.mass
        _band(ax, starts[0], starts[1], move, price)
    for place, alignment in enumerate(("right", "left")):
        above = -1.0
        for name, (low, high) in sides[place].items():
            middle = above = max((low + high) / 2, above + _LINE)
            ax.plot([place, place], [low, high], color="#3c4043", linewidth=3, solid_capstyle="butt")
            shift = -0.02 if place == 0 else 0.02
            ax.text(place + shift, middle, name, ha=alignment, va="center", fontsize=9, parse_math=False)
    ax.set_title(
        f"distance {explanation.distance:.4g}, {100 * explanation.shared_mass:.0f} % of the mass stays", fontsize=10
    )
    ax.set_xlim(-0.45, 1.45)
    ax.invert_yaxis()
    ax.set_axis_off()
    return ax


def _spans(moves: list[Move], side: str, max_words: int) -> dict[str, tuple[float, float]]:
    """Stack the words of one side, heaviest first; those without room come last, together."""
    masses: dict[str, float] = {}
    for move in moves:
        word = getattr(move, side)
        masses[word] = masses.get(word, 0.0) + move.mass
    ranked = sorted(masses, key=lambda word: (-masses[word], word))
    heavy = sum(mass >= _LEAST for mass in masses.values())
    most = max_words if len(ranked) <= min(max_words, heavy + 1) else max(1, min(max_words, heavy))
    shown = {word: masses[word] for word in ranked[:most]}
    if len(ranked) > most:
        shown[f"{_REST} ({len(ranked) - most})"] = sum(masses[word] for word in ranked[most:])
    spans, low = {}, 0.0
    for word, mass in shown.items():
        spans[word] = (low, low + mass)
        low += mass + _GAP
    return spans


def _name(side: dict[str, tuple[float, float]], word: str) -> str:
    return word if word in side else next(reversed(side))


def _order(side: dict[str, tuple[float, float]], word: str) -> float:
    return side[_name(side, word)][0]


def _band(ax: Axes, left: float, right: float, move: Move, dearest: float | None) -> None:
    """Draw the mass of one move as a curved band; None for mass that stays."""
    colors = require("matplotlib.colors", purpose="treewass.plot", extra="plot")
    place = np.linspace(0, 1, 40)
    rise = 3 * place**2 - 2 * place**3
    low = left + (right - left) * rise
    price = (move.cost / move.mass) / dearest if dearest and move.mass else 0.0
    mixed = colors.LinearSegmentedColormap.from_list("price", [GREY, "#e0812c", "#c9433f"])(price)
    ax.fill_between(place, low, low + move.mass, color=_SHARED if dearest is None else mixed, alpha=0.55, linewidth=0)
