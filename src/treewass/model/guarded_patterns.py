"""Token patterns with a time limit: a regular expression may take for ever on a text that was made for it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache
from time import monotonic
from typing import Any

from treewass.compute.extras import require
from treewass.model.sklearn_counter import SklearnCounter
from treewass.model.vectorizers import DEFAULT_PATTERN, TextCounter, WordCounter

__all__ = ["GuardedPattern", "guarded_counter"]

_SAFE = (DEFAULT_PATTERN, r"(?u)\b\w\w+\b")  # ours and scikit-learn's, which take a text in one pass
_SECONDS = 2.0  # for a text
_CONTROLS = frozenset("\x1c\x1d\x1e\x1f")  # spaces to Python's expressions only


class GuardedPattern:
    r"""A regular expression, run by the package regex, that gives up with a TimeoutError; other threads go on.

    It finds what Python's own finds: characters that the two count differently among letters and spaces are replaced by
    others while it runs. A pattern that names such a character itself, as ``²``, does not find it.

    Examples
    --------
    >>> GuardedPattern(r"\w+", 2.0).findall("a cat")
    ['a', 'cat']
    >>> GuardedPattern(r"(?:\w|\w\w)+-|\w+", 0.05).findall("a" * 60 + " -")
    Traceback (most recent call last):
        ...
    TimeoutError: regex timed out
    """

    def __init__(self, pattern: str, seconds: float) -> None:
        regex: Any = require("regex", purpose="A service with a token pattern of its own", extra="serve")
        self._pattern = regex.compile(pattern, regex.VERSION0)
        self._seconds = seconds
        self.groups: int = self._pattern.groups

    def findall(self, text: str) -> list[str]:
        """Find all words of a text."""
        return [text[slice(*match.span(self.groups))] for match in self.finditer(text)]

    def finditer(self, text: str) -> Iterator[Any]:
        """Find the places of all words of a text, one after the other; the words are to be taken from the text."""
        compared = text if text.isascii() and not _CONTROLS.intersection(text) else text.translate(_stand_ins())
        end = monotonic() + self._seconds
        for match in self._pattern.finditer(compared, timeout=self._seconds, concurrent=True):
            if monotonic() > end:  # regex itself looks at the clock but seldom
                raise TimeoutError("regex timed out")
            yield match


@cache
def _stand_ins() -> dict[int, str]:
    """Map characters that the two packages count differently to others that both count as Python does."""
    regex: Any = require("regex", purpose="A service with a token pattern of its own", extra="serve")

    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    theirs = set(regex.findall(r"\w", every))
    ours = {character for character in every if character.isalnum() or character == "_"}
    table = {ord(character): "ʰ" for character in ours - theirs}
    table |= {ord(character): "¦" for character in theirs - ours}
    return table | {ord(character): " " for character in _CONTROLS}


def guarded_counter(counter: TextCounter) -> TextCounter:
    """Return a counter of the same settings whose pattern, unless it is known to be safe, gives up after two seconds.

    It is a TimeoutError then.
    """
    if isinstance(counter, WordCounter) and counter.token_pattern not in _SAFE:
        guarded = copy(counter)
        guarded._pattern = GuardedPattern(counter.token_pattern, _SECONDS)  # type: ignore[assignment]
        return guarded
    if isinstance(counter, SklearnCounter):
        pattern = counter.parameters.get("token_pattern", _SAFE[1])
        if pattern is not None and pattern not in _SAFE and counter.parameters.get("analyzer", "word") == "word":
            guarded_terms = copy(counter)
            find = GuardedPattern(pattern, _SECONDS).findall
            guarded_terms._vectorizer = copy(counter._vectorizer).set_params(tokenizer=find, token_pattern=None)
            return guarded_terms
    return counter
