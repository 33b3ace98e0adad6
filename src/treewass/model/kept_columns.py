"""Columns that a model keeps of its documents, and filters on them."""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import first_few
from treewass.documents.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RESERVED", "KeptColumn", "Value", "check_columns"]

Value = str | int | float | None
RESERVED = ("id", "key", "label", "title", "text")  # names that a column cannot have


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """A value of each document: its place among the distinct values, which ascend; -1 where there is none.

    Examples
    --------
    >>> column = KeptColumn.of([2020, None, 2023, 2020])
    >>> column[0], column[1]
    (2020, None)
    >>> column.matches(">", 2021)
    array([False, False,  True, False])
    """

    distinct: Sequence[Any] | NDArray[Any]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, values: Iterable[Value]) -> KeptColumn:
        """Make a column of values, all of them str or all of them numbers, or None."""
        return cls(_packed(set()), np.empty(0, dtype=np.int32)).joined(values)

    def __len__(self) -> int:
        return self.codes.size

    def __getitem__(self, place: int) -> Value:
        """Return the value of one document."""
        code = int(self.codes[place])
        value: Value = None if code < 0 else _plain(self.distinct[code])
        return value

    def __iter__(self) -> Iterator[Value]:
        return (self[place] for place in range(len(self)))

    def kept(self, mask: NDArray[np.bool_]) -> KeptColumn:
        """Return the values for which a mask holds; distinct values that no document has any more are gone."""
        codes = self.codes[mask]
        used = np.unique(codes[codes >= 0])
        values = {self.distinct[code] for code in used.tolist()}
        places = np.searchsorted(used, codes)
        return KeptColumn(_packed(values), np.where(codes < 0, -1, places).astype(np.int32))

    def joined(self, values: Iterable[Value]) -> KeptColumn:
        """Return these values and others after them."""
        values = list(values)
        known, new = set(self.distinct), {value for value in values if value is not None}
        if known and new and isinstance(next(iter(known)), str) != isinstance(next(iter(new)), str):
            raise ValueError(f"Expected values such as {self.distinct[0]!s} in this column, got {next(iter(new))!r}.")
        distinct = _packed(known | new)
        moved = np.array([bisect_left(distinct, value) for value in self.distinct], dtype=np.int32)
        before = np.where(self.codes < 0, -1, moved[self.codes]) if moved.size else self.codes
        after = [-1 if value is None else bisect_left(distinct, value) for value in values]
        return KeptColumn(distinct, np.concatenate([before, after]).astype(np.int32))

    def matches(self, operator: str, value: Any) -> NDArray[np.bool_]:
        """Compare every value with one, shape (n_documents,); None equals None, and is neither more nor less.

        The operator is one of a filter's: with "in", one of a list of values must be equal. Numbers are compared
        exactly, and a date as its ISO text. A value of another kind is a ValueError.
        """
        codes = self.codes
        if operator == "in":
            found = [code for one in value for code in range(*self._places(one))]
            return np.isin(codes, np.array(found, dtype=codes.dtype))
        first, last = self._places(value)
        if operator in ("==", "!="):
            return np.asarray(((codes >= first) & (codes < last)) == (operator == "=="))
        if operator in ("<", "<="):
            return (codes >= 0) & (codes < (first if operator == "<" else last))
        return codes >= (last if operator == ">" else first)

    def _places(self, value: Any) -> tuple[int, int]:
        """Find the first code of a value, or where it would be, and the one after it; that of None is -1."""
        value = _plain(value)
        if value is None:
            return -1, 0
        if not len(self.distinct):
            return 0, 0
        last_value = _plain(self.distinct[-1])
        is_value = isinstance(value, str | int | float) and not isinstance(value, bool)
        is_value &= not (isinstance(value, float) and math.isnan(value))  # it would be equal to all
        if not is_value or isinstance(value, str) != isinstance(last_value, str):
            raise ValueError(f"Expected a value such as {last_value!r}, got {repr(value)[:100]}.")
        # Python compares whole numbers with floats exactly, NumPy rounds those above 2^53.
        return bisect_left(self.distinct, value, key=_plain), bisect_right(self.distinct, value, key=_plain)


def _plain(value: Any) -> Any:
    """Return a value as plain Python, a date as its ISO text."""
    if isinstance(value, datetime.date | datetime.time):  # a datetime is a date
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


def _packed(values: set[Any]) -> Sequence[Any] | NDArray[Any]:
    """Sort distinct values into what a file can hold."""
    ordered = sorted(values)
    if not ordered or isinstance(ordered[0], str):
        return Texts.of(ordered)
    whole = [value for value in ordered if isinstance(value, int | np.integer)]
    are_whole = len(whole) == len(ordered)
    rounded = [] if are_whole else [value for value in whole if int(float(value)) != value]
    if rounded:
        raise ValueError(
            f"Expected whole numbers up to 2^53 in a column that holds fractions too, got {rounded[0]}. Give texts."
        )
    return np.unique(np.array(ordered, dtype=np.int64 if are_whole else np.float64))


def check_columns(columns: Mapping[str, Sequence[Value]] | None, count: int) -> dict[str, list[Value]]:
    """Demand columns with a value for each document: str, int, float or None, of one kind in each column.

    Dates become ISO texts.

    Examples
    --------
    >>> check_columns({"year": [2020, "last"]}, 2)
    Traceback (most recent call last):
        ...
    TypeError: Expected str, int, float or None in column 'year', of one kind, got int and str in row(s) 0, 1.
    """
    checked: dict[str, list[Value]] = {}
    for name, given in ({} if columns is None else columns).items():
        if not isinstance(name, str) or not name or name in RESERVED or not name.isprintable():
            raise ValueError(
                f"Expected a printable name for a column, other than {', '.join(RESERVED)}, got {name!r}. Rename it."
            )
        values: list[Any] = [_plain(value) for value in given]
        if len(values) != count:
            raise ValueError(f"Expected a value per text ({count}) in column {name!r}, got {len(values)}.")
        kinds = {type(value) for value in values} - {type(None)}
        if not (kinds <= {str} or kinds <= {int, float}):
            first = {type(value): row for row, value in reversed(list(enumerate(values))) if value is not None}
            found = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise TypeError(
                f"Expected str, int, float or None in column {name!r}, of one kind, got {found} in row(s) "
                f"{first_few(np.array(sorted(first.values())))}."
            )
        wrong = np.array([row for row, value in enumerate(values) if not _can_be_kept(value)])
        if wrong.size:
            raise ValueError(
                f"Expected finite numbers of 64 bits and whole characters in column {name!r}, but row(s) "
                f"{first_few(wrong)} hold others. Give None where there is no value."
            )
        checked[name] = values
    return checked


def _can_be_kept(value: Value) -> bool:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or math.isfinite(value)
