"""The file formats of corpora: each turns an open file into documents and bad rows, one at a time."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import reprlib
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple, TextIO, cast

from treewass.argument_names import argument, has_argument

__all__ = [
    "BROKEN_GZIP",
    "BadRow",
    "Document",
    "Request",
    "folder_rows",
    "json_rows",
    "labelled_line_rows",
    "long_fields",
    "open_binary",
    "open_text",
    "table_rows",
]

BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_GZIP_MAGIC = b"\x1f\x8b"
_LARGEST_FIELD = 2**31 - 1
_MOST_NAMES = 20
_LONGEST_NAME = 40  # of a column; longer ones look like texts
_KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
}
_field_limit_lock = Lock()


class Request(NamedTuple):
    """What is asked of a file: its path and the names of its columns, None for a column not asked for."""

    path: Path
    text: str
    label: str | None
    part: str | None


class Document(NamedTuple):
    """One document as a row holds it; `place` says where it stands, such as ``"line 7"``."""

    place: str
    text: str
    label: str | None
    part: str | None = None
    title: str | None = None


class BadRow(NamedTuple):
    """A row that is no document, with the place where it stands and the reason."""

    place: str
    reason: str


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes, unpacking gzip, known by its first bytes or the ending ``.gz``."""
    with path.open("rb") as raw:
        zipped = raw.peek(2)[:2] == _GZIP_MAGIC or path.suffix.lower() == ".gz"
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw


@contextmanager
def open_text(path: Path, encoding: str, *, newline: str | None = None) -> Iterator[TextIO]:
    """Open a file for text, unpacking gzip and dropping the byte order mark of UTF-8."""
    try:
        name = codecs.lookup(encoding).name
        io.TextIOWrapper(io.BytesIO(), encoding=name)
    except LookupError:
        raise ValueError(
            f"Expected {argument('encoding')} to name a text encoding such as 'utf-8' or 'latin-1', got {encoding!r}."
        ) from None
    name = "utf-8-sig" if name == "utf-8" else name
    with open_binary(path) as binary, io.TextIOWrapper(binary, encoding=name, newline=newline) as stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            place = _undecodable_place(binary, name)
            raise ValueError(
                f"{path}: {place} is not valid {encoding} ({error.reason}). Pass {argument('encoding', 'cp1252')}, "
                f"{argument('encoding', 'latin-1')} or whatever the encoding of the file is."
            ) from error
        except BROKEN_GZIP as error:
            raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error


def _undecodable_place(binary: BinaryIO, encoding: str) -> str:
    """Read a file once more to find the line and the byte at which it stops being valid."""
    if not binary.seekable():
        return "the text"
    binary.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, consumed, last = 1, 0, ""
    while chunk := binary.read(1 << 16):
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError:
            decoder.setstate(state)
            valid = _valid_prefix(decoder, chunk)
            return f"line {lines + _count_newlines(last, ''.join(valid))} (near byte {consumed + len(valid)})"
        lines, consumed, last = lines + _count_newlines(last, text), consumed + len(chunk), text[-1:] or last
    return f"line {lines} (the end of the file)"


def _valid_prefix(decoder: codecs.IncrementalDecoder, chunk: bytes) -> list[str]:
    """Decode a chunk that holds an error byte by byte, up to the error: one text a byte."""
    texts: list[str] = []
    try:
        for position in range(len(chunk)):
            texts.append(decoder.decode(chunk[position : position + 1]))
    except UnicodeDecodeError:
        pass
    return texts


def _count_newlines(last: str, text: str) -> int:
    """Count the line ends in a text that follows the character `last`; a return and a newline are one."""
    both = (last + text).count("\r\n")
    return text.count("\n") + text.count("\r") - both


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields of any length; its limit is global, so one thread at a time."""
    with _field_limit_lock:
        before = csv.field_size_limit(_LARGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def json_rows(stream: TextIO, request: Request) -> Iterator[Document | BadRow]:
    """Read JSON lines: one object a line; blank lines are skipped."""
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


def table_rows(stream: TextIO, request: Request, *, delimiter: str) -> Iterator[Document | BadRow]:
    """Read delimited rows below a header; the place of a row of several lines is its first."""
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
            yield BadRow(title, "lies beside the label folders, not in one of them")
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


def _check_header(header: list[str], request: Request, delimiter: str) -> None:
    """Refuse a header that lacks a column asked for, or has it twice."""
    for name, column in (("text", request.text), ("label", request.label), ("part", request.part)):
        if column is None or header.count(column) == 1 or (name == "part" and column not in header):
            continue
        found = "no column" if column not in header else f"{header.count(column)} columns"
        raise ValueError(
            f"{request.path}: {found} {column!r} in the header; the columns are {_listed(header)}. "
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


def _to_document(place: str, fields: Mapping[str, object], request: Request) -> Document | BadRow:
    """Take text, label and part out of a row's fields."""
    for column in (request.text, request.label):
        if column is not None and column not in fields:
            return BadRow(place, f"no field {column!r}; the fields are {_listed(fields)}")
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
    return _with_part(document, fields, request.part)


def _with_part(document: Document, fields: Mapping[str, object], column: str | None) -> Document | BadRow:
    if column is None or column not in fields:
        return document
    part = fields[column]
    if part == "train" or part == "test":
        return document._replace(part=str(part))
    found = reprlib.repr(part)
    ignoring = " (part=None ignores the column)" if has_argument("part") else ""
    return BadRow(document.place, f"{column!r} is {found}; expected 'train' or 'test'{ignoring}")


def _listed(names: Collection[str]) -> str:
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
