"""Arguments: how messages spell them, and the checks of plain values that every function shares."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

__all__ = [
    "argument",
    "as_options",
    "check_choice",
    "check_integer",
    "check_positive",
    "counted_noun",
    "did_you_mean",
    "has_argument",
    "shown",
]

_ALIKE = 0.7  # share of letters that a suggestion has in common with what was given
_options: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextmanager
def as_options(options: Mapping[str, str]) -> Iterator[None]:
    """Spell arguments as options of the command line in all messages: those that the user can give, by argument.

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


def argument(name: str, value: str | float | None = None) -> str:
    """Spell an argument, alone or with a value, the way the user would give it.

    Without an option for it on the command line, it keeps its name in Python.

    Examples
    --------
    >>> argument("format"), argument("format", "csv"), argument("part", 2)
    ('format', "format='csv'", 'part=2')
    """
    option = (_options.get() or {}).get(name)
    if option is None:
        return name if value is None else f"{name}={shown(value)}"
    return option if value is None else f"{option} {shlex.quote(str(value))}"


def has_argument(name: str) -> bool:
    """Tell whether the user can give an argument: always in Python, only options on the command line."""
    options = _options.get()
    return options is None or name in options


def shown(value: Any) -> str:
    """Spell a value as the user would write it: numbers of NumPy as plain ones, in tuples and lists too.

    Examples
    --------
    >>> shown(np.float64(0.0)), shown(("tanh", np.int64(2)))
    ('0.0', "('tanh', 2)")
    """
    if isinstance(value, tuple | list):
        value = type(value)(part.item() if isinstance(part, np.generic) else part for part in value)
    return repr(value.item() if isinstance(value, np.generic) else value)


def counted_noun(number: int, noun: str) -> str:
    """Say how many there are of something.

    Examples
    --------
    >>> counted_noun(1, "document"), counted_noun(2, "document")
    ('1 document', '2 documents')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Suggest a name that is spelled much like an unknown one; an empty text where there is none.

    Examples
    --------
    >>> did_you_mean("yearr", ["created", "year"]), did_you_mean("yearr", ["created"])
    (" (did you mean 'year'?)", '')
    """
    plain = {known.strip().casefold(): known for known in names}
    near = difflib.get_close_matches(name.strip().casefold(), plain, n=1, cutoff=_ALIKE)
    return f" (did you mean {plain[near[0]]!r}?)" if near else ""


def check_integer(name: str, value: Any, least: int = 1) -> int:
    """Return an argument as an int; refuse what is not an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"Expected {name} as an integer of at least {least}, got {shown(value)}.")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """Return an argument as a float; refuse what is not a finite number above zero."""
    if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
        raise ValueError(f"Expected {name} as a finite number above zero, got {shown(value)}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return an argument that is one of some words; refuse any other."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"Expected {argument(name)} to be one of {', '.join(choices)}, got {shown(value)}.")
    return value
