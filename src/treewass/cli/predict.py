"""``treewass predict``: labels for texts."""

from __future__ import annotations

import csv
import glob
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.cli.columns import Columns, as_learned, remembered_columns
from treewass.cli.data import (
    BadRows,
    DataFiles,
    DataFormat,
    Defuse,
    Delimiter,
    Encoding,
    IdColumn,
    KeptColumns,
    SkipBad,
    SplitColumn,
    TextColumn,
    TitleColumn,
    read_data,
    refuse_data,
)
from treewass.cli.partitions import Scheduler, Workers, predict_in_parts
from treewass.cli.shared import AsJson, ModelFolder, load_model, print_json, print_rows
from treewass.compute.arguments import counted_noun
from treewass.compute.progress import in_blocks

if TYPE_CHECKING:
    from treewass.documents.corpus import Corpus
    from treewass.model.contents import Contents

__all__ = ["predict_command"]

_BLOCK = 1000
_SHOWN = 200  # characters of a text in a file

Record = dict[str, Any]


def predict_command(
    context: typer.Context,
    model: ModelFolder,
    data: DataFiles,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER/",
            help="A .csv or .jsonl file to write, instead of printing; or a folder, for a Parquet file of each file.",
        ),
    ] = None,
    text: TextColumn = "text",
    label: Annotated[
        str | None,
        typer.Option(
            "--label", metavar="COLUMN", help="Column of the true labels, to print the error on standard error."
        ),
    ] = None,
    key: IdColumn = None,
    title: TitleColumn = None,
    columns: KeptColumns = None,
    part: SplitColumn = "split",
    format: DataFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    bad_rows: BadRows = "bad-rows.csv",
    defuse: Defuse = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Predict the labels of texts: label, probability and the beginning of the text, with tabs between them.

    A file has a line for each text, in their order, with its row, counted from 0, its place in the data, and the id,
    the title and the columns that you name. In the column `known`, false says that the model knows no word of the text.

    If the output is a folder, data is read file by file, and each file gets a Parquet file with the columns label and
    probability, in the order of its rows.
    """
    import numpy as np

    from treewass.documents.histograms import warn_about_empty_rows
    from treewass.model.inference import UNKNOWN_TEXTS, class_probabilities, count_texts

    if workers or scheduler or _is_folder(output) or any("://" in source for source in data):
        reading: Columns = {"text": text, "key": key, "format": format, "encoding": encoding, "delimiter": delimiter}
        if not any("://" in source for source in data):
            reading = as_learned(data, reading, remembered_columns(model, context, ["text", "key"]))
        predict_in_parts(
            model,
            data,
            output,
            workers=workers,
            scheduler=scheduler,
            unused={"--title": title, "--keep": columns, "--skip-bad": skip_bad, "--defuse": defuse, "--json": as_json},
            label=label,
            part=None,
            **reading,
        )
        return
    if output is not None:
        refuse_data(output, data, "-o")
        _check_output(Path(output).expanduser())
    _refuse_text(model, data)
    corpus = read_data(
        data,
        text=text,
        label=label,
        key=key,
        title=title,
        columns=columns,
        part=part,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        skip_bad=skip_bad,
        bad_rows=bad_rows,
        min_classes=1,
        unique_keys=False,
        remembered=remembered_columns(model, context, ["text", "key", "title", "columns"]),
    )
    held = load_model(model).contents_
    best: list[int] = []
    unknown: list[int] = []
    with _writer(output, as_json, defuse) as write:
        for block in in_blocks(len(corpus), _BLOCK, "predicting"):
            counted = count_texts(held, corpus.texts[block])
            probabilities = class_probabilities(counted)
            without_words = set(counted.unknown.tolist())
            unknown += [row + block.start for row in without_words]
            best += probabilities.argmax(axis=1).tolist()
            for row in range(block.start, block.stop):
                is_known = row - block.start not in without_words
                write(_record(corpus, row, held, best[row], probabilities[row - block.start].tolist(), is_known))
    warn_about_empty_rows(np.array(unknown, dtype=np.intp), UNKNOWN_TEXTS, corpus.places)
    if output is not None:
        typer.echo(f"{counted_noun(len(corpus), 'label')} written to {output}.", err=True)
    if corpus.labels is not None:
        wrong = sum(str(held.classes[code]) != truth for code, truth in zip(best, corpus.labels, strict=True))
        typer.echo(f"{wrong} of {len(corpus)} wrong: error {100 * wrong / len(corpus):.1f} %", err=True)
        _say_what_was_learned(held, corpus.texts)


def _is_folder(output: str | None) -> bool:
    """Tell whether the output is meant to be a folder: one that is there, or a name that ends with a slash."""
    return output is not None and (output.endswith("/") or "://" in output or Path(output).expanduser().is_dir())


def _refuse_text(model: str, data: list[str]) -> None:
    """Refuse a text where a file is expected, and say how to label it."""
    for source in data:
        if " " in source.strip() and not glob.has_magic(source) and not Path(source).expanduser().exists():
            shown = f"{source[:40]}…" if len(source) > 40 else source
            raise FileNotFoundError(
                f"There is no file {shown!r}. To label one text, run: treewass explain {model} {shlex.quote(shown)}"
            )


def _check_output(path: Path) -> None:
    from treewass.storage.folders import check_folder

    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise typer.BadParameter(f"expected a name that ends with .csv or .jsonl, got {path.name}.", param_hint="-o")
    check_folder(path)


def _record(corpus: Corpus, row: int, held: Contents, code: int, shares: list[float], is_known: bool) -> Record:
    """Say everything about one prediction."""
    record: Record = {"row": row, "place": (corpus.places or ())[row]}
    for name, values in (("id", corpus.keys), ("title", corpus.titles)):
        if values is not None:
            record[name] = values[row]
    record |= {"label": held.classes[code], "probability": round(shares[code], 6), "known": is_known}
    if corpus.labels is not None:
        record["true_label"] = corpus.labels[row]
    record |= {name: values[row] for name, values in corpus.columns.items() if name not in record}
    names = (str(name) for name in held.classes)
    return {
        **record,
        "text": corpus.texts[row],
        "probabilities": {name: round(share, 6) for name, share in zip(names, shares, strict=True)},
    }


@contextmanager
def _writer(output: str | None, as_json: bool, defuse: bool) -> Iterator[Callable[[Record], None]]:
    """Give a function that writes a record: to a file, as JSON, or as a line for people."""
    from treewass.documents.texts import defused, excerpt
    from treewass.storage.folders import replacing

    if output is None:
        if as_json:
            yield lambda record: print_json({name: value for name, value in record.items() if name != "text"})
        else:
            yield lambda record: print_rows(
                [(record["label"], f"{record['probability']:.3f}", excerpt(record["text"]))]
            )
        return
    target = Path(output).expanduser()
    with replacing(target) as new, new.open("w", encoding="utf-8", newline="") as stream:
        if target.suffix.lower() == ".jsonl":

            def write_line(record: Record) -> None:
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")

            yield write_line
            return
        table = csv.writer(stream)
        is_first = True

        def write(record: Record) -> None:
            nonlocal is_first
            cells = {name: value for name, value in record.items() if name != "probabilities"}
            cells["text"] = excerpt(record["text"], _SHOWN)
            if is_first:
                table.writerow(cells)
                is_first = False
            cells["known"] = "true" if record["known"] else "false"
            table.writerow([defused(cell) if defuse else cell for cell in cells.values()])

        yield write


def _say_what_was_learned(held: Contents, texts: Sequence[str]) -> None:
    """Say how many texts are documents of the model, on which an error tells little; unknown where it keeps none."""
    own = set(texts).intersection(held.documents.texts or ())
    n_own = sum(text in own for text in texts)
    if n_own:
        typer.echo(
            f"treewass: note: {n_own} of these {len(texts)} texts are documents of the model, which find themselves: "
            "the error on new texts may be higher.",
            err=True,
        )
