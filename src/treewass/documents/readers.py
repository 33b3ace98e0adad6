"""Reading a corpus of labelled texts from a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO

from treewass.argument_names import argument, has_argument
from treewass.documents.corpus import Corpus
from treewass.documents.formats import (
    BadRow,
    Document,
    Request,
    folder_rows,
    json_rows,
    labelled_line_rows,
    long_fields,
    open_text,
    table_rows,
)

__all__ = ["read_corpus"]

_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "lines"}
_ROW_READERS: dict[str, Callable[[TextIO, Request], Iterator[Document | BadRow]]] = {
    "jsonl": json_rows,
    "csv": partial(table_rows, delimiter=","),
    "tsv": partial(table_rows, delimiter="\t"),
    "lines": labelled_line_rows,
}
_FORMATS_EXPLAINED = (
    "'jsonl' (.jsonl, .ndjson), 'csv' (.csv), 'tsv' (.tsv), 'lines' (.txt: a label, a tab and a text), "
    "each also gzipped (.gz), and 'folder' (one sub-folder a label)"
)
_MOST_EXAMPLES = 5


def read_corpus(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str = "text",
    label: str | None = "label",
    part: str | None = "split",
    encoding: str = "utf-8",
    min_classes: int = 2,
) -> Corpus:
    r"""Read labelled texts from a file or a folder.

    Documents keep the order of the file; those of a folder are sorted by path. A text may be empty. Blank
    lines are skipped, line ends of every kind and a byte order mark are understood, and a gzipped file is
    unpacked while it is read.

    Parameters
    ----------
    path : str or path-like
        A file, or a folder with one sub-folder a label; ``~`` stands for the home folder.
    format : {"jsonl", "csv", "tsv", "lines", "folder"} or None, default=None
        None takes it from the name: ``.jsonl`` and ``.ndjson`` (one JSON object a line), ``.csv`` and
        ``.tsv`` (a header line, then rows), ``.txt`` (``"lines"``: a label, a tab and a text a line, no
        header), each also with ``.gz``; a folder is ``"folder"``: every file below a sub-folder is a document
        of that label; hidden files and folders are ignored.
    text : str, default="text"
        The column, or the field of a JSON object, that holds the text.
    label : str or None, default="label"
        The column that holds the label: a string or an integer. None reads documents without labels: with
        ``"lines"`` each whole line is a text, with ``"folder"`` every file in or below the folder.
    part : str or None, default="split"
        The column that says ``"train"`` or ``"test"``, used where there is one. None ignores it.
    encoding : str, default="utf-8"
        The encoding of the text.
    min_classes : int, default=2
        The fewest distinct labels to accept.

    Returns
    -------
    Corpus
        The documents, named after the file without its endings; a folder's have their paths as titles.

    Raises
    ------
    FileNotFoundError
        If there is nothing at the path.
    ValueError
        If the format cannot be told, a column is missing, rows are bad (the message counts them and gives the
        places and reasons of the first five), the encoding is another one, the gzip file is broken, or there
        are no documents or too few classes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     size = path.write_text('text,label\n"purrs, sleeps",cat\nbarks,dog\n')
    ...     corpus = read_corpus(path)
    >>> corpus.name, corpus.texts, corpus.labels
    ('pets', ('purrs, sleeps', 'barks'), ('cat', 'dog'))
    """
    if not isinstance(text, str):
        raise TypeError(f"Expected text to name a column, got {type(text).__name__}.")
    path = Path(path).expanduser()
    format = _resolve_format(path, format)
    request = Request(path, text, label, part)
    collected = _Collected(request)
    if format == "folder":
        collected.extend(folder_rows(path, encoding, labelled=label is not None))
    else:
        table = format in ("csv", "tsv")
        with (
            open_text(path, encoding, newline="" if table else None) as stream,
            long_fields() if table else nullcontext(),
        ):
            collected.extend(_ROW_READERS[format](stream, request))
    collected.check_rows()
    corpus = collected.to_corpus(path.resolve().name if format == "folder" else _without_endings(path))
    if label is not None:
        _check_classes(corpus, path, min_classes)
    return corpus


@dataclass(slots=True)
class _Collected:
    """The documents read so far, and the first few of the bad rows."""

    request: Request
    texts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    bad_rows: list[BadRow] = field(default_factory=list)
    n_bad_rows: int = 0
    without_part: list[BadRow] = field(default_factory=list)

    def extend(self, rows: Iterable[Document | BadRow]) -> None:
        """Take in every row."""
        for row in rows:
            if isinstance(row, Document):
                self._add(row)
            else:
                self.n_bad_rows += 1
                if len(self.bad_rows) < _MOST_EXAMPLES:
                    self.bad_rows.append(row)

    def _add(self, document: Document) -> None:
        self.texts.append(document.text)
        if document.label is not None:
            self.labels.append(document.label)
        if document.title is not None:
            self.titles.append(document.title)
        if document.part is not None:
            self.parts.append(document.part)
        elif len(self.without_part) < _MOST_EXAMPLES:
            ignoring = " (part=None ignores it)" if has_argument("part") else ""
            reason = f"no field {self.request.part!r}, which other rows have{ignoring}"
            self.without_part.append(BadRow(document.place, reason))

    def check_rows(self) -> None:
        """Refuse bad rows, a part that only some rows have, and a source without documents."""
        n_bad_rows, examples = self.n_bad_rows, self.bad_rows
        if not examples and 0 < len(self.parts) < len(self.texts):
            n_bad_rows, examples = len(self.texts) - len(self.parts), self.without_part
        if examples:
            listed = "".join(f"\n  {row.place}: {row.reason}" for row in examples)
            more = f"\n  and {n_bad_rows - len(examples)} more" if n_bad_rows > len(examples) else ""
            n_rows = len(self.texts) + self.n_bad_rows
            raise ValueError(
                f"{self.request.path}: {n_bad_rows} of {n_rows} rows cannot be read:{listed}{more}\n"
                "Correct or remove them and read again."
            )
        if not self.texts:
            raise ValueError(f"{self.request.path}: expected documents, found none: it is empty.")

    def to_corpus(self, name: str) -> Corpus:
        """Make the corpus of the documents read."""
        labelled = self.request.label is not None
        return Corpus(
            name,
            tuple(self.texts),
            tuple(self.labels) if labelled else None,
            titles=tuple(self.titles) or None,
            parts=tuple(self.parts) or None,
        )


def _resolve_format(path: Path, format: str | None) -> str:
    """Check that the path and the format fit together; take the format from the name where it is None."""
    if format is not None and format != "folder" and format not in _ROW_READERS:
        raise ValueError(f"Expected {argument('format')} to be one of {_FORMATS_EXPLAINED}, got {format!r}.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}; check the path.")
    if path.is_dir():
        if format in (None, "folder"):
            return "folder"
        raise ValueError(
            f"{path} is a folder, but {argument('format', format)} reads a file. Pass the path of a file, "
            f"or {argument('format', 'folder')} for one sub-folder a label."
        )
    if format == "folder":
        raise ValueError(
            f"{path} is a file, but {argument('format', format)} reads a folder. "
            f"Leave {argument('format')} out: the name tells it."
        )
    ending = Path(_without_gzip(path)).suffix.lower()
    if format is None and ending == ".json":
        raise ValueError(
            f"{path}: a .json file may be one JSON object a line, which {argument('format', 'jsonl')} reads, or one "
            "list of objects, which must be written as lines first."
        )
    if format is None and ending not in _ENDINGS:
        raise ValueError(
            f"{path}: the ending {ending!r} names no known format. Pass {argument('format')} as one of "
            f"{_FORMATS_EXPLAINED}."
        )
    return format or _ENDINGS[ending]


def _without_gzip(path: Path) -> str:
    return path.stem if path.suffix.lower() == ".gz" else path.name


def _without_endings(path: Path) -> str:
    return Path(_without_gzip(path)).stem


def _check_classes(corpus: Corpus, path: Path, min_classes: int) -> None:
    counts = corpus.class_counts()
    if len(counts) >= min_classes:
        return
    found = ", ".join(f"{name!r} ({count} documents)" for name, count in counts.items())
    remedy = f"name another with {argument('label')}"
    if has_argument("min_classes"):
        remedy = f"min_classes={len(counts)} or label=None reads it anyway"
    raise ValueError(
        f"{path}: expected at least {min_classes} classes, found {len(counts)}: {found}. "
        f"Check the label column; {remedy}."
    )
