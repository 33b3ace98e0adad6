"""Labelled texts, as every reader and every built-in corpus returns them, and reading them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from treewass.compute.arguments import argument, counted_noun, has_argument
from treewass.documents.corpus_files import CorpusSource, open_source
from treewass.documents.row_checks import BadRow, Document, Request, Value, list_names, text_columns, without_repeats
from treewass.documents.text_file_rows import HEADER_ONLY

__all__ = ["BadRow", "Corpus", "read_corpus"]

_MISSING = ("nan", "null", "n/a", "#n/a", "<na>")  # how programs write that there is no value
_MOST_EXAMPLES = 5
_WRONG_LENGTH = re.compile(r"(?P<found>\d+) fields? where the header has (?P<expected>\d+)")


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
    places : tuple of str or None, default=None
        Where each document stands, such as ``"line 7"``, if it was read.
    notes : tuple of str, default=()
        What the reader found out by itself, such as an encoding, in sentences.
    bad_rows : tuple of BadRow, default=()
        Rows that were left out, each with its `place` and the `reason`.

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
    columns: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    places: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    bad_rows: tuple[BadRow, ...] = ()

    def __post_init__(self) -> None:
        for name in ("labels", "titles", "parts", "keys", "places"):
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
    source: Any,
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = "text",
    label: str | None = "label",
    part: str | None = "split",
    key: str | None = None,
    title: str | None = None,
    columns: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    skip_bad: bool = False,
    min_classes: int = 2,
    unique_keys: bool = True,
) -> Corpus:
    r"""Read labelled texts from files, a folder, a frame or a dataset.

    Documents keep the order of the source; those of a folder are sorted by path. A text may be empty. Blank
    lines are skipped, line ends of every kind and a byte order mark are understood, and a compressed file is
    unpacked while it is read.

    Parameters
    ----------
    source : path-like, sequence of path-like, frame or dataset
        A file; several files, also as a pattern such as ``"data/*.csv"``, each counted once; a folder with one
        sub-folder per label, with nothing but tables, or written by `save_to_disk` of Hugging Face; ``~`` stands for
        the home folder. Or a frame of pandas or polars, a table of Arrow, a `Dataset` of Hugging Face, or a mapping of
        splits to these.
    format : {"jsonl", "json", "csv", "tsv", "lines", "parquet", "arrow", "excel", "folder"} or None, default=None
        None takes it from the name: ``.jsonl`` and ``.ndjson`` (one JSON object per line), ``.json`` (a list of
        objects), ``.csv`` and ``.tsv`` (a header line, then rows), ``.txt`` (``"lines"``: a label, a tab and a text on
        each line, no header), each also with ``.gz`` or ``.zst``; ``.parquet``, ``.arrow``, ``.feather``, ``.xlsx``
        (the first sheet). These, and ``.zst``, need the extra ``files``. A folder is ``"folder"``: every file below a
        sub-folder is a document of that label; hidden files and folders are ignored.
    text : str, sequence of str or None, default="text"
        The column, or the field of a JSON object, that holds the text. Several columns, ``["subject", "body"]`` or
        ``"subject,body"``, are joined in this order, with a line break between those that are not empty. None reads no
        texts, only other columns.
    label : str or None, default="label"
        The column that holds the label: a string, an integer, or a truth, which becomes ``"true"`` or ``"false"``.
        None reads documents without labels: with ``"lines"`` each whole line is a text, with ``"folder"`` every file
        in or below the folder.
    part : str or None, default="split"
        The column that says ``"train"`` or ``"test"``, used where there is one. None or ``""`` ignores it.
    key : str or None, default=None
        The column that holds your own name of each document. A row without one, or with that of a row before, is bad.
    title : str or None, default=None
        The column that holds a short name to show.
    columns : sequence of str, optional
        Further columns to read. Those of a CSV table are numbers if all of their values are; an empty one is None.
        Dates become ISO texts, truths ``"true"`` and ``"false"``.
    encoding : str or None, default=None
        The encoding of the text. None finds it: by a byte order mark, then UTF-8 if it is valid, then cp1252.
    delimiter : str or None, default=None
        The character between the columns of ``"csv"`` and ``"tsv"``. None takes what finds most of the columns asked
        for in the header: a comma, a semicolon, a tab or a bar.
    skip_bad : bool, default=False
        Leave out rows that cannot be read, and list them as `bad_rows` of the corpus, instead of an error.
    min_classes : int, default=2
        The fewest distinct labels to accept.
    unique_keys : bool, default=True
        False accepts rows without a key, and keys that come again.

    Returns
    -------
    Corpus
        The documents, named after the file without its endings; a folder's have their paths as titles. Its `notes` say
        what was found out: an encoding other than UTF-8, another delimiter than usual, labels that look alike or
        missing.

    Raises
    ------
    FileNotFoundError
        If there is nothing at the path.
    ValueError
        If the format is unknown, columns are missing (the message names them all, with suggestions), rows are bad (it
        counts them and gives the places and reasons of the first five), the encoding is another one, the file is
        damaged, or there are no documents or too few classes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     size = path.write_text('text;label\n"purrs; sleeps";cat\nbarks;dog\n')
    ...     corpus = read_corpus(path)
    >>> corpus.name, corpus.texts, corpus.labels
    ('pets', ('purrs; sleeps', 'barks'), ('cat', 'dog'))
    >>> corpus.notes
    ('...pets.csv: semicolons separate the columns (delimiter names another character).',)
    """
    found = open_source(source, format=format, encoding=encoding, delimiter=delimiter)
    request = Request(text_columns(text), label, part or None, key, title, tuple(columns), unique_keys)
    found.check(request)
    collected = _Collected(request, str(found), skip_bad)
    collected.extend(without_repeats(found.rows(request), request))
    collected.check_rows(has_header=HEADER_ONLY in found.found)
    corpus = collected.to_corpus(found)
    if label is not None:
        _check_classes(corpus, str(found), min_classes)
    return corpus


@dataclass(slots=True)
class _Collected:
    """The documents read so far, and the bad rows: all of them if they are left out, otherwise the first few."""

    request: Request
    source: str
    skip_bad: bool
    documents: list[Document] = field(default_factory=list)
    bad_rows: list[BadRow] = field(default_factory=list)
    n_bad_rows: int = 0
    labels: dict[str | None, str | None] = field(default_factory=dict)  # each once, for documents that share it

    def extend(self, rows: Iterable[Document | BadRow]) -> None:
        """Take in every row."""
        for row in rows:
            if isinstance(row, Document):
                self.documents.append(row._replace(label=self.labels.setdefault(row.label, row.label)))
            else:
                self.n_bad_rows += 1
                if self.skip_bad or len(self.bad_rows) < _MOST_EXAMPLES:
                    self.bad_rows.append(row)

    def check_rows(self, *, has_header: bool) -> None:
        """Refuse bad rows, a part that only some rows have, and a source without documents."""
        n_bad_rows, examples = self.n_bad_rows, self.bad_rows[:_MOST_EXAMPLES]
        if self.skip_bad or not examples:
            without = [document.place for document in self.documents if document.part is None]
            some = 0 < len(without) < len(self.documents)
            ignoring = f" ({argument('part', '')} ignores it)" if has_argument("part") else ""
            reason = f"no field {self.request.part!r}, which other rows have{ignoring}"
            n_bad_rows = len(without) if some else 0
            examples = [BadRow(place, reason) for place in without[:_MOST_EXAMPLES]] if some else []
        if examples:
            listed = "".join(f"\n  {row.place}: {row.reason}" for row in examples)
            more = f"\n  and {n_bad_rows - len(examples)} more" if n_bad_rows > len(examples) else ""
            n_rows = len(self.documents) + self.n_bad_rows
            skipping = f", or leave them out with {argument('skip_bad')}" if has_argument("skip_bad") else ""
            raise ValueError(
                f"{self.source}: {n_bad_rows} of {n_rows} rows cannot be read:{listed}{more}\n"
                f"Correct or remove them and read again{skipping}.{self._quotes_hint(examples)}"
            )
        if not self.documents:
            reason = f"it has {HEADER_ONLY}" if has_header else "it is empty"
            if self.n_bad_rows:
                reason = f"all {self.n_bad_rows} rows are bad"
            raise ValueError(f"{self.source}: expected documents, found none: {reason}.")

    def _quotes_hint(self, examples: list[BadRow]) -> str:
        """Guess why every row of a table has too many fields."""
        lengths = [_WRONG_LENGTH.fullmatch(row.reason) for row in examples]
        are_long = all(found and int(found["found"]) > int(found["expected"]) for found in lengths)
        if self.documents or not are_long:
            return ""
        return (
            " If the texts hold the character that separates the columns, put quotes around them when you write the "
            f"file, or separate by another one ({argument('delimiter')})."
        )

    def to_corpus(self, found: CorpusSource) -> Corpus:
        """Make the corpus of the documents read."""
        read = _as_numbers if found.are_texts else tuple
        columns = list(zip(*self.documents, strict=True))
        places, texts, labels, parts, titles, keys, rows = columns
        return Corpus(
            found.name,
            texts,
            labels if self.request.label is not None else None,
            titles=titles if titles[0] is not None else None,
            parts=parts if parts[0] is not None else None,
            keys=keys if self.request.key is not None else None,
            columns={
                column: read(tuple(row[place] for row in rows)) for place, column in enumerate(self.request.columns)
            },
            places=places,
            notes=(*found.notes, *(f"{self.source}: {doubt}." for doubt in _label_doubts(Counter(labels)))),
            bad_rows=tuple(self.bad_rows),
        )


def _label_doubts(counts: Mapping[str | None, int]) -> list[str]:
    """Say which labels may be meant as one, and which as none.

    Examples
    --------
    >>> _label_doubts({"hw": 3, "HW": 1, "NaN": 2})
    ["labels differ only by case: 'HW', 'hw'", "the label 'NaN' of 2 documents looks like a missing one"]
    """
    alike: dict[str, list[str]] = {}
    for label in sorted(filter(None, counts)):
        alike.setdefault(label.casefold(), []).append(label)
    groups = [label for labels in alike.values() if len(labels) > 1 for label in labels]
    doubts = [f"labels differ only by case: {list_names(groups)}"] if groups else []
    missing = (label for name, labels in alike.items() if name in _MISSING for label in labels)
    return doubts + [
        f"the label {label!r} of {counted_noun(counts[label], 'document')} looks like a missing one"
        for label in missing
    ]


def _as_numbers(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Read a column of texts as numbers if all are; an empty text is None.

    Examples
    --------
    >>> _as_numbers(("1", "", "2.5")), _as_numbers(("1", "two"))
    ((1, None, 2.5), ('1', 'two'))
    """
    found: list[Value] = []
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


def _check_classes(corpus: Corpus, source: str, min_classes: int) -> None:
    counts = corpus.class_counts()
    if len(counts) >= min_classes:
        return
    found = ", ".join(f"{name!r} ({count} documents)" for name, count in counts.items())
    remedy = f"name another with {argument('label')}"
    if has_argument("min_classes"):
        remedy = f"min_classes={len(counts)} or label=None reads it anyway"
    raise ValueError(
        f"{source}: expected at least {min_classes} classes, found {len(counts)}: {found}. "
        f"Check the label column; {remedy}."
    )
