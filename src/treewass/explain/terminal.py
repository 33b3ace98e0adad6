"""Explanations as coloured text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from treewass.documents.texts import excerpt, visible
from treewass.explain.highlights import pair_weights, weighted_pieces

if TYPE_CHECKING:
    from treewass.explain.predictions import PredictionExplanation, TypicalWord
    from treewass.explain.transport_plans import Explanation, Move

__all__ = ["colored_text", "pair_view", "prediction_view"]

_Spans = Sequence[tuple[int, int, str]]  # start, stop and word
_STYLES = ((0.5, "bold"), (0.1, ""), (0.02, "dim"))  # from this share of the strongest word on
_LONGEST, _LONGEST_TITLE = 1200, 40
_WORDS = ("from", "to", "words", "label", "title", "text", "what", "made of")  # columns
_MOST_MOVES = 12
_MOST_WORDS = 8  # for and against a label, and neighbours
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
_LARGEST = 700.0  # log-odds whose odds are a number


def colored_text(text: str, spans: _Spans, weights: Mapping[str, float]) -> Text:
    """Colour the words of a text: green above zero, red below, the strongest in bold. A long text is cut."""
    shown = Text()
    for piece in weighted_pieces(text[:_LONGEST], spans, weights, faintest=_STYLES[-1][0]):
        if piece.weight:
            style = next(style for share, style in _STYLES if abs(piece.weight) >= share)
            shown.append(visible(piece.text), f"{style} {'green' if piece.weight > 0 else 'red'}".strip())
        else:
            shown.append(visible(piece.text))
    return shown.append(" …") if len(text) > _LONGEST else shown


def pair_view(explanation: Explanation, texts: Sequence[str], spans: Sequence[_Spans]) -> Group:
    """Lay out why two documents are near or far: what they share, then what differs.

    Words that cost are red in their texts, shared ones green.
    """
    distance, mass = f"{explanation.distance:.4f}", f"{100 * explanation.shared_mass:.0f} %"
    parts: list[Any] = [
        Text.assemble(
            ("Distance ", "bold"), f"{distance} (0: the same words in the same shares); they share {mass} of the mass."
        ),
        _shared_line(explanation.shared),
        Text(),
        *map(colored_text, texts, spans, pair_weights(explanation)),
    ]
    if explanation.moves:
        parts += [Text(), _moves_table(explanation)]
    if explanation.branches:  # a tree without inner nodes has none
        parts.append(_branches_table(explanation))
    return Group(*parts)


def prediction_view(prediction: PredictionExplanation, text: str, spans: _Spans) -> Group:
    """Lay out why a text gets its label; words that speak for the label are green in it, others red."""
    shares = ", ".join(f"{label} {100 * share:.1f} %" for label, share in prediction.probabilities[:3])
    parts: list[Any] = [
        Text.assemble(("Label ", "bold"), (visible(str(prediction.label)), "bold green"), visible(f"   ({shares})")),
    ]
    if prediction.document is not None:
        parts.append(Text(visible(prediction.own_label())))
    parts += [Text(), colored_text(text, spans, prediction.word_weights())]
    if prediction.rival is not None:
        parts += [Text(), *_reasons(prediction)]
    if prediction.neighbors:
        title = f"The nearest of {len(prediction.neighbors)} neighbours that vote"
        nearest = prediction.neighbors[:_MOST_WORDS]
        has_titles = any(neighbor.title for neighbor in nearest)
        table = _table(title, ("distance", "id", "label", *["title"] * has_titles, "text"))
        for neighbor in nearest:
            named = f"key:{neighbor.key}" if neighbor.key else str(neighbor.id)
            fields = (f"{neighbor.distance:.4f}", named, str(neighbor.label))
            table.add_row(
                *(Text(visible(field)) for field in fields),
                *[Text(excerpt(neighbor.title, _LONGEST_TITLE))] * has_titles,
                Text(excerpt(neighbor.text)),
                style="green" if neighbor.label == prediction.label else "red",
            )
        parts += [Text(), table]
    return Group(*parts)


def _reasons(prediction: PredictionExplanation) -> list[Any]:
    """Lay out what adds up to the log-odds, and the words that are typical where no channel counts them."""
    label, rival = visible(str(prediction.label)), visible(str(prediction.rival))
    parts: list[Any] = []
    if prediction.log_odds is None:
        parts.append(Text(f"No neighbour votes for {rival}, the next label."))
    else:
        ratio = math.exp(min(abs(prediction.log_odds), _LARGEST))
        odds = f"{ratio:,.0f} to 1" if 1e3 <= ratio < 1e9 else f"{ratio:.4g} to 1"
        table = _table(f"Why {label} and not {rival}: odds of {odds}", ("what", "log-odds", "made of"))
        for name, support, made_of in prediction.addends():
            table.add_row(name, f"{support:+.2f}", Text(visible(made_of)))
        table.add_section()
        table.add_row("together", f"{prediction.log_odds:+.2f}", f"the natural logarithm of {odds}", style="bold")
        parts.append(table)
    for name, style, entries in (
        (label, "green", [entry for entry in prediction.typical if entry.weight > 0]),
        (rival, "red", [entry for entry in reversed(prediction.typical) if entry.weight < 0]),
    ):
        if entries:
            parts.append(Text.assemble((f"Typical of {name}: ", style), visible(_typical_words(prediction, entries))))
    return parts


def _typical_words(prediction: PredictionExplanation, entries: Sequence[TypicalWord]) -> str:
    """Say how common words are in the documents of the two labels."""
    words = [
        f"{entry.word} ({' | '.join(f'{100 * share:.0f} %' for share in entry.shares)})"
        for entry in entries[:_MOST_WORDS]
    ]
    return f"{', '.join(words)}: in so many documents of {prediction.label} | {prediction.rival}"


def _shared_line(shared: Sequence[Move]) -> Text:
    """List the words that both documents hold, with the mass that they have in common."""
    if not shared:
        return Text("They share no word.")
    words = ", ".join(f"{move.source} {100 * move.mass:.1f} %" for move in shared[:_MOST_MOVES])
    rest = shared[_MOST_MOVES:]
    more = f", {len(rest)} more words {100 * sum(move.mass for move in rest):.1f} %" if rest else ""
    return Text.assemble(("Shared, of the mass: ", "green"), visible(words), more)


def _moves_table(explanation: Explanation) -> Table:
    shown, rest = explanation.moves[:_MOST_MOVES], explanation.moves[_MOST_MOVES:]
    what = "All moves" if not rest else f"The {len(shown)} costliest of {len(explanation.moves)} moves"
    title = f"What differs. {what}: {100 * explanation.share(shown):.0f} % of the distance"
    table = _table(title, ("from", "to", "moved mass", "adds to the distance", "of the distance"))
    for move in shown:
        share = explanation.share([move])
        figures = (f"{100 * move.mass:.1f} %", f"{move.cost:.4f}", f"{100 * share:.0f} % {'▇' * round(20 * share)}")
        table.add_row(Text(visible(move.source)), Text(visible(move.target)), *figures)
    return table


def _branches_table(explanation: Explanation) -> Table:
    crossed = 100 * explanation.share(explanation.branches)
    one, count = len(explanation.branches) == 1, len(explanation.branches)
    which = "This one" if one else f"These {_NUMBERS.get(count, count)}"
    title = (
        f"The same distance by branch. {which}, used more by one text than by the other, "
        f"{'makes' if one else 'make'} up {crossed:.0f} % of it."
    )
    table = _table(title, ("branch", "adds to the distance", "mass of the first", "mass of the second", "words"))
    for branch in explanation.branches:
        first, second = (f"{100 * mass:.0f} %" for mass in branch.masses)
        words = visible(", ".join(branch.words[:6]))
        table.add_row(str(branch.node), f"{branch.cost:.4f}", first, second, Text(words))
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    """Make a table with words on the left of their columns and numbers on the right."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in _WORDS else "right")
    return table
