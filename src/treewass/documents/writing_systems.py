"""What writing systems ask of a counter of words: accents to fold, runs without spaces, and stems."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from treewass.compute.extras import require

__all__ = ["UNSPACED", "folded", "stems"]

# Runs of characters of scripts that put no spaces between words.
UNSPACED = re.compile(
    "["
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u0e00-\u0e4f\u0e80-\u0ecf\u1780-\u17d3\u1000-\u103f\u1050-\u109f"  # Thai, Lao, Khmer, Burmese
    "]+"
)
_ACCENTS = re.compile("(?<=[\u0000-\u03ff\u1e00-\u1fff])[\u0300-\u036f]+")  # of Latin and Greek letters


def folded(word: str) -> str:
    """Drop the accents of Latin and Greek letters, and what is left of case.

    Examples
    --------
    >>> folded("naïve"), folded("straße"), folded("мой"), folded("ήλιος")
    ('naive', 'strasse', 'мой', 'ηλιοσ')
    """
    if word.isascii():
        return word
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return unicodedata.normalize("NFC", plain)


def stems(words: list[str], language: str) -> list[str]:
    """Return the stem of each word of a language; a language that is not known is a ValueError.

    Examples
    --------
    >>> stems(["storms", "stormy"], "english")
    ['storm', 'stormi']
    """
    stemmer: Any = require("Stemmer", purpose="Counting words by their stems", extra="stem")
    if language not in stemmer.algorithms():
        raise ValueError(f"Expected stem as None or one of {', '.join(stemmer.algorithms())}, got {language!r}.")
    found: list[str] = stemmer.Stemmer(language).stemWords(words)  # a new one: threads cannot share one
    return found
