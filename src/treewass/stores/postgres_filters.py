"""Filters on columns, compiled to SQL in which every value is a bound parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.filters import Condition, parse_filter
from treewass.stores.postgres_tables import database_name

if TYPE_CHECKING:
    from psycopg.sql import Composable

__all__ = ["check_value", "compile_filter"]

# As in Python: a missing value is different from every other, and texts are in the order of their characters.
_FORMS = {"==": "{column} = {value}", "!=": "{column} IS DISTINCT FROM {value}", "in": "{column} = ANY({value})"}


def compile_filter(
    where: Mapping[str, Any] | None, columns: Mapping[str, type]
) -> tuple[list[Composable], dict[str, Any]]:
    """Compile a filter to conditions, of which all must hold, and the parameters they name.

    Parameters
    ----------
    where : mapping or None
        What `parse_filter` reads.
    columns : mapping of str to type
        The columns there are.

    Examples
    --------
    >>> conditions, values = compile_filter({"year": [(">", 1990), ("<", 2000)]}, {"year": int})
    >>> [condition.as_string() for condition in conditions], values
    (['"year" > %(where0)s', '"year" < %(where1)s'], {'where0': Decimal('1990'), 'where1': Decimal('2000')})
    """
    conditions: list[Composable] = []
    values: dict[str, Any] = {}
    for number, condition in enumerate(parse_filter(where)):
        if condition.column not in columns:
            raise ValueError(
                f"Expected where to name columns of the table ({', '.join(columns)}), got {condition.column!r}."
            )
        name = f"where{number}"
        form, value = _compiled(condition, columns[condition.column])
        conditions.append(_filled(form, condition.column, name))
        if value is not None:
            values[name] = value
    return conditions, values


def _compiled(condition: Condition, kind: type) -> tuple[str, Any]:
    """Return the form of a condition and the value in it, None if there is none."""
    column, operator, value = condition
    if operator == "in":
        listed = [_comparable(column, kind, one) for one in value if one is not None]
        return _FORMS["in"] if len(listed) == len(value) else f"({_FORMS['in']} OR {{column}} IS NULL)", listed
    if value is None:
        return "{column} IS NULL" if operator == "==" else "{column} IS NOT NULL", None
    order = ' COLLATE "C"' if kind is str else ""
    form = _FORMS.get(operator, f"{{column}}{order} {operator} {{value}}")
    return form, _comparable(column, kind, value)


def _filled(form: str, column: str, name: str) -> Composable:
    from psycopg.sql import SQL, Identifier, Placeholder

    return SQL(form).format(column=Identifier(database_name(column)), value=Placeholder(name))


def _comparable(column: str, kind: type, value: Any) -> Any:
    """Return what a column is compared with: a number with any number, others with their kind."""
    plain = value.item() if isinstance(value, np.generic) else value
    if kind in (int, float) and isinstance(plain, int | float) and not isinstance(plain, bool):
        if isinstance(plain, float) and math.isnan(plain):
            raise ValueError(f"Expected {kind.__name__} values in column {column}, got nan.")
        return Decimal(plain) if kind is int else _nearest_float(plain)
    return check_value(column, kind, plain)


def _nearest_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all that a column holds
        return math.inf if value > 0 else -math.inf


def check_value(column: str, kind: type, value: Any) -> Any:
    """Return a value of a column as plain Python; refuse one of another kind."""
    plain = value.item() if isinstance(value, np.generic) else value
    fits = isinstance(plain, (int, float) if kind is float else kind) and isinstance(plain, bool) == (kind is bool)
    if not fits or (kind is date and isinstance(plain, datetime)):
        raise ValueError(f"Expected {kind.__name__} values in column {column}, got {plain!r}.")
    return plain
