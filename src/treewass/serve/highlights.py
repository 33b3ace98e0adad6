"""Which words of two texts bring them near or keep them apart, laid over the texts as they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from treewass.explain.plan import TransportPlan, transport_plan
from treewass.model.contents import Contents
from treewass.serve.schemas import Piece, Word

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from treewass.explain.pairs import Explanation

__all__ = ["cut", "near_words", "pair_weights", "pieces", "top_words"]

_LONGEST_EXCERPT = 600  # characters of a text in a list
_MOST_WORDS = 8


def near_words(held: Contents, query: csr_array, document: csr_array) -> dict[str, float]:
    """Weigh the words of a document by the mass that reaches them from a query, more so from nearby.

    Parameters
    ----------
    held : Contents
        The model.
    query, document : csr_array of shape (1, n_words)
        Counts, each with a known word.

    Returns
    -------
    dict of str to float
        Mass that stays counts in full, mass that comes from farthest not at all.
    """
    plans = [
        transport_plan(held.index.metric, query, document, component=component)
        for component in range(held.index.metric.n_components)
    ]
    farthest = max(float(plan.distances.max()) for plan in plans)
    weights: dict[str, float] = {}
    for plan in plans:
        _add_weights(held, plan, farthest, weights)
    return weights


def _add_weights(held: Contents, plan: TransportPlan, farthest: float, weights: dict[str, float]) -> None:
    for target, mass, distance in zip(
        plan.targets.tolist(), plan.masses.tolist(), plan.distances.tolist(), strict=True
    ):
        nearness = 1.0 if distance == 0 else (1.0 - distance / farthest) ** 2
        if nearness > 0:
            word = held.counter.words[target]
            weights[word] = weights.get(word, 0.0) + mass * nearness


def pair_weights(explanation: Explanation) -> tuple[dict[str, float], dict[str, float]]:
    """Weigh the words of two documents: what they share above zero, what moving them costs below.

    Parameters
    ----------
    explanation : Explanation
        Of the pair.

    Returns
    -------
    tuple of dict
        Of the first and of the second document.
    """
    shared = {move.source: move.mass * explanation.distance for move in explanation.shared}
    first, second = dict(shared), dict(shared)
    for move in explanation.moves:
        first[move.source] = first.get(move.source, 0.0) - move.cost
        second[move.target] = second.get(move.target, 0.0) - move.cost
    if explanation.distance == 0:
        first = second = {move.source: move.mass for move in explanation.shared}
    return first, second


def pieces(held: Contents, text: str | None, weights: Mapping[str, float], faintest: float = 0.02) -> list[Piece]:
    """Take a text apart at the words that weigh something.

    Parameters
    ----------
    held : Contents
        The model, which knows what a word is.
    text : str or None
        The text as it stands.
    weights : mapping of str to float
        What each word weighs; the strongest becomes 1 or -1.
    faintest : float, default=0.02
        The share of the strongest from which a word is marked.

    Returns
    -------
    list of Piece
        Together the text; none where there is none.
    """
    if not text:
        return []
    spans = held.counter.spans(text)
    strongest = max((abs(weights.get(word, 0.0)) for _, _, word in spans), default=0.0)
    found: list[Piece] = []
    place = 0
    for start, stop, word in spans if strongest else ():
        weight = weights.get(word, 0.0) / strongest
        if abs(weight) < faintest:
            continue
        if start > place:
            found.append(Piece(text=text[place:start]))
        found.append(Piece(text=text[start:stop], weight=round(weight, 4)))
        place = stop
    if place < len(text):
        found.append(Piece(text=text[place:]))
    return found


def top_words(weights: Mapping[str, float], most: int = _MOST_WORDS) -> list[Word]:
    """List the heaviest words."""
    ordered = sorted(weights, key=lambda word: (-weights[word], word))[:most]
    return [Word(word=word, weight=weights[word]) for word in ordered]


def cut(text: str | None, longest: int = _LONGEST_EXCERPT) -> str | None:
    """Cut a long text at a space.

    Examples
    --------
    >>> cut("a cat sat on the mat", longest=12)
    'a cat sat …'
    >>> cut(" " * 20 + "a cat", longest=12)
    ' …'
    """
    if text is None or len(text) <= longest:
        return text
    return (text[: longest - 1].rsplit(maxsplit=1) or [""])[0] + " …"
