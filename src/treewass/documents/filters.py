"""The one language of filters, for models, services and stores: which values documents must have in which columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["OPERATORS", "Condition", "parse_filter"]

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


class Condition(NamedTuple):
    """What one column must hold.

    Parameters
    ----------
    column : str
        Its name.
    operator : str
        One of `OPERATORS`, or "in".
    value : Any
        What to compare with; with "in" a list, of which one must be equal. None means that there is no value.
    """

    column: str
    operator: str
    value: Any


def parse_filter(where: Mapping[str, Any] | None) -> list[Condition]:
    """Read a filter; all of its conditions must hold.

    Parameters
    ----------
    where : mapping or None
        For each column named a value, a list of values of which one must be equal, a pair of an operator and a value,
        or a list of such pairs, of which all must hold. None, as a value, means that there is none. A pair may be a
        tuple or, as in JSON, a list: two items, the first of which is an operator.

    Returns
    -------
    list of Condition

    Examples
    --------
    >>> for condition in parse_filter({"label": ["cats", "dogs"], "year": [(">", 1990), ("<=", 2000)], "author": None}):
    ...     tuple(condition)
    ('label', 'in', ['cats', 'dogs'])
    ('year', '>', 1990)
    ('year', '<=', 2000)
    ('author', '==', None)
    """
    if where is not None and not isinstance(where, Mapping):
        raise TypeError(f"Expected where as a mapping of columns to values, got {type(where).__name__}.")
    return [
        Condition(column, *pair) for column, wanted in (where or {}).items() for pair in _pairs(str(column), wanted)
    ]


def _pairs(column: str, wanted: Any) -> list[tuple[str, Any]]:
    """Return what is wanted of a column as operators and values."""
    if not isinstance(wanted, list | tuple):
        return [("==", wanted)]
    if _is_pair(wanted):
        return [_checked(column, *wanted)]
    looks_like_pair = len(wanted) == 2 and isinstance(wanted[0], str) and set("=!<>~").issuperset(wanted[0] or "a")
    if isinstance(wanted, list) and not looks_like_pair and not any(isinstance(one, list | tuple) for one in wanted):
        return [("in", wanted)]
    if isinstance(wanted, list) and all(map(_is_pair, wanted)):
        return [_checked(column, *pair) for pair in wanted]
    raise ValueError(
        f"Expected a value, a list of values, ({' or '.join(OPERATORS)}, value) or a list of such pairs for {column}, "
        f"got {str(wanted)[:100]}."
    )


def _is_pair(wanted: Any) -> bool:
    if not isinstance(wanted, list | tuple) or len(wanted) != 2:
        return False
    return isinstance(wanted[0], str) and wanted[0] in OPERATORS


def _checked(column: str, operator: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, list | tuple):
        raise ValueError(f"Expected one value for {column} {operator}, got {len(value)} in a list.")
    if value is None and operator not in ("==", "!="):
        raise ValueError(f"Expected a value for {column} {operator}, got None.")
    return operator, value
