"""The rows of a corpus: JSON lines, tables, labelled lines and folders become documents and bad rows, one at a time."""

from __future__ import annotations

import csv
import json
import reprlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

from treewass.compute.threads import ForkSafeLock
from treewass.documents.arguments import argument, has_argument
from treewass.documents.opening import open_text

__all__ = [
    "BadRow",
    "Document",
    "Request",
    "folder_rows",
    "json_rows",
    "labelled_line_rows",
    "long_fields",
    "table_rows",
]

_LARGEST_FIELD = 2**31 - 1
_LONGEST_NAME = 40  # of a column; longer ones look like texts
_field_limit_lock = ForkSafeLock()
_MOST_NAMES = 20
_KINDS = {type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list"}


class Request(NamedTuple):
    """What to read from a file: its path and the names of the columns. None stands for a column not wanted."""

    path: Path
    text: str
    label: str | None
    part: str | None
    key: str | None = None
    columns: tuple[str, ...] = ()


class Document(NamedTuple):
    """One document, and its place in the file, such as ``"line 7"``."""

    place: str
    text: str
    label: str | None
    part: str | None = None
    title: str | None = None
    key: str | None = None
    columns: tuple[str | int | float | None, ...] = ()


class BadRow(NamedTuple):
    """A row that is no document, with its place in the file and the reason."""

    place: str
    reason: str


def json_rows(stream: TextIO, request: Request) -> Iterator[Document | BadRow]:
    """Read JSON lines, one object per line; blank lines are skipped."""
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            yield BadRow(place, f"not valid JSON ({error.msg} at column {error.colno})")
        except (ValueError, RecursionError) as error:
            yield BadRow(place, f"not valid JSON ({error})")
        else:
            if isinstance(fields, dict):
                yield _to_document(place, fields, request)
            else:
                yield BadRow(place, f"expected a JSON object, found {_kind(fields)}")


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields of any length; its limit is global, so one thread at a time."""
    with _field_limit_lock:
        before = csv.field_size_limit(_LARGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def table_rows(stream: TextIO, request: Request, *, delimiter: str) -> Iterator[Document | BadRow]:
    """Read delimited rows below a header. The place of a row of several lines is its first line."""
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if not header:
                raise ValueError(f"{request.path}: {place}, the header, has broken quoting ({error}).") from error
            yield BadRow(place, f"broken quoting ({error})")
            continue
        if not values:
            continue
        if not header:
            header = values
            _check_header(header, request, delimiter)
        elif len(values) != len(header):
            yield BadRow(place, f"{len(values)} fields where the header has {len(header)}")
        else:
            yield _to_document(place, dict(zip(header, values, strict=True)), request)


def _check_header(header: list[str], request: Request, delimiter: str) -> None:
    """Refuse a header that lacks a column asked for, or has it twice."""
    for name, column in (("text", request.text), ("label", request.label), ("part", request.part)):
        if column is None or header.count(column) == 1 or (name == "part" and column not in header):
            continue
        found = "no column" if column not in header else f"{header.count(column)} columns"
        raise ValueError(
            f"{request.path}: {found} {column!r} in the header; the columns are {_list_names(header)}. "
            f"{_header_remedy(name)}{_header_hint(header, delimiter)}"
        )


def _header_remedy(name: str) -> str:
    """Say what to do about a column that is missing or there twice."""
    return f"Name the right one with {argument(name, '…')}." if has_argument(name) else "Rename all but one."


def _header_hint(header: list[str], delimiter: str) -> str:
    """Guess why a header lacks a column."""
    if delimiter == "\t" and len(header) == 2:
        return f" If the first line is already a label, a tab and a text, pass {argument('format', 'lines')}."
    if delimiter == "," and ";" in header[0]:
        return " Semicolons seem to separate the columns: save the table with commas, or as tab-separated .tsv."
    if delimiter == "," and "\t" in header[0]:
        return f" Tabs seem to separate the columns: pass {argument('format', 'tsv')}."
    if any(len(field) > _LONGEST_NAME or not field.strip() for field in header):
        return " If the first line is already a document, put a line with the columns' names above it."
    return ""


def labelled_line_rows(stream: TextIO, request: Request) -> Iterator[Document | BadRow]:
    """Read lines of a label, a tab and a text, or of a text alone; blank lines are skipped."""
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        place, line = f"line {number}", line.removesuffix("\n")
        if request.label is None:
            yield Document(place, line, None)
            continue
        label, tab, text = line.partition("\t")
        if not tab:
            yield BadRow(place, "no tab between a label and a text")
        elif not label.strip():
            yield BadRow(place, "the label is empty")
        else:
            yield Document(place, text, label)


def folder_rows(folder: Path, encoding: str, *, labelled: bool) -> Iterator[Document | BadRow]:
    """Read the files below a folder, sorted by path; the first folder on the way is the label."""
    for path in _visible_files(folder, ()):
        relative = path.relative_to(folder)
        title = relative.as_posix()
        if labelled and len(relative.parts) == 1:
            yield BadRow(title, "lies next to the label folders, not in one of them")
            continue
        if not path.is_file():
            yield BadRow(title, "is not a file that can be read (a pipe, or a link to nothing)")
            continue
        with open_text(path, encoding) as stream:
            text = stream.read()
        yield Document(title, text, relative.parts[0] if labelled else None, title=title)


def _visible_files(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above:
        raise ValueError(f"{folder}: this link leads back to the folder {real} that holds it. Remove the link.")
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _visible_files(entry, (*above, real))
        else:
            yield entry


def _to_document(place: str, fields: Mapping[str, object], request: Request) -> Document | BadRow:
    """Take text, label and part out of a row's fields."""
    for column in (request.text, request.label, request.key, *request.columns):
        if column is not None and column not in fields:
            return BadRow(place, f"no field {column!r}; the fields are {_list_names(fields)}")
    text = fields[request.text]
    if not isinstance(text, str):
        return BadRow(place, f"the text is {_kind(text)}; expected a string")
    if not _is_encodable(text):
        return BadRow(place, "the text holds half of a surrogate pair, which is no character")
    document = Document(place, text, None)
    if request.label is not None:
        label = fields[request.label]
        if isinstance(label, bool) or not isinstance(label, str | int):
            return BadRow(place, f"the label is {_kind(label)}; expected a string or an integer")
        if not str(label).strip():
            return BadRow(place, "the label is empty")
        document = document._replace(label=str(label))
    return _with_part(document, fields, request)


def _with_kept(document: Document, fields: Mapping[str, object], request: Request) -> Document | BadRow:
    """Take the key and further columns out of a row's fields."""
    if request.key is not None:
        document = document._replace(key=None if fields[request.key] in (None, "") else str(fields[request.key]))
    kept: list[str | int | float | None] = []
    for column in request.columns:
        value = fields[column]
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            return BadRow(document.place, f"{column!r} is {_kind(value)}; expected a string, a number or null")
        kept.append(value)
    return document._replace(columns=tuple(kept))


def _with_part(document: Document, fields: Mapping[str, object], request: Request) -> Document | BadRow:
    column = request.part
    if column is None or column not in fields:
        return _with_kept(document, fields, request)
    part = fields[column]
    if part == "train" or part == "test":
        return _with_kept(document._replace(part=str(part)), fields, request)
    found = reprlib.repr(part)
    ignoring = " (part=None ignores the column)" if has_argument("part") else ""
    return BadRow(document.place, f"{column!r} is {found}; expected 'train' or 'test'{ignoring}")


def _list_names(names: Collection[str]) -> str:
    """List the names of columns for a message."""
    shown = ", ".join(repr(name) for name in islice(names, _MOST_NAMES)) or "none"
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "an object")
