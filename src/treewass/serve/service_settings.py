"""What a service allows: who may read and write, and how much at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = [
    "COUNTS_FOLDER",
    "LOOPBACK",
    "MOST_BYTES",
    "MOST_CHARACTERS",
    "MOST_EXPLAINED",
    "MOST_EXPLAINED_CHARACTERS",
    "MOST_HEADER_BYTES",
    "MOST_HIGHLIGHTS",
    "MOST_NEIGHBORS",
    "MOST_TEXTS",
    "MOST_VALUES",
    "SHORTEST_TOKEN",
    "Settings",
]

MOST_BYTES = 4_000_000  # of a request's body
MOST_CHARACTERS = 200_000  # of a text
MOST_EXPLAINED_CHARACTERS = 40_000  # of a text whose distance is explained
MOST_EXPLAINED = 2000  # different words of a document whose distance is explained; it costs more than their number
MOST_HEADER_BYTES = 32_768  # of a request
MOST_HIGHLIGHTS = 10  # of a search, the neighbours; each needs a plan, which long texts make slow
MOST_NEIGHBORS = 100  # of a search, the k
MOST_TEXTS = 100  # of a request
MOST_VALUES = 100_000  # of a request's JSON: lists, and what is in them
SHORTEST_TOKEN = 16
COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the variable that says where workers keep what they count
LOOPBACK = ("127.0.0.1", "localhost", "::1")  # hosts that only this machine can reach
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service allows.

    Parameters
    ----------
    token : str, optional
        The bearer token that writes need, at least 16 printable ASCII characters; it allows reads, too. Without one,
        nothing can be written.
    protect_reads : bool, default=False
        Whether reads need a token; the page and the description of the interface stay open, as they hold no texts.
    read_token : str, optional
        A token that allows reads only; reads need a token then.
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
    read_token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        tokens = [token for token in (self.token, self.read_token) if token is not None]
        if self.protect_reads and not tokens:
            raise ValueError("Expected a token to protect reads with, got none.")
        if self.read_token is not None and self.token == self.read_token:
            raise ValueError("Expected different tokens for reading and writing, got one for both.")
        for token in tokens:
            if len(token) < SHORTEST_TOKEN or not _TOKEN.fullmatch(token):
                raise ValueError(
                    f"Expected a token of at least {SHORTEST_TOKEN} printable ASCII characters without spaces, "
                    f"got {len(token)} characters."
                )

    @property
    def reads_need_token(self) -> bool:
        """Whether reads need a token."""
        return self.protect_reads or self.read_token is not None
