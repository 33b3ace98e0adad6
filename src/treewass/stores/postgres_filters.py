"""Filters on columns, compiled to SQL in which every value is a bound parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from psycopg.sql import Composable

__all__ = ["check_value", "compile_filter"]

_OPERATORS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def compile_filter(
    where: Mapping[str, Any] | None, columns: Mapping[str, type]
) -> tuple[list[Composable], dict[str, Any]]:
    """Compile a filter to conditions, of which all must hold, and the parameters they name.

    Parameters
    ----------
    where : mapping or None
        A value, a list of values, a pair of operator and value, or a list of such pairs, of which all must hold, for
        each column named. None means no value.
    columns : mapping of str to type
        The columns there are.

    Examples
    --------
    >>> conditions, values = compile_filter({"year": [(">", 1990), ("<", 2000)]}, {"year": int})
    >>> [condition.as_string() for condition in conditions], values
    (['"year" > %(where0)s', '"year" < %(where1)s'], {'where0': 1990, 'where1': 2000})
    """
    from psycopg.sql import SQL, Identifier

    if where is not None and not isinstance(where, Mapping):
        raise TypeError(f"Expected where as a mapping of columns to values, got {type(where).__name__}.")
    conditions: list[Composable] = []
    values: dict[str, Any] = {}
    pairs = [(column, one) for column, wanted in (where or {}).items() for one in _several(wanted)]
    for number, (column, wanted) in enumerate(pairs):
        if column not in columns:
            raise ValueError(f"Expected where to name columns of the table ({', '.join(columns)}), got {column!r}.")
        name, operator = f"where{number}", "=="
        if isinstance(wanted, tuple):
            operator, wanted = _pair(column, wanted)
        if wanted is None:
            form = _null_form(column, operator)
        elif isinstance(wanted, list):
            form = "{} = ANY(%({})s)"
            wanted = [check_value(column, columns[column], value) for value in wanted]
            if operator != "==":
                raise ValueError(f"Expected one value for {column} {operator}, got a list.")
        else:
            form, wanted = "{} OPERATOR %({})s", check_value(column, columns[column], wanted)
        conditions.append(SQL(form.replace("OPERATOR", _OPERATORS[operator])).format(Identifier(column), SQL(name)))
        if wanted is not None:
            values[name] = wanted
    return conditions, values


def _several(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) and wanted and isinstance(wanted[0], tuple) else [wanted]


def _pair(column: str, wanted: tuple[Any, ...]) -> tuple[str, Any]:
    if len(wanted) != 2 or wanted[0] not in _OPERATORS:
        raise ValueError(
            f"Expected ({' or '.join(_OPERATORS)}, value) for {column}, got {wanted!r}. Several values are a list."
        )
    return wanted[0], wanted[1]


def _null_form(column: str, operator: str) -> str:
    if operator not in ("==", "!="):
        raise ValueError(f"Expected a value for {column} {operator}, got None.")
    return "{} IS NULL" if operator == "==" else "{} IS NOT NULL"


def check_value(column: str, kind: type, value: Any) -> Any:
    """Return a value of a column as plain Python; refuse one of another kind."""
    plain = value.item() if isinstance(value, np.generic) else value
    fits = isinstance(plain, (int, float) if kind is float else kind) and isinstance(plain, bool) == (kind is bool)
    if not fits:
        raise ValueError(f"Expected {kind.__name__} values in column {column}, got {plain!r}.")
    return plain
