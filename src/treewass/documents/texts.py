"""Many texts in two arrays, so that one of them can be read from a file without the others."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Texts", "defused", "excerpt", "visible"]

_HIDDEN = {code: "\ufffd" for code in [*range(32), *range(127, 160)] if chr(code) not in "\t\n"} | {ord("\r"): " "}
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # what begins one


def visible(text: str) -> str:
    r"""Replace control characters but tab and newline, which would command a terminal, one by one.

    Examples
    --------
    >>> visible("a \x1b[31mcat\n")
    'a �[31mcat\n'
    """
    return text.translate(_HIDDEN)


def excerpt(text: str | None, length: int = 70) -> str:
    r"""Shorten a text to one line of at most so many characters, without control characters, cut between words.

    Examples
    --------
    >>> excerpt("a  cat sat\non the mat", length=12)
    'a cat sat …'
    """
    line = " ".join((text or "").split(maxsplit=length)[:length])  # so many words have more characters
    if len(line) > length:
        line = (line[: length - 1].rpartition(" ")[0] or line[: length - 2]) + " …"
    return visible(line)


def defused(cell: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would run as a formula; anything else stays as it is.

    Examples
    --------
    >>> defused("=HYPERLINK(1)"), defused("a = b"), defused(-3)
    ("'=HYPERLINK(1)", 'a = b', -3)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULAS) else cell


class Texts(Sequence[str]):
    """A sequence of texts: their UTF-8 bytes one after the other, and where each begins.

    The bytes, uint8, may be mapped from a file. The bounds, int64, ascend from 0 to the number of bytes: one more than
    there are texts.

    Examples
    --------
    >>> texts = Texts.of(["naïve", "", "cats"])
    >>> texts[0], texts[-1], len(texts)
    ('naïve', 'cats', 3)
    >>> list(texts.kept(np.array([False, True, True])))
    ['', 'cats']
    """

    def __init__(self, content: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        ascending = bounds.ndim == 1 and bounds.size and bounds[0] == 0 and bool((np.diff(bounds) >= 0).all())
        if not ascending or content.ndim != 1 or bounds[-1] != content.size:
            raise ValueError(f"Expected bounds of texts that ascend from 0 to {content.size}.")
        self.content = content
        self.bounds = bounds

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Pack texts; a ValueError says that one holds half of a surrogate pair, which is no character."""
        content, bounds = bytearray(), array("q", [0])
        for text in texts:
            content += text.encode()
            bounds.append(len(content))
        return cls(np.frombuffer(content, dtype=np.uint8), np.frombuffer(bounds, dtype=np.int64))

    def __len__(self) -> int:
        return self.bounds.size - 1

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        """Return one text."""
        place = range(len(self))[place]
        return self.content[self.bounds[place] : self.bounds[place + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def kept(self, mask: NDArray[np.bool_]) -> Texts:
        """Return the texts for which a mask of shape (n_texts,) holds, in their order."""
        lengths = np.diff(self.bounds)
        bounds = np.zeros(np.count_nonzero(mask) + 1, dtype=np.int64)
        np.cumsum(lengths[mask], out=bounds[1:])
        return Texts(self.content[np.repeat(mask, lengths)], bounds)

    def joined(self, others: Iterable[str]) -> Texts:
        """Return these texts and others after them."""
        more = Texts.of(others)
        return Texts(
            np.concatenate([self.content, more.content]),
            np.concatenate([self.bounds, self.bounds[-1] + more.bounds[1:]]),
        )
