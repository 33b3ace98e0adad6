"""Explanations as coloured text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from treewass.documents.texts import visible

if TYPE_CHECKING:
    from treewass.explain.pairs import Explanation
    from treewass.explain.predictions import PredictionExplanation

__all__ = ["colored_text", "pair_view", "prediction_view"]

_Spans = Sequence[tuple[int, int, str]]
_STYLES = ((0.5, "bold"), (0.1, ""), (0.02, "dim"))  # share of the strongest word from which a style is used
_LONGEST = 1200


def colored_text(text: str, spans: _Spans, weights: Mapping[str, float]) -> Text:
    """Colour the words of a text: green above zero, red below, the strongest in bold.

    Parameters
    ----------
    text : str
        The text as it stands; a long one is cut.
    spans : sequence of (start, stop, word)
        Where words stand in it.
    weights : mapping of str to float
        What each word weighs.

    Returns
    -------
    rich.text.Text

    Examples
    --------
    >>> colored_text("a cat", [(2, 5, "cat")], {"cat": 1.0}).spans
    [Span(2, 5, 'bold green')]
    """
    shown = Text(visible(text[:_LONGEST]) + (" …" if len(text) > _LONGEST else ""))
    strongest = max((abs(weights.get(word, 0.0)) for _, _, word in spans), default=0.0)
    for start, stop, word in spans:
        weight = weights.get(word, 0.0)
        if stop > _LONGEST or not strongest or abs(weight) < 0.02 * strongest:
            continue
        style = next(style for share, style in _STYLES if abs(weight) >= share * strongest)
        shown.stylize(f"{style} {'green' if weight > 0 else 'red'}".strip(), start, stop)
    return shown


def pair_view(explanation: Explanation, texts: Sequence[str], spans: Sequence[_Spans], most: int = 12) -> Group:
    """Lay out why two documents are near or far.

    Parameters
    ----------
    explanation : Explanation
    texts : sequence of two str
        What to show of the documents; words that cost are red in them, shared ones green.
    spans : sequence of two lists of (start, stop, word)
        Where words stand in the texts.
    most : int, default=12
        Most moves to list.

    Returns
    -------
    rich.console.Group
    """
    shared = {move.source: move.mass * explanation.distance for move in explanation.shared}
    weights = [dict(shared), dict(shared)]
    for move in explanation.moves:
        weights[0][move.source] = weights[0].get(move.source, 0.0) - move.cost
        weights[1][move.target] = weights[1].get(move.target, 0.0) - move.cost
    parts: list[Any] = [
        Text.assemble(
            ("Distance ", "bold"), f"{explanation.distance:.4f}, {100 * explanation.shared_mass:.0f} % shared."
        ),
        Text(),
        *(colored_text(text, found, own) for text, found, own in zip(texts, spans, weights, strict=True)),
        Text(),
    ]
    if explanation.shared:
        words = ", ".join(f"{move.source} {100 * move.mass:.0f} %" for move in explanation.shared[:most])
        parts.append(Text.assemble(("Stays: ", "green"), words))
    if explanation.moves:
        parts += [_moves_table(explanation, most), _branches_table(explanation)]
    return Group(*parts)


def prediction_view(prediction: PredictionExplanation, text: str, spans: _Spans, most: int = 8) -> Group:
    """Lay out why a text gets its label.

    Parameters
    ----------
    prediction : PredictionExplanation
    text : str
        The text; words that speak for the label are green in it, others red.
    spans : sequence of (start, stop, word)
        Where words stand in the text.
    most : int, default=8
        Most words for and against, and neighbours, to list.

    Returns
    -------
    rich.console.Group
    """
    shares = ", ".join(f"{label} {100 * share:.1f} %" for label, share in prediction.probabilities[:3])
    parts: list[Any] = [
        Text.assemble(("Label ", "bold"), (visible(str(prediction.label)), "bold green"), visible(f"   ({shares})")),
        Text(),
    ]
    weights = {entry.word: entry.support for entry in prediction.words}
    parts.append(colored_text(text, spans, weights))
    if prediction.words:
        speaking = [entry for entry in prediction.words if entry.support > 0][:most]
        against = [entry for entry in reversed(prediction.words) if entry.support < 0][:most]
        parts += [Text(), _support_line(f"For {prediction.label} rather than {prediction.rival}: ", "green", speaking)]
        if against:
            parts.append(_support_line("Against: ", "red", against))
    if prediction.neighbors:
        table = Table(title=f"The nearest of {len(prediction.neighbors)} neighbours that vote", title_justify="left")
        for column in ("distance", "id", "label", "document"):
            table.add_column(column, justify="right" if column in ("distance", "id") else "left")
        for neighbor in prediction.neighbors[:most]:
            name = neighbor.title or " ".join((neighbor.text or "").split())[:70]
            fields = (f"{neighbor.distance:.4f}", str(neighbor.id), str(neighbor.label), name)
            table.add_row(
                *(Text(visible(field)) for field in fields),
                style="green" if neighbor.label == prediction.label else "red",
            )
        parts += [Text(), table]
    return Group(*parts)


def _support_line(title: str, style: str, entries: Sequence[Any]) -> Text:
    words = ", ".join(f"{entry.word} {entry.support:+.3f}" for entry in entries)
    return Text.assemble((visible(title), style), visible(words))


def _moves_table(explanation: Explanation, most: int) -> Table:
    moves = explanation.moves
    rest = f"; {len(moves) - most} cheaper ones not shown" if len(moves) > most else ""
    table = Table(title=f"Moves, costliest first{rest}", title_justify="left")
    for column in ("from", "to", "mass", "cost", "of the distance"):
        table.add_column(column, justify="left" if column in ("from", "to") else "right")
    for move in moves[:most]:
        share = move.cost / explanation.distance if explanation.distance else 0.0
        figures = (f"{100 * move.mass:.1f} %", f"{move.cost:.4f}", f"{100 * share:.0f} % {'▇' * round(20 * share)}")
        table.add_row(Text(move.source), Text(move.target), *figures)
    return table


def _branches_table(explanation: Explanation) -> Table:
    table = Table(title="Branches that cost most", title_justify="left")
    for column in ("node", "cost", "mass of the first", "of the second", "words"):
        table.add_column(column, justify="left" if column == "words" else "right")
    for branch in explanation.branches:
        first, second = (f"{100 * mass:.0f} %" for mass in branch.masses)
        table.add_row(str(branch.node), f"{branch.cost:.4f}", first, second, Text(", ".join(branch.words[:6])))
    return table
