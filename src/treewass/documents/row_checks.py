"""The rows of a corpus: the fields of a row become a document or a bad row, and columns that are missing are named."""

from __future__ import annotations

import datetime
import math
import reprlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

import numpy as np

from treewass.compute.arguments import argument, did_you_mean, has_argument

__all__ = [
    "BadRow",
    "Document",
    "NamesFoundError",
    "Request",
    "Value",
    "check_names",
    "header_hint",
    "list_names",
    "plain_text",
    "text_columns",
    "to_document",
    "without_repeats",
]

Value = str | int | float | None
_MOST_NAMES = 20
_LONGEST_NAME = 40  # of a column; longer ones look like texts
_KINDS = {type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list"}


class NamesFoundError(Exception):
    """The columns of a table are known, and nothing else was asked for."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self.names = frozenset(names)


class Request(NamedTuple):
    """What to read: the names of the columns. None stands for a column not wanted."""

    text: str | tuple[str, ...] | None = "text"  # of several columns the texts are joined
    label: str | None = "label"
    part: str | None = "split"
    key: str | None = None
    title: str | None = None
    columns: tuple[str, ...] = ()
    unique_keys: bool = True  # rows whose key is empty, or was there before, are bad
    only_names: bool = False  # raise a NamesFoundError where the names of the columns are known

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """The columns that must be there, each with the argument that names it."""
        named = (("label", self.label), ("key", self.key), ("title", self.title))
        return [
            *(("text", column) for column in self.texts),
            *((name, column) for name, column in named if column is not None),
            *(("columns", column) for column in self.columns),
        ]

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of the text."""
        if self.text is None:
            return ()
        return (self.text,) if isinstance(self.text, str) else self.text

    def among(self, names: Collection[str]) -> Request:
        """Return the request for a table with these columns: ``"a,b"`` means two, unless a column is called so.

        Examples
        --------
        >>> Request("subject, body").among(["subject", "body"]).texts, Request("a,b").among(["a,b"]).texts
        (('subject', 'body'), ('a,b',))
        """
        if not isinstance(self.text, str) or "," not in self.text or self.text in names:
            return self
        columns = tuple(dict.fromkeys(column.strip() for column in self.text.split(",") if column.strip()))
        return self._replace(text=columns or self.text)


class Document(NamedTuple):
    """One document, and its place in the file, such as ``"line 7"``."""

    place: str
    text: str
    label: str | None = None
    part: str | None = None
    title: str | None = None
    key: str | None = None
    columns: tuple[Value, ...] = ()


class BadRow(NamedTuple):
    """A row that is no document, with its place in the file and the reason."""

    place: str
    reason: str


def to_document(place: str, fields: Mapping[str, object], request: Request) -> Document | BadRow:
    """Take a document out of a row's fields.

    Examples
    --------
    >>> to_document("line 1", {"text": "a cat", "label": 3}, Request())
    Document(place='line 1', text='a cat', label='3', part=None, title=None, key=None, columns=())
    >>> to_document("line 2", {"Text": "a cat", "label": 3}, Request()).reason
    "no field 'text' (did you mean 'Text'?); the fields are 'Text', 'label'"
    """
    request = _resolved(request, fields)
    missing = [column for _, column in request.wanted if column not in fields]
    if missing:
        listed = " and ".join(f"no field {column!r}{did_you_mean(column, fields)}" for column in missing)
        return BadRow(place, f"{listed}; the fields are {list_names(fields)}")
    try:
        return Document(
            place,
            _text(fields, request.texts),
            None if request.label is None else _label(fields[request.label]),
            _part(fields, request.part),
            None if request.title is None else _name(fields[request.title]) or "",
            None if request.key is None else _key(fields[request.key], request),
            tuple(_kept(fields[column], column) for column in request.columns),
        )
    except ValueError as error:
        return BadRow(place, str(error))


def _text(fields: Mapping[str, object], columns: tuple[str, ...]) -> str:
    """Read a text, or join those of several columns, with a line break between those that are not empty."""
    values = [fields[column] for column in columns]
    if len(values) > 1 and any(isinstance(value, str) for value in values):
        values = ["" if _plain(value) is None else value for value in values]
    for column, value in zip(columns, values, strict=True):
        if not isinstance(value, str):
            of_column = f" in {column!r}" if len(columns) > 1 else ""
            raise ValueError(f"the text{of_column} is {_kind(value)}; expected a string")
        _demand_characters(value, "the text")
    if len(values) == 1:
        return str(values[0])
    return "\n".join(str(value) for value in values if str(value).strip())


def plain_text(value: object) -> str:
    """Read a cell of a workbook as a text: a number as it is written, an empty cell as an empty text.

    Examples
    --------
    >>> plain_text(42), plain_text(None), plain_text("a cat")
    ('42', '', 'a cat')
    """
    return _name(value) or ""


def text_columns(text: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    """Check what names the columns of the texts; return a name, or a tuple of several.

    Examples
    --------
    >>> text_columns("body"), text_columns(["subject", "body"])
    ('body', ('subject', 'body'))
    """
    if text is None or isinstance(text, str):
        return text
    columns = tuple(dict.fromkeys(text)) if isinstance(text, Sequence) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError(f"Expected text to name a column, or several in a list, got {reprlib.repr(text)}.")
    return columns


def _resolved(request: Request, names: Collection[str]) -> Request:
    """Return the request for a table with these columns; refuse texts that are the labels."""
    if request.only_names:
        raise NamesFoundError(names)
    found = request.among(names)
    if found.label is not None and found.label in found.texts:
        raise ValueError(
            f"Expected the texts and the labels in columns of their own, got {found.label!r} for both. Name another "
            f"column with {argument('text')} or {argument('label')}."
        )
    return found


def _label(value: object) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    value = _plain(value) if isinstance(value, bool) else value
    if not isinstance(value, str | int):
        raise ValueError(f"the label is {_kind(value)}; expected a string or an integer")
    label = str(value).strip()  # " sports " and "sports" are one class
    if not label:
        raise ValueError("the label is empty")
    return _demand_characters(label, "the label")


def _part(fields: Mapping[str, object], column: str | None) -> str | None:
    if column is None or column not in fields:
        return None
    part = fields[column]
    if part == "train" or part == "test":
        return str(part)
    ignoring = f" ({argument('part', '')} ignores the column)" if has_argument("part") else ""
    raise ValueError(f"{column!r} is {reprlib.repr(part)}; expected 'train' or 'test'{ignoring}")


def _name(value: object) -> str | None:
    """Read a key or a title: text, or a number as it is written."""
    value = _plain(value)
    return None if value is None or value == "" else str(value)


def _key(value: object, request: Request) -> str | None:
    key = _name(value)
    if request.unique_keys and (key is None or not key.strip()):
        raise ValueError(f"{request.key!r} is empty; expected a name of its own for each document")
    return key


def without_repeats(rows: Iterable[Document | BadRow], request: Request) -> Iterator[Document | BadRow]:
    """Go through rows; a document whose key an earlier one has is a bad row, if keys are to be unique.

    Examples
    --------
    >>> rows = [Document("line 2", "a cat", key="k1"), Document("line 3", "a dog", key="k1")]
    >>> list(without_repeats(rows, Request(key="ticket")))[1]
    BadRow(place='line 3', reason="'ticket' is 'k1', as in line 2; expected a name of its own for each document")
    """
    if request.key is None or not request.unique_keys:
        yield from rows
        return
    places: dict[str | None, str] = {}
    for row in rows:
        if not isinstance(row, Document):
            yield row
        elif (first := places.get(row.key)) is not None:
            reason = f"{request.key!r} is {row.key!r}, as in {first}; expected a name of its own for each document"
            yield BadRow(row.place, reason)
        else:
            places[row.key] = row.place
            yield row


def _kept(value: object, column: str) -> Value:
    value = _plain(value)
    if isinstance(value, str | int | float | None):
        return value
    raise ValueError(f"{column!r} is {_kind(value)}; expected a string, a number, a date or null")


def _plain(value: object) -> object:
    """Turn numbers of other kinds into Python's, dates into ISO texts, truths into words and NaN into None.

    Examples
    --------
    >>> _plain(np.int8(3)), _plain(datetime.date(2020, 2, 1)), _plain(True), _plain(float("nan"))
    (3, '2020-02-01', 'true', None)
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _demand_characters(value, "a field")
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float | datetime.date | datetime.time):  # a datetime is a date
        if value != value:  # NaN, and the missing date of pandas
            return None
        return value if isinstance(value, float) else value.isoformat()
    return value


def check_names(source: object, names: Collection[str], request: Request, hint: str = "") -> None:
    """Refuse a table that lacks columns asked for, or has them twice: all of them in one message."""
    listed = list(names)
    request = _resolved(request, listed)
    if request.part is not None and listed.count(request.part) > 1:
        wanted = [*request.wanted, ("part", request.part)]
    else:
        wanted = request.wanted
    wrong = [(name, column) for name, column in wanted if listed.count(column) != 1]
    if not wrong:
        return
    found = " and ".join(
        f"no column {column!r}{did_you_mean(column, listed)}"
        if column not in listed
        else f"{listed.count(column)} columns {column!r}"
        for _, column in wrong
    )
    missing = [name for name, column in wrong if column not in listed]
    options = dict.fromkeys(argument(name, "…") for name in missing if has_argument(name))
    plural = "s" if len(missing) > 1 else ""
    remedy = f" Name the right one{plural} with {' and '.join(options)}." if options else ""
    if len(missing) < len(wrong):
        remedy += " Rename all but one of the same name."
    raise ValueError(f"{source}: {found} in the header; the columns are {list_names(listed)}.{remedy}{hint}")


def header_hint(header: list[str], delimiter: str) -> str:
    """Guess why a header lacks a column."""
    if delimiter == "\t" and len(header) == 2:
        return f" If the first line is already a label, a tab and a text, pass {argument('format', 'lines')}."
    if any(len(field) > _LONGEST_NAME or not field.strip() for field in header):
        return " If the first line is already a document, put a line with the columns' names above it."
    return ""


def list_names(names: Collection[str]) -> str:
    """List the names of columns for a message."""
    shown = ", ".join(repr(name) for name in islice(names, _MOST_NAMES)) or "none"
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _demand_characters(text: str, name: str) -> str:
    """Return a text; refuse one with bytes that were not decoded, or with half of a surrogate pair, from JSON."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if "\udc80" <= text[error.start] <= "\udcff":
            raise ValueError(f"{name} holds bytes that are not UTF-8, as the rest of the file is") from None
        raise ValueError(f"{name} holds half of a surrogate pair, which is no character") from None
    return text


def _kind(value: object) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "null"  # as frames hold it
    return _KINDS.get(type(value), "an object")
