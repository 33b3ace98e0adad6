"""Texts in weighted pieces: which words bring two texts near, keep them apart, or decide on a label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from treewass.explain.transport_plans import transport_plan

if TYPE_CHECKING:
    from treewass.explain.transport_plans import Explanation
    from treewass.trees.metric import TreeMetric

__all__ = ["Piece", "best_passage", "near_words", "pair_weights", "weighted_pieces"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, with its weight as a share of the strongest word: from -1 to 1, 0 for what is between words."""

    text: str
    weight: float = 0.0


def weighted_pieces(
    text: str, spans: Sequence[tuple[int, int, str]], weights: Mapping[str, float], *, faintest: float = 0.02
) -> list[Piece]:
    """Cut a text at the words that weigh at least the share `faintest` of the strongest one.

    The spans say where words are in the text; those that end after it are left out. Weights may be below zero. Two
    words with a space between them are a pair: where they follow each other, each gets half of its weight. Joined, the
    pieces are the text.

    Examples
    --------
    >>> weighted_pieces("a cat", [(0, 1, "a"), (2, 5, "cat")], {"cat": 3.0})
    [Piece(text='a ', weight=0.0), Piece(text='cat', weight=1.0)]
    """
    inside = [span for span in spans if span[1] <= len(text)]
    words = [word for _, _, word in inside]
    halves = [0.0, *(weights.get(f"{one} {other}", 0.0) / 2 for one, other in pairwise(words)), 0.0]
    heavy = [weights.get(word, 0.0) + halves[place] + halves[place + 1] for place, word in enumerate(words)]
    strongest = max(map(abs, heavy), default=0.0)
    pieces: list[Piece] = []
    end = 0
    for (start, stop, _), own in zip(inside, heavy, strict=True) if strongest else ():
        weight, start = own / strongest, max(start, end)  # pairs of characters overlap
        if abs(weight) >= faintest and start < stop:
            if start > end:
                pieces.append(Piece(text[end:start]))
            pieces.append(Piece(text[start:stop], weight))
            end = stop
    if end < len(text):
        pieces.append(Piece(text[end:]))
    return pieces


def best_passage(text: str, spans: Sequence[tuple[int, int, str]], weights: Mapping[str, float], length: int) -> str:
    """Return the part of a text, of at most so many characters, whose different words weigh most; dots where it is cut.

    Examples
    --------
    >>> best_passage("a cat sat on a mat", [(2, 5, "cat"), (15, 18, "mat")], {"mat": 1.0}, 9)
    '… a mat'
    """
    places = [(start, stop, word) for start, stop, word in spans if word in weights]
    counts: Counter[str] = Counter()
    best, most, first = 0, 0.0, 0
    for _, stop, word in places:
        counts[word] += 1
        while stop - places[first][0] > length:
            counts[places[first][2]] -= 1
            first += 1
        held = sum(weights[word] for word, count in counts.items() if count)
        if held > most:
            best, most = places[first][0], held
    lead = length // 4
    begin = 0 if best <= lead else text.rfind(" ", 0, best - lead + 1) + 1
    if not begin and best > length // 2:  # no space before: a script without them
        begin = best - lead
    end = begin + length
    passage = text[begin:end]
    if end < len(text):
        passage = (passage.rpartition(" ")[0] or passage) + " …"
    return f"… {passage}" if begin else passage


def pair_weights(explanation: Explanation) -> tuple[dict[str, float], dict[str, float]]:
    """Weigh the words of two documents: above zero what they share, below zero what moving them costs.

    The first weights belong to the words of the first document, the second to those of the second.

    Examples
    --------
    >>> from treewass.explain import Explanation, Move
    >>> pair_weights(Explanation(2.0, (Move("cat", "cat", 0.5, 0.0),), (Move("dog", "car", 0.5, 2.0),), ()))
    ({'cat': 1.0, 'dog': -2.0}, {'cat': 1.0, 'car': -2.0})
    """
    shared = {move.source: move.mass * (explanation.distance or 1.0) for move in explanation.shared}
    first, second = dict(shared), dict(shared)
    for move in explanation.moves:
        first[move.source] = first.get(move.source, 0.0) - move.cost
        second[move.target] = second.get(move.target, 0.0) - move.cost
    return first, second


def near_words(metric: TreeMetric, query: Any, document: Any, words: Sequence[str]) -> dict[str, float]:
    """Weigh the words of a document by the mass that reaches them from a query, more so from nearby.

    Both documents are counts of shape (1, n_words) with a known word. Mass that stays counts in full, and mass that
    comes from farthest does not count.
    """
    plans = [transport_plan(metric, query, document, component=tree) for tree in range(metric.n_components)]
    farthest = max(float(plan.distances.max()) for plan in plans) or 1.0
    weights: dict[str, float] = {}
    for plan in plans:
        nearness = (1.0 - plan.distances / farthest) ** 2
        for target, weight in zip(plan.targets.tolist(), (plan.masses * nearness).tolist(), strict=True):
            if weight > 0:
                weights[words[target]] = weights.get(words[target], 0.0) + weight
    return weights
