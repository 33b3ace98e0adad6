"""Which files a corpus is read from, and how each is read: names, formats and rows."""

from __future__ import annotations

import codecs
import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewass.compute.arguments import argument
from treewass.documents.file_opening import COMPRESSED, find_encoding, open_text
from treewass.documents.row_checks import BadRow, Document, NamesFoundError, Request
from treewass.documents.table_file_rows import (
    arrow_rows,
    dataset_folder_rows,
    excel_rows,
    is_dataset_folder,
    is_table,
    object_rows,
    parquet_rows,
)
from treewass.documents.text_file_rows import (
    folder_rows,
    json_list_rows,
    json_rows,
    labelled_line_rows,
    table_rows,
)

__all__ = ["CorpusSource", "Remarks", "column_names", "find_paths", "open_source", "remark_sentences"]

Remarks = dict[str, list[str]]  # what was found out, each with the files that it is about

_ENDINGS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".txt": "lines",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".xlsx": "excel", ".xlsm": "excel",
}  # fmt: skip
_TEXTS = {"jsonl": json_rows, "json": json_list_rows, "lines": labelled_line_rows}
_TABLES = {"csv": ",", "tsv": "\t"}  # with what usually separates the columns
_COLUMNS = {"parquet": parquet_rows, "arrow": arrow_rows, "excel": excel_rows}
_FORMATS = (*_TEXTS, *_TABLES, *_COLUMNS, "folder")
_NO_TEXT = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".xls", ".ods")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "excel"}
_START = 512  # bytes that tell what a file is
_MOST_NAMES = 3  # of files, in a message
_FORMATS_EXPLAINED = (
    "'jsonl' (.jsonl, .ndjson), 'json' (.json: a list of objects), 'csv' (.csv), 'tsv' (.tsv), 'lines' (.txt: a label, "
    "a tab and a text), each also compressed (.gz, .zst), 'parquet' (.parquet), 'arrow' (.arrow, .feather), 'excel' "
    "(.xlsx), and 'folder' (one sub-folder per label)"
)


