"""What a service allows: who may read and write, and how much at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = [
    "MOST_BYTES",
    "MOST_CHARACTERS",
    "MOST_HIGHLIGHTS",
    "MOST_NEIGHBORS",
    "MOST_TEXTS",
    "SHORTEST_TOKEN",
    "Settings",
    "is_loopback",
]

MOST_BYTES = 4_000_000  # of a request's body
MOST_CHARACTERS = 200_000  # of a text
MOST_HIGHLIGHTS = 10  # of a search, the neighbours; each needs a plan, which long texts make slow
MOST_NEIGHBORS = 100  # of a search, the k
MOST_TEXTS = 100  # of a request
SHORTEST_TOKEN = 16
_TOKEN = re.compile(r"[!-~]+")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service allows.

    Parameters
    ----------
    token : str, optional
        The bearer token that writes need, at least 16 printable ASCII characters. Without one, nothing can be written.
    protect_reads : bool, default=False
        Whether reads need it too; the page and the description of the interface stay open, as they hold no texts.
    host_names : tuple of str, optional
        The names under which the service may be asked for, which keeps pages of other sites from reaching it through
        names of their own. Any name if there is none.

    Examples
    --------
    >>> Settings(token="secret")
    Traceback (most recent call last):
        ...
    ValueError: Expected a token of at least 16 printable ASCII characters without spaces, got 6 characters.
    """

    token: str | None = field(default=None, repr=False)
    protect_reads: bool = False
    host_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None:
            if self.protect_reads:
                raise ValueError("Expected a token to protect reads with, got none.")
        elif len(self.token) < SHORTEST_TOKEN or not _TOKEN.fullmatch(self.token):
            raise ValueError(
                f"Expected a token of at least {SHORTEST_TOKEN} printable ASCII characters without spaces, "
                f"got {len(self.token)} characters."
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service that listens there.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    return host in _LOOPBACK
