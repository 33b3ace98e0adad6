"""Names of arguments in messages: as Python has them, or as options for who calls from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["argument", "as_options", "has_argument"]

_options: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextmanager
def as_options(options: Mapping[str, str]) -> Iterator[None]:
    """Let messages speak of options.

    Parameters
    ----------
    options : mapping
        The options that the caller can give, by the names of the arguments they stand for.

    Examples
    --------
    >>> with as_options({"format": "--format"}):
    ...     argument("format"), argument("format", "two words"), has_argument("part")
    ('--format', "--format 'two words'", False)
    """
    before = _options.set(options)
    try:
        yield
    finally:
        _options.reset(before)


def argument(name: str, value: str | None = None) -> str:
    """Spell an argument, alone or with a value, the way the caller would give it.

    Parameters
    ----------
    name : str
        Its name in Python. The same where the command line has no option for it.
    value : str, optional
        What to give it.

    Examples
    --------
    >>> argument("format"), argument("format", "csv")
    ('format', "format='csv'")
    """
    option = (_options.get() or {}).get(name)
    if option is None:
        return name if value is None else f"{name}={value!r}"
    return option if value is None else f"{option} {shlex.quote(value)}"


def has_argument(name: str) -> bool:
    """Whether the caller can give an argument: always in Python, on the command line only what is an option there."""
    options = _options.get()
    return options is None or name in options