@dataclass(slots=True)
class CorpusSource:
    """Where the documents of a corpus come from: files, a folder of texts, or an object with columns.

    `rows` reads them one at a time, as often as it is called; `notes` tells what was found out on the way.
    """

    name: str
    parts: list[tuple[Any, str]]  # each with its format
    encoding: str | None = None
    delimiter: str | None = None
    found: Remarks = field(default_factory=dict)

    def check(self, request: Request) -> None:
        """Refuse to read further columns from files that have none, and labels from a folder of tables and others."""
        plain = [format for _, format in self.parts if format in ("lines", "folder")]
        if plain and (request.key is not None or request.title is not None or request.columns):
            raise ValueError(
                f"{self}: expected a table or JSON lines to read further columns from, but this is {plain[0]!r}."
            )
        if request.label is not None and self.parts[0][1] == "folder":
            _refuse_mixed(self.parts[0][0])

    def rows(self, request: Request) -> Iterator[Document | BadRow]:
        """Read the rows; where there are several files, a row's place begins with the file's name."""
        self.found.clear()
        for source, format in self.parts:
            for row in self._rows(source, format, request):
                yield row if len(self.parts) == 1 else row._replace(place=f"{source.name}, {row.place}")

    def _rows(self, source: Any, format: str, request: Request) -> Iterator[Document | BadRow]:
        if format == "object":
            yield from object_rows(source, request)
        elif format == "dataset":
            yield from dataset_folder_rows(source, request)
        elif format == "folder":
            yield from folder_rows(source, self._read, labelled=request.label is not None)
        elif format in _COLUMNS:
            yield from _COLUMNS[format](source, request)
        else:
            yield from self._text_rows(source, format, request)

    def _text_rows(self, path: Path, format: str, request: Request) -> Iterator[Document | BadRow]:
        in_table, encoding = format in _TABLES, self._encoding(path)
        # Wrong bytes in UTF-8 that was found, not given, make bad rows. A pipe may be of another encoding altogether.
        is_damaged_at_most = self.encoding is None and encoding.startswith("utf-8") and path.is_file()
        errors = "surrogateescape" if is_damaged_at_most else "strict"
        with open_text(path, encoding, newline="" if in_table else None, errors=errors) as stream:
            if not in_table:
                yield from _TEXTS[format](stream, path, request)
                return
            yield from table_rows(
                stream,
                path,
                request,
                delimiter=self.delimiter,
                usual=_TABLES[format],
                note=lambda remark: self._note(path, remark),
            )

    def _read(self, path: Path) -> str:
        with open_text(path, self._encoding(path)) as stream:
            return stream.read()

    def _encoding(self, path: Path) -> str:
        """Return the encoding given, or the one found, which is said where it is not UTF-8."""
        if self.encoding is not None:
            return self.encoding
        found = find_encoding(path)
        if not found.startswith("utf-8"):
            reason = "since it is not valid UTF-8" if found == "cp1252" else "by its first bytes"
            self._note(path, f"read as {found}, {reason} ({argument('encoding')} names another encoding)")
        return found

    def _note(self, path: Path, remark: str) -> None:
        self.found.setdefault(remark, []).append(str(path))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out while the rows were read, a sentence for each remark."""
        return remark_sentences(self.found)

    @property
    def are_texts(self) -> bool:
        """Whether values come as texts, so that those that are numbers must be read as such."""
        return any(format in _TABLES for _, format in self.parts)

    def __str__(self) -> str:
        shown, format = self.parts[0]
        first = f"The {type(shown).__name__}" if format == "object" else str(shown)
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"


def remark_sentences(remarks: Remarks) -> tuple[str, ...]:
    """Say what was found out about files, a sentence for each remark.

    Examples
    --------
    >>> remark_sentences({"read as cp1252": ["a.csv", "b.csv"]})
    ('2 files, such as a.csv: read as cp1252.',)
    """
    return tuple(
        f"{files[0]}: {remark}." if len(files) == 1 else f"{len(files)} files, such as {files[0]}: {remark}."
        for remark, files in remarks.items()
    )


def open_source(
    source: Any, *, format: str | None = None, encoding: str | None = None, delimiter: str | None = None
) -> CorpusSource:
    """Find the files of a source and the format of each; parameters as in `read_corpus`.

    Examples
    --------
    >>> open_source({"train": {"columns": ()}})
    Traceback (most recent call last):
        ...
    TypeError: Expected a path, several paths, a frame or a dataset to read documents from, got dict.
    """
    if format is not None and format not in _FORMATS:
        raise ValueError(f"Expected {argument('format')} to be one of {_FORMATS_EXPLAINED}, got {format!r}.")
    if is_table(source):
        return CorpusSource(type(source).__name__, [(source, "object")], encoding, delimiter)
    if isinstance(source, str | os.PathLike):
        paths = find_paths(source)
    elif isinstance(source, Iterable) and not isinstance(source, bytes | dict):
        found: dict[Path, Path] = {}
        for path in (path for each in source for path in find_paths(each)):
            found.setdefault(path.resolve(), path)  # one that is given again counts once
        paths = list(found.values())
    else:
        raise TypeError(
            f"Expected a path, several paths, a frame or a dataset to read documents from, got {type(source).__name__}."
        )
    if not paths:
        raise ValueError("Expected paths of files to read documents from, got none.")
    parts = [(path, _resolve_format(path, format)) for path in paths]
    if len(parts) > 1 and any(kind in ("folder", "dataset") for _, kind in parts):
        raise ValueError("Expected several files, or one folder, but a folder is among several. Read it by itself.")
    first, kind = parts[0]
    if kind == "folder" and format is None and (files := _data_files(first)):
        parts = [(path, _resolve_format(path, None)) for path in files]
    name = first.resolve().name if kind in ("folder", "dataset") else _without_endings(first)
    return CorpusSource(name, parts, encoding, delimiter)


def column_names(
    source: Any,
    request: Request,
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> frozenset[str]:
    """Find the columns of the first file of a source; none where it has none, or can be read only once.

    A header is separated by what finds most of the columns of the request.
    """
    found = open_source(source, format=format, encoding=encoding, delimiter=delimiter)
    first, kind = found.parts[0]
    if kind in ("lines", "folder") or not (first.is_file() or first.is_dir()):
        return frozenset()
    found.parts = [(first, kind)]
    try:
        for _ in found.rows(request._replace(only_names=True)):
            pass
    except NamesFoundError as known:
        return known.names
    return frozenset()


def find_paths(source: Any) -> list[Path]:
    """Return a path, or those that a pattern such as ``data/*.csv`` matches, sorted."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"Expected paths of files, got {type(source).__name__} among them.")
    path = Path(source).expanduser()
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207 - an absolute pattern
    if not found:
        raise FileNotFoundError(f"There is no file that {path} matches; check the pattern.")
    return found


def _data_files(folder: Path) -> list[Path]:
    """Return the files of a folder that holds tables only, such as ``part-0.parquet``; otherwise nothing."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    return entries if all(entry.is_file() and _is_named_table(entry) for entry in entries) else []


def _is_named_table(path: Path) -> bool:
    return _ENDINGS.get(_ending(path), "lines") != "lines"


def _refuse_mixed(folder: Path) -> None:
    """Refuse a folder that holds tables and other files, and no folder for a label."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    tables = [entry.name for entry in entries if _is_named_table(entry)]
    others = [entry.name for entry in entries if not _is_named_table(entry)]
    if tables and others and not any(entry.is_dir() for entry in entries):
        listed = ", ".join(others[:_MOST_NAMES]) + (", …" if len(others) > _MOST_NAMES else "")
        are = "is no table" if len(others) == 1 else "are no tables"
        raise ValueError(
            f"{folder}: expected nothing but tables, or a folder for each label, but {listed} {are}. Name the tables, "
            f"such as {folder / ('*' + Path(tables[0]).suffix)}, or move the rest away."
        )


def _resolve_format(path: Path, format: str | None) -> str:
    """Check that the path and the format fit together; take the format from the name where it is None."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}; check the path.")
    if path.is_dir():
        if format is None and is_dataset_folder(path):
            return "dataset"
        if format in (None, "folder"):
            return "folder"
        raise ValueError(
            f"{path} is a folder, but {argument('format', format)} reads a file. Pass the path of a file, "
            f"or {argument('format', 'folder')} for one sub-folder per label."
        )
    if format == "folder":
        raise ValueError(
            f"{path} is a file, but {argument('format', format)} reads a folder. "
            f"Leave {argument('format')} out: it is taken from the name."
        )
    ending = _ending(path)
    if format is None and ending in _NO_TEXT:
        raise ValueError(
            f"{path}: expected text or a table, but {ending} is the ending of files that are neither. Save it as text, "
            "in a folder named as its label, or as a table, such as CSV."
        )
    if format is None and ending not in _ENDINGS:
        raise ValueError(
            f"{path}: the ending {ending!r} names no known format. Pass {argument('format')} as one of "
            f"{_FORMATS_EXPLAINED}."
        )
    found = format or _ENDINGS[ending]
    _refuse_disguised(path, found)
    return found


def _refuse_disguised(path: Path, format: str) -> None:
    """Refuse a file of columns under the name of another, such as a workbook that was named ``.csv``, and text so."""
    if not path.is_file():
        return
    with path.open("rb") as raw:
        start = raw.read(_START)
    inside = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    expected = f"a file of the format {format}" if format in _COLUMNS else "text"
    if inside is not None and inside != format:
        what = "a zip archive or an Excel workbook" if inside == "excel" else f"a file of the format {inside}"
        raise ValueError(
            f"{path}: expected {expected}, but this is {what}. Pass {argument('format', inside)} if it is one."
        )
    if inside is None and format in _COLUMNS and _is_text(start):
        raise ValueError(
            f"{path}: expected {expected}, but this looks like text. Rename it, or pass {argument('format', 'csv')} if "
            "it is a table."
        )


def _is_text(start: bytes) -> bool:
    """Tell whether a file may be text, by its first bytes."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return bool(start) and b"\0" not in start


def _without_compression(path: Path) -> Path:
    return Path(path.stem) if path.suffix.lower() in COMPRESSED else Path(path.name)


def _ending(path: Path) -> str:
    return _without_compression(path).suffix.lower()


def _without_endings(path: Path) -> str:
    return _without_compression(path).stem
