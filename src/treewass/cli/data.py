"""Texts on the command line: the options that say how to read them, reading, and what is said about it."""

from __future__ import annotations

import csv
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.cli.columns import Columns, as_learned
from treewass.cli.shared import say_note
from treewass.compute.arguments import counted_noun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treewass.documents.corpus import BadRow, Corpus

__all__ = [
    "BadRows",
    "DataFiles",
    "DataFormat",
    "Defuse",
    "Delimiter",
    "Encoding",
    "IdColumn",
    "KeptColumns",
    "LabelColumn",
    "NoLabels",
    "SkipBad",
    "SplitColumn",
    "TextColumn",
    "TitleColumn",
    "empty_texts_said",
    "read_data",
    "read_labelled",
    "refuse_data",
]

DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Texts: .csv, .tsv, .jsonl, .json, .txt (also .gz, .zst), .parquet, .arrow, .feather, .xlsx; several "
        "files, a pattern, a folder, or - for JSON lines on standard input.",
    ),
]
TextColumn = Annotated[
    str,
    typer.Option("--text", metavar="COLUMN", help="Column of the texts; several, such as subject,body, are joined."),
]
LabelColumn = Annotated[str, typer.Option("--label", metavar="COLUMN", help="Column of the labels.")]
NoLabels = Annotated[bool, typer.Option("--no-labels", help="Read texts alone: they have no labels.")]
IdColumn = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Column of your own names of the documents.")
]
TitleColumn = Annotated[str | None, typer.Option("--title", metavar="COLUMN", help="Column of short names to show.")]
KeptColumns = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COLUMNS", help="Columns to keep, to show and to filter by: a,b. May be repeated."),
]
SplitColumn = Annotated[
    str,
    typer.Option(
        "--split", metavar="COLUMN", help="Column that says train or test, where there is one; '' ignores it."
    ),
]
DataFormat = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, jsonl, json, lines, parquet, arrow, excel or folder; by default the name tells."
    ),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of the texts; by default found, and said if not UTF-8.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="Character between columns; by default found. \\t is a tab.",
        callback=lambda delimiter: "\t" if delimiter == "\\t" else delimiter,
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out bad rows, and list them in a file.")]
Defuse = Annotated[
    bool, typer.Option("--defuse", help="Put ' before cells of a CSV file that a spreadsheet would run: = + - @.")
]
BadRows = Annotated[str, typer.Option("--bad-rows", metavar="FILE", help="Where --skip-bad lists them.")]
_LABEL_MISSING = "the label is (empty|null)|no tab between a label and a text|lies next to the label folders"


def read_data(
    data: list[str],
    *,
    columns: list[str] | None = None,
    bad_rows: str = "bad-rows.csv",
    remembered: Columns | None = None,
    **settings: Any,
) -> Corpus:
    """Read a corpus from files, a folder or, for ``-``, from standard input, and say what was found out.

    As in `read_corpus`; standard input is JSON lines unless `format` says otherwise. Rows that were left out are listed
    in the file `bad_rows`. The columns that a model remembers are taken where the data has them.
    """
    from treewass.documents.corpus import read_corpus

    if settings.get("skip_bad"):
        refuse_data(bad_rows, data, "--bad-rows")
    settings["columns"] = [name.strip() for names in columns or () for name in names.split(",") if name.strip()]
    if data == ["-"]:
        corpus = _of_standard_input(settings, remembered or {})
    else:
        corpus = read_corpus(data, **as_learned(data, settings, remembered or {}))
    for note in corpus.notes:
        say_note(note)
    if corpus.bad_rows:
        _write_bad_rows(Path(bad_rows).expanduser(), corpus.bad_rows)
        say_note(f"{counted_noun(len(corpus.bad_rows), 'bad row')} left out; {bad_rows} lists them.")
    return corpus


def read_labelled(data: list[str], *, label: str, no_labels: bool, **settings: Any) -> Corpus:
    """Read a corpus with its labels, or without if there are none; an error says how to do without."""
    if no_labels and label != "label":
        raise typer.BadParameter(f"expected either --label {label} or --no-labels, got both.", param_hint="--no-labels")
    remembered = settings.get("remembered") or {}
    if no_labels:
        remembered.pop("label", None)
    try:
        return read_data(data, label=None if no_labels else label, **settings)
    except ValueError as error:
        names = "|".join(re.escape(repr(name)) for name in (label, remembered.get("label")))
        if no_labels or not re.search(f"no (column|field) ({names})|{_LABEL_MISSING}", str(error)):
            raise
        raise ValueError(f"{error} If the texts have no labels, read them without: --no-labels.") from error


def refuse_data(output: str | Path, data: list[str], option: str) -> None:
    """Refuse to write to a file that is read."""
    from treewass.documents.corpus_files import find_paths

    target = Path(output).expanduser().resolve()
    sources = (path.resolve() for name in data for path in find_paths(name)) if target.is_file() else ()
    for source in sources:
        if target == source or (source.is_dir() and source in target.parents):
            raise typer.BadParameter(f"expected another file than the data, got {str(output)!r}.", param_hint=option)


@contextmanager
def empty_texts_said(corpus: Corpus, consequence: str, rows: NDArray[np.intp] | None = None) -> Iterator[None]:
    """Warn once about texts without a word, with their places in the data, and let nobody else warn about them.

    They are those of `rows`, or those that hold no word at all. They are said in the end, not before an error.
    """
    import numpy as np

    from treewass.documents.histograms import EmptyDocumentWarning, warn_about_empty_rows

    has_word = re.compile(r"\w").search
    if rows is None:
        rows = np.array([row for row, text in enumerate(corpus.texts) if not has_word(text)], dtype=np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        yield
    warn_about_empty_rows(rows, consequence, corpus.places)


def _of_standard_input(settings: dict[str, Any], remembered: Columns) -> Corpus:
    from treewass.documents.corpus import read_corpus

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "standard input")
        path.write_bytes(sys.stdin.buffer.read())
        try:
            lines = {**settings, "format": settings["format"] or "jsonl"}
            return read_corpus(path, **as_learned(path, lines, remembered))
        except ValueError as error:
            hint = "" if settings["format"] else " Standard input is read as JSON lines unless --format says otherwise."
            raise ValueError(str(error).replace(str(path), path.name) + hint) from error


def _write_bad_rows(path: Path, rows: tuple[BadRow, ...]) -> None:
    from treewass.storage.folders import replacing

    with replacing(path) as new, new.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("place", "reason"), *rows])
