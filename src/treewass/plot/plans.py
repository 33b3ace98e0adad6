"""A picture of a transport plan: the words of two documents, and bands for the mass that goes between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.explain.pairs import Explanation, Move
from treewass.extras import require
from treewass.plot.colors import GREY
from treewass.plot.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plan"]

_LINE = 0.05  # the least distance of two names
_GAP, _LEAST = 0.02, 0.02  # between words; of a word's mass, so that its name has room
_SHARED = "#4f9e4c"
_REST = "other words"


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
    for move in sorted(moves, key=lambda move: (_order(sides[0], move.source), _order(sides[1], move.target))):
        names = [_name(sides[0], move.source), _name(sides[1], move.target)]
        starts = [filled[side][name] for side, name in enumerate(names)]
        for side, name in enumerate(names):
            filled[side][name] += move.mass
        _band(ax, starts[0], starts[1], move, dearest)
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


def _band(ax: Axes, left: float, right: float, move: Move, dearest: float) -> None:
    """Draw the mass of one move as a curved band."""
    colors = require("matplotlib.colors", purpose="treewass.plot", extra="plot")
    stays = move.source == move.target
    place = np.linspace(0, 1, 40)
    rise = 3 * place**2 - 2 * place**3
    low = left + (right - left) * rise
    price = (move.cost / move.mass) / dearest if move.mass else 0.0
    mixed = colors.LinearSegmentedColormap.from_list("price", [GREY, "#e0812c", "#c9433f"])(price)
    ax.fill_between(place, low, low + move.mass, color=_SHARED if stays else mixed, alpha=0.55, linewidth=0)
