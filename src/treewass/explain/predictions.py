"""Why a document gets its label: what neighbours, words and class shares add to the odds against the second label."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treewass.explain.hits import Document, Hit

__all__ = ["PredictionExplanation", "TypicalWord", "WordSupport"]

_MOST_WORDS, _MOST_TYPICAL = 10, 12  # that are named


@dataclass(frozen=True, slots=True)
class WordSupport:
    """How much a word of the text, or a pair of words, speaks for the predicted class.

    Parameters
    ----------
    word : str
        The word; two words that follow each other have a space between them.
    support : float
        What it adds to the log-odds of the predicted class against the second one (natural logarithm). Below zero, it
        speaks against the prediction.
    """

    word: str
    support: float


@dataclass(frozen=True, slots=True)
class TypicalWord:
    """A word of the text, and how common it is in two classes.

    Parameters
    ----------
    word : str
        The word.
    mass : float
        Its share of the text's mass, from 0 to 1: how much the distance looks at it.
    shares : tuple of float
        The share of the documents that hold the word, in the predicted class and in the second one.
    """

    word: str
    mass: float
    shares: tuple[float, float]

    @property
    def weight(self) -> float:
        """Its mass, above zero for a word that is more common in the predicted class, below for the second one."""
        total = sum(self.shares)
        return self.mass * (self.shares[0] - self.shares[1]) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class PredictionExplanation:
    """A prediction with its reasons.

    The reasons add up: ``log_odds = neighbor_support + prior_support + sum(word.support for word in words)``.

    Parameters
    ----------
    label : str or int
        The predicted label.
    probabilities : tuple of (label, float)
        Classes by probability, largest first. Of equally probable ones, the class of the nearest document is first.
    neighbors : tuple of Hit
        The documents that voted, nearest first.
    rival : str or int or None
        The second of these classes.
    log_odds : float or None
        The logarithm of the label's probability less that of the rival's. None if there is no rival, or if it has no
        vote at all, so that its probability is zero.
    neighbor_support : float
        What the neighbours add to it.
    prior_support : float
        What does not depend on the text: the class shares of the training, and the channels' constants for each class.
    words : tuple of WordSupport
        What each word and pair of words adds by way of the channels, most support first; empty without channels.
    typical : tuple of TypicalWord
        Without channels, the words of the text that tell the two classes apart: those most typical of the label first,
        those most typical of the rival last. They say why the neighbours are near, and are no further addends.
    document : Document or None
        The document of the model that is explained, with the label that it has there; None for a text.
    silent : tuple of str
        The channels that are heard for texts, but not for this document, since they have learned from it.
    """

    label: Any
    probabilities: tuple[tuple[Any, float], ...]
    neighbors: tuple[Hit, ...]
    rival: Any = None
    log_odds: float | None = None
    neighbor_support: float = 0.0
    prior_support: float = 0.0
    words: tuple[WordSupport, ...] = ()
    typical: tuple[TypicalWord, ...] = ()
    document: Document | None = None
    silent: tuple[str, ...] = ()

    @property
    def word_support(self) -> float:
        """What all words add to the log-odds."""
        return sum(entry.support for entry in self.words)

    def addends(self) -> list[tuple[str, float, str]]:
        """List what adds up to the log-odds: its name, how much it adds, and in words what it is made of."""
        votes = Counter(neighbor.label for neighbor in self.neighbors)
        counted = f"{votes[self.label]} of {len(self.neighbors)} are {self.label}, {votes[self.rival]} {self.rival}"
        counted += "; nearer ones count more"
        if votes[self.label] > votes[self.rival] and self.neighbor_support < 0:
            counted += f", so {self.rival} outweighs {self.label}"
        if votes[self.label] < votes[self.rival] and self.neighbor_support > 0:
            counted += f", so {self.label} outweighs {self.rival}"
        listed = [
            ("words", self.word_support, _strongest(self.words)),
            ("neighbours", self.neighbor_support, counted),
            ("prior", self.prior_support, "what the labels start with, whatever the text"),
        ]
        return listed if self.words else listed[1:]

    def own_label(self) -> str:
        """Say which label a document of the model has there, and that it was not asked itself; empty for a text."""
        if self.document is None:
            return ""
        if self.document.label is None:
            return "It has no label in the model, so it does not vote."
        apart = ", and the weights of words were learned without it" if self.words else ""
        silent = f" Channels that have learned from it are silent: {', '.join(self.silent)}." if self.silent else ""
        return f"It is labelled {self.document.label} in the model. It does not vote on itself{apart}.{silent}"

    def word_weights(self) -> dict[str, float]:
        """Weigh the words of the text, and the pairs, to colour them."""
        return {entry.word: entry.weight for entry in self.typical} | {word.word: word.support for word in self.words}

    def most_typical(self) -> list[TypicalWord]:
        """Choose the typical words that weigh most, and leave them in their order."""
        weights = sorted((abs(word.weight) for word in self.typical), reverse=True)[:_MOST_TYPICAL]
        return [word for word in self.typical if abs(word.weight) >= weights[-1]][:_MOST_TYPICAL]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as what JSON can hold."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """Return a card for a notebook."""
        from treewass.cards.rendering import card, class_colors

        return card("prediction", found=self, colors=class_colors(sorted(label for label, _ in self.probabilities)))


def _strongest(words: Sequence[WordSupport]) -> str:
    """Name the words that add most, for or against, and add up the others."""
    by_strength = sorted(words, key=lambda entry: (-abs(entry.support), entry.word))
    shown, rest = by_strength[:_MOST_WORDS], by_strength[_MOST_WORDS:]
    named = [f"{entry.word} {entry.support:+.2f}" for entry in sorted(shown, key=lambda entry: -entry.support)]
    if not rest:
        return ", ".join(named)
    others = f"{len(rest)} others, at most {abs(rest[0].support):.2f} each, {sum(entry.support for entry in rest):+.2f}"
    return f"{', '.join(named)}; {others}"
