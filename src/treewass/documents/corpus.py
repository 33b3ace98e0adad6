"""Labelled texts, as every reader and every built-in corpus returns them, and reading them from a file or a folder."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO

from treewass.documents.arguments import argument, has_argument
from treewass.documents.corpus_rows import (
    BadRow,
    Document,
    Request,
    folder_rows,
    json_rows,
    labelled_line_rows,
    long_fields,
    table_rows,
)
from treewass.documents.opening import open_text

__all__ = ["Corpus", "read_corpus"]

_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "lines"}
_ROW_READERS: dict[str, Callable[[TextIO, Request], Iterator[Document | BadRow]]] = {
    "jsonl": json_rows,
    "csv": partial(table_rows, delimiter=","),
    "tsv": partial(table_rows, delimiter="\t"),
    "lines": labelled_line_rows,
}
_FORMATS_EXPLAINED = (
    "'jsonl' (.jsonl, .ndjson), 'csv' (.csv), 'tsv' (.tsv), 'lines' (.txt: a label, a tab and a text), "
    "each also gzipped (.gz), and 'folder' (one sub-folder per label)"
)
_MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts with their labels, in the order in which they were read.

    Parameters
    ----------
    name : str
        What the corpus is called in reports.
    texts : tuple of str
        One text per document; a text may be empty.
    labels : tuple of str or None
        One label per document, or None if the documents are not labelled.
    titles : tuple of str or None, default=None
        A short name per document, for showing results: a function's name, a file's path.
    parts : tuple of str or None, default=None
        ``"train"`` or ``"test"`` per document, if the corpus comes with a split of its own.
    keys : tuple of str or None, default=None
        The user's own name of each document.
    columns : mapping of str to tuple of str, int, float or None, optional
        Further columns that were asked for.

    Examples
    --------
    >>> corpus = Corpus("pets", ("the cat sat", "the dog ran", "a dog barked"), ("cat", "dog", "dog"))
    >>> len(corpus), corpus.classes
    (3, ('cat', 'dog'))
    >>> corpus.class_counts()
    {'cat': 1, 'dog': 2}
    """

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...] | None
    titles: tuple[str, ...] | None = None
    parts: tuple[str, ...] | None = None
    keys: tuple[str | None, ...] | None = None
    columns: Mapping[str, tuple[str | int | float | None, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("labels", "titles", "parts", "keys"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.texts):
                raise ValueError(
                    f"Expected as many {name} as texts ({len(self.texts)}), got {len(values)}. "
                    f"Pass one per text, or None for a corpus without {name}."
                )

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, {len(self)} documents, {len(self.classes)} classes)"

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted; empty for a corpus without labels."""
        return tuple(sorted(set(self.labels or ())))

    def class_counts(self) -> dict[str, int]:
        """Count the documents of each class, in the order of `classes`."""
        counts = Counter(self.labels or ())
        return {label: counts[label] for label in self.classes}


def read_corpus(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str = "text",
    label: str | None = "label",
    part: str | None = "split",
    key: str | None = None,
    columns: Sequence[str] = (),
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
        A file, or a folder with one sub-folder per label; ``~`` stands for the home folder.
    format : {"jsonl", "csv", "tsv", "lines", "folder"} or None, default=None
        None takes it from the name: ``.jsonl`` and ``.ndjson`` (one JSON object per line), ``.csv`` and
        ``.tsv`` (a header line, then rows), ``.txt`` (``"lines"``: a label, a tab and a text on each line,
        no header), each also with ``.gz``; a folder is ``"folder"``: every file below a sub-folder is a document
        of that label; hidden files and folders are ignored.
    text : str, default="text"
        The column, or the field of a JSON object, that holds the text.
    label : str or None, default="label"
        The column that holds the label: a string or an integer. None reads documents without labels: with
        ``"lines"`` each whole line is a text, with ``"folder"`` every file in or below the folder.
    part : str or None, default="split"
        The column that says ``"train"`` or ``"test"``, used where there is one. None ignores it.
    key : str or None, default=None
        The column that holds your own name of each document.
    columns : sequence of str, optional
        Further columns to read. Those of a table are numbers if all of their values are; an empty one is None.
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
        If the format is unknown, a column is missing, rows are bad (the message counts them and gives the places
        and reasons of the first five), the encoding is another one, the gzip file is broken, or there are no
        documents or too few classes.

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
    if (key is not None or columns) and format in ("lines", "folder"):
        raise ValueError(
            f"{path}: expected a table or JSON lines to read further columns from, but this is {format!r}."
        )
    request = Request(path, text, label, part, key, tuple(columns))
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
    name = path.resolve().name if format == "folder" else _without_endings(path)
    corpus = collected.to_corpus(name, is_table=format in ("csv", "tsv"))
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
    keys: list[str | None] = field(default_factory=list)
    rows: list[tuple[str | int | float | None, ...]] = field(default_factory=list)
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
        self.keys.append(document.key)
        self.rows.append(document.columns)
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

    def to_corpus(self, name: str, *, is_table: bool) -> Corpus:
        """Make the corpus of the documents read."""
        labelled = self.request.label is not None
        read = _as_numbers if is_table else tuple
        return Corpus(
            name,
            tuple(self.texts),
            tuple(self.labels) if labelled else None,
            titles=tuple(self.titles) or None,
            parts=tuple(self.parts) or None,
            keys=tuple(self.keys) if self.request.key is not None else None,
            columns={
                column: read(tuple(row[place] for row in self.rows))
                for place, column in enumerate(self.request.columns)
            },
        )


def _as_numbers(values: tuple[str | int | float | None, ...]) -> tuple[str | int | float | None, ...]:
    """Read a column of texts as numbers if all are; an empty text is None.

    Examples
    --------
    >>> _as_numbers(("1", "", "2.5")), _as_numbers(("1", "two"))
    ((1, None, 2.5), ('1', 'two'))
    """
    found: list[str | int | float | None] = []
    for value in values:
        if not isinstance(value, str) or not value.strip():
            found.append(None if isinstance(value, str) else value)
        elif re.fullmatch(r"\s*[+-]?(0|[1-9]\d{0,17})\s*", value):
            found.append(int(value))
        elif re.fullmatch(r"\s*[+-]?((0|[1-9]\d*)\.\d*|\.\d+)([eE][+-]?\d{1,2})?\s*", value):
            found.append(float(value))
        else:
            return tuple(None if other == "" else other for other in values)
    return tuple(found)


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
            f"or {argument('format', 'folder')} for one sub-folder per label."
        )
    if format == "folder":
        raise ValueError(
            f"{path} is a file, but {argument('format', format)} reads a folder. "
            f"Leave {argument('format')} out: it is taken from the name."
        )
    ending = Path(_without_gzip(path)).suffix.lower()
    if format is None and ending == ".json":
        raise ValueError(
            f"{path}: a .json file may be one JSON object per line, which {argument('format', 'jsonl')} reads, or one "
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
