"""``treewass compare``: the methods of this library on one's own labelled texts."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.data import (
    BadRows,
    DataFiles,
    DataFormat,
    Delimiter,
    Encoding,
    LabelColumn,
    SkipBad,
    TextColumn,
    read_data,
    refuse_data,
)
from treewass.cli.shared import AsJson, print_json, terminal
from treewass.compute.progress import show_progress

__all__ = ["compare_command"]


def compare_command(
    data: DataFiles,
    methods: Annotated[
        str | None,
        typer.Option(help="Names of methods, with commas, or all; by default some that need no word vectors."),
    ] = None,
    text: TextColumn = "text",
    label: LabelColumn = "label",
    format: DataFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    bad_rows: BadRows = "bad-rows.csv",
    vectors: Annotated[
        str | None, typer.Option(metavar="FILE|minilm", help="Word vectors, for the methods that need them.")
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 5,
    test_size: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the documents held out.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed of the splits.")] = 0,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .md or .csv file to write; a .bib file goes beside it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods on labelled texts: error, macro-F1 and times, with 95 % intervals over random splits.

    Words are counted alike for all. Times are those of this machine; a query is a document of one batch. With -o the
    table is written, and the papers of the methods as BibTeX.
    """
    from treewass.model.bibliography import bibtex
    from treewass.model.comparison import (
        COMPARABLE,
        DEFAULT_METHODS,
        compare_methods,
        comparison_table,
        known_methods,
    )
    from treewass.storage.folders import check_folder, replacing

    if methods == "all":
        chosen = [name for name, method in COMPARABLE.items() if vectors is not None or "vectors" not in method.needs]
    else:
        chosen = list(DEFAULT_METHODS) if methods is None else [name.strip() for name in methods.split(",")]
    chosen = known_methods(chosen, vectors is not None)
    target = None if output is None else Path(output).expanduser()
    if target is not None:
        if target.suffix not in (".md", ".csv"):
            raise typer.BadParameter(f"expected a name that ends with .md or .csv, got {output!r}.", param_hint="-o")
        check_folder(target)  # before the work, not after
        refuse_data(target, data, "-o")
    corpus = read_data(
        data,
        text=text,
        label=label,
        part=None,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        skip_bad=skip_bad,
        bad_rows=bad_rows,
    )
    source = vectors if vectors in (None, "minilm") else str(Path(vectors).expanduser())
    with show_progress("comparing", len(chosen) * splits, sys.stderr.isatty()) as advance:
        found = compare_methods(
            corpus.texts,
            corpus.labels or (),
            chosen,
            n_splits=splits,
            test_size=test_size,
            word_vectors=source,
            random_state=seed,
            report=lambda sentence: advance(1, sentence),
        )
    header, rows = comparison_table(found)
    over = _over(splits)
    if target is not None:
        for path, content in (
            (target, _csv(header, rows) if target.suffix == ".csv" else f"{_markdown(header, rows)}\n{over}\n"),
            (target.with_suffix(".bib"), bibtex(COMPARABLE[name] for name in chosen)),
        ):
            with replacing(path) as place:
                place.write_text(content, encoding="utf-8")
    if as_json:
        for one in found:
            print_json(asdict(one))
    else:
        _show(header, rows, over)
    if target is not None:
        typer.echo(f"Written to {target} and {target.with_suffix('.bib')}.", err=True)


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _csv(header: list[str], rows: list[list[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()


def _over(splits: int) -> str:
    """Say what the figures are."""
    if splits == 1:
        return "One split: no intervals."
    return f"Means over {splits} splits, with their 95 % intervals; more splits make these narrower."


def _show(header: list[str], rows: list[list[str]], over: str) -> None:
    from rich.table import Table

    table = Table(caption=over, caption_justify="left")
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*row)
    terminal().print(table)
