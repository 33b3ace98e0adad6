"""Rows of text files: JSON lines and lists, tables, labelled lines and folders of texts, one document at a time."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from treewass.compute.arguments import argument
from treewass.compute.threads import ForkSafeLock
from treewass.documents.row_checks import (
    BadRow,
    Document,
    Request,
    check_names,
    header_hint,
    list_names,
    to_document,
)

__all__ = [
    "HEADER_ONLY",
    "folder_rows",
    "json_list_rows",
    "json_rows",
    "labelled_line_rows",
    "long_fields",
    "table_rows",
]

Note = Callable[[str], None]  # takes what was found out about a file, to tell the user
HEADER_ONLY = "a header and no rows"

_LARGEST_FIELD = 2**31 - 1
_field_limit_lock = ForkSafeLock()
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_OF_EXCEL = re.compile(r"\s*\"?sep=(?P<delimiter>.)\"?\s*", re.IGNORECASE)
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


def json_rows(stream: TextIO, path: Path, request: Request) -> Iterator[Document | BadRow]:
    """Read JSON lines, one object per line; blank lines are skipped."""
    is_first = True
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        if is_first and _begins_list(line):
            raise ValueError(
                f"{path}: expected a JSON object on each line, but line {number} begins a list. If it is a list of "
                f"objects, pass {argument('format', 'json')}."
            )
        is_first, place = False, f"line {number}"
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            yield BadRow(place, f"not valid JSON ({error.msg} at column {error.colno})")
        except (ValueError, RecursionError) as error:
            yield BadRow(place, f"not valid JSON ({error})")
        else:
            yield _of_object(place, fields, request)


def _begins_list(line: str) -> bool:
    """Tell whether a list of objects begins on a line.

    Examples
    --------
    >>> _begins_list("["), _begins_list('[{"text": "a cat"},'), _begins_list("[3]")
    (True, True, False)
    """
    return re.match(r"\s*\[\s*(\{|$)", line) is not None


def _of_object(place: str, fields: Any, request: Request) -> Document | BadRow:
    if isinstance(fields, dict):
        return to_document(place, fields, request)
    return BadRow(place, f"expected a JSON object, found {_KINDS.get(type(fields), 'null')}")


def json_list_rows(stream: TextIO, path: Path, request: Request) -> Iterator[Document | BadRow]:
    """Read a list of JSON objects; a file that begins with an object is read as JSON lines."""
    first = stream.read(1)
    while first and first.isspace():
        first = stream.read(1)
    if not first:
        return
    if first == "{":
        lines = iter([first + stream.readline(), *stream])
        yield from _lines_of_objects(lines, path, request)
        return
    try:
        entries = json.loads(first + stream.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected a list of JSON objects, but it is not valid JSON ({error}).") from error
    if not isinstance(entries, list):
        raise ValueError(f"{path}: expected a list of JSON objects, found {_KINDS.get(type(entries), 'null')}.")
    for number, fields in enumerate(entries, start=1):
        yield _of_object(f"object {number}", fields, request)


def _lines_of_objects(lines: Iterator[str], path: Path, request: Request) -> Iterator[Document | BadRow]:
    """Read JSON lines; refuse one object on several lines, or around a list of objects, which is no row."""
    every = list(lines)
    try:
        whole = json.loads("".join(every))
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and (len(every) > 1 or any(map(_is_list_of_objects, whole.values()))):
        raise ValueError(
            f"{path}: expected a list of JSON objects, or one on each line, found one object with the fields "
            f"{list_names(whole)}. Write the list that it holds to a file of its own (pandas: orient='records')."
        )
    yield from json_rows(iter(every), path, request)  # type: ignore[arg-type]


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields of any length; its limit is global, so one thread at a time.

    Never hold it across a yield: nobody knows when a generator goes on, and all other readers would wait.
    """
    with _field_limit_lock:
        before = csv.field_size_limit(_LARGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def table_rows(
    stream: TextIO, path: Path, request: Request, *, delimiter: str | None, usual: str, note: Note
) -> Iterator[Document | BadRow]:
    """Read delimited rows below a header. The place of a row of several lines is its first line.

    Without a delimiter it is the one that finds most of the columns asked for in the header, and among these the one
    that finds most columns; `usual` wins ties, then commas, semicolons, tabs and bars in this order.
    """
    before, separator = _head(stream, request, delimiter, usual, note)
    reader = csv.reader(chain(before, stream), delimiter=separator, strict=True)
    header: list[str] = []
    has_rows = False
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            with long_fields():
                values = next(reader)
        except StopIteration:
            if header and not has_rows:
                note(HEADER_ONLY)
            return
        except csv.Error as error:
            if not header:
                raise ValueError(f"{path}: {place}, the header, has broken quoting ({error}).") from error
            has_rows = True
            yield BadRow(place, f"broken quoting ({error})")
            continue
        if not values:
            continue
        if not header:
            header = [name.strip() for name in values]
            check_names(path, header, request, header_hint(header, separator))
            continue
        has_rows = True
        if len(values) != len(header):
            fields = "1 field" if len(values) == 1 else f"{len(values)} fields"
            yield BadRow(place, f"{fields} where the header has {len(header)}")
        else:
            yield to_document(place, dict(zip(header, values, strict=True)), request)


def _head(stream: TextIO, request: Request, delimiter: str | None, usual: str, note: Note) -> tuple[list[str], str]:
    """Read up to the header; return the lines read, and what separates the columns."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(
            f"Expected {argument('delimiter')} to be one character, such as ';' or a tab, got {delimiter!r}."
        )
    lines = []
    while line := stream.readline():
        declared = _OF_EXCEL.fullmatch(line)
        if declared is not None:  # a line that Excel writes and reads
            lines.append("\n")
            delimiter = delimiter or declared["delimiter"]
            continue
        lines.append(line)
        if line.strip():
            break
    if delimiter is not None or not lines:
        return lines, delimiter or usual

    def merit(candidate: str) -> tuple[int, int]:
        names = {name.strip() for name in next(csv.reader([lines[-1]], delimiter=candidate))}
        wanted = {column for _, column in request.among(names).wanted}
        return len(wanted & names), len(names)

    with long_fields():
        found = max(dict.fromkeys((usual, *_DELIMITERS)), key=merit)
    if found != usual:
        note(f"{_DELIMITERS[found]} separate the columns ({argument('delimiter')} names another character)")
    return lines, found


def labelled_line_rows(stream: TextIO, path: Path, request: Request) -> Iterator[Document | BadRow]:  # noqa: ARG001
    """Read lines of a label, a tab and a text, or of a text alone; blank lines are skipped."""
    named = Request(label=None if request.label is None else "label")
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        place, line = f"line {number}", line.removesuffix("\n")
        if request.label is None:
            yield to_document(place, {"text": line}, named)
            continue
        label, tab, text = line.partition("\t")
        if not tab:
            yield BadRow(place, "no tab between a label and a text")
        else:
            yield to_document(place, {"text": text, "label": label}, named)


def folder_rows(folder: Path, read: Callable[[Path], str], *, labelled: bool) -> Iterator[Document | BadRow]:
    """Read the files below a folder, sorted by path; the first folder on the way is the label."""
    for path in _visible_files(folder, ()):
        relative = path.relative_to(folder)
        title = relative.as_posix()
        if labelled and len(relative.parts) == 1:
            yield BadRow(title, "lies next to the label folders, not in one of them")
        elif not path.is_file():
            yield BadRow(title, "is not a file that can be read (a pipe, or a link to nothing)")
        else:
            yield Document(title, read(path), relative.parts[0] if labelled else None, title=title)


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
