"""``treewass search`` and ``treewass similar``: documents for typed words, and documents like another one."""

from __future__ import annotations

import re
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.cli.shared import (
    AsJson,
    ModelFolder,
    load_model,
    named_document,
    print_json,
    print_rows,
    read_text,
    terminal,
)
from treewass.cli.waiting_writes import say_waiting_writes
from treewass.compute.arguments import did_you_mean

if TYPE_CHECKING:
    from treewass.explain.hits import Hit
    from treewass.model.contents import Contents

__all__ = ["search_command", "similar_command"]

_CONDITION = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<operator>==|!=|<=|>=|=|<|>)\s*(?P<value>.*?)\s*")
_MOST_LABELS = 30
_PASSAGE = 70  # characters
_Count = Annotated[int, typer.Option("-k", "--k", min=1, help="Documents to find.")]
_Label = Annotated[str | None, typer.Option("--label", help="Only documents with this label.")]
_Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help='Only documents with such a value in a kept column: "year>2020". May be repeated, also for one '
        "column: all of them hold.",
    ),
]


def search_command(
    model: ModelFolder,
    text: Annotated[list[str], typer.Argument(metavar="WORDS", help="What to look for, or - for standard input.")],
    k: _Count = 10,
    label: _Label = None,
    where: _Where = None,
    as_json: AsJson = False,
) -> None:
    """Find documents by typed words: those that hold them, of their topic first.

    A longer text is compared as a whole, as `treewass similar` does. In a pipe, tabs are between the fields of a line.
    """
    from treewass.documents.histograms import EmptyDocumentWarning
    from treewass.model.queries import unknown_terms

    query, loaded = read_text(" ".join(text)), load_model(model)
    say_waiting_writes(model)
    for word, suggestion in unknown_terms(loaded.contents_, query).items():
        hint = f" Did you mean {suggestion!r}?" if suggestion else ""
        typer.echo(f"No document holds the word {word!r}.{hint}", err=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)  # it was said, with suggestions
        hits = loaded.search(query, k, where=_conditions(loaded.contents_, label, where))
    if not hits and (label or where):
        typer.echo("No document that passes the filter holds one of these words.", err=True)
    if hits and hits[0].distance is not None:
        typer.echo("The text is compared as a whole, by distance: it is long, or the model weighs words.", err=True)
    _show(loaded.contents_, hits, as_json)


def similar_command(
    model: ModelFolder,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="A text, id:17 or key:NAME for a document of the model, or -."),
    ],
    k: _Count = 10,
    label: _Label = None,
    where: _Where = None,
    as_json: AsJson = False,
) -> None:
    """Find the documents nearest to a whole text, or to one of the model, by the learned distance."""
    from treewass.model.inference import count_documents, count_texts

    loaded = load_model(model)
    say_waiting_writes(model)
    conditions, named = _conditions(loaded.contents_, label, where), named_document(text)
    document = read_text(text) if named is None else loaded.document(**named).id
    own, held = document if isinstance(document, str) else None, loaded.contents_
    hits = loaded.similar(own, k, where=conditions, **(named or {}))
    if not hits:
        counted = count_texts(held, [document]) if isinstance(document, str) else count_documents(held, [document])
        if counted.known.size:  # otherwise it was said why
            which = "that passes the filter" if conditions else "of the model"
            typer.echo(f"No {'other ' if named else ''}document {which} can be compared with it.", err=True)
    _show(held, hits, as_json)


def _conditions(held: Contents, label: str | None, where: list[str] | None) -> dict[str, Any] | None:
    """Turn options into a filter; a value is read as what its column holds. End with a sentence if nothing passes."""
    found: dict[str, Any] = {} if label is None else {"label": [("==", _like(held.classes, label))]}
    for condition in where or ():
        match = _CONDITION.fullmatch(condition)
        if match is None:
            raise typer.BadParameter(f"expected a column, an operator and a value, such as year>2020: {condition!r}.")
        column, operator = match["column"], "==" if match["operator"] == "=" else match["operator"]
        kept = held.documents.columns.get(column)
        known: dict[str, Any] = {"label": held.classes, "id": held.documents.ids}
        values = known.get(column, ()) if kept is None else kept.distinct
        found.setdefault(column, []).append((operator, _like(values, match["value"])))
    passing = held.matching(found or None)
    if passing is not None and not passing.size:
        names = [str(name) for name in held.classes]
        near = did_you_mean(label, names) if label is not None and label not in names else ""
        hint = f" Labels: {', '.join(names[:_MOST_LABELS])}." if "label" in found else ""
        typer.echo(f"No document passes the filter{near}.{hint}", err=True)
        raise typer.Exit
    return found or None


def _like(values: Any, written: str) -> str | int | float:
    """Read a value as a number if the others are numbers."""
    if not len(values) or isinstance(values[0], str):
        return written
    try:
        return float(written) if not re.fullmatch(r"[+-]?\d+", written) else int(written)
    except ValueError:
        return written


def _show(held: Contents, hits: list[Hit], as_json: bool) -> None:
    """Print JSON, or a line with tabs for each hit, or on a terminal a table."""
    from dataclasses import asdict

    from treewass.documents.texts import excerpt, visible
    from treewass.model.queries import passage_of

    if as_json:
        for hit in hits:
            print_json(asdict(hit))
        return
    if not hits:  # it was said why
        return
    rows = [
        (
            f"{hit.score if hit.score is not None else hit.distance:.4f}",
            f"key:{hit.key}" if hit.key else f"id:{hit.id}",
            "" if hit.label is None else hit.label,
            excerpt(hit.title),
            passage_of(held, hit, _PASSAGE),
        )
        for hit in hits
    ]
    if not sys.stdout.isatty():
        print_rows(rows)
        return
    from rich.table import Table
    from rich.text import Text

    is_ranked = hits[0].score is not None
    table = Table()
    columns = ("score" if is_ranked else "distance", "id", "label", "title", "text")
    for column in (*columns, "words missing") if is_ranked else columns:
        table.add_column(column, justify="right" if column in ("score", "distance", "id") else "left")
    for hit, row in zip(hits, rows, strict=True):
        fields = (*row, ", ".join(hit.missing)) if is_ranked else row
        table.add_row(*(Text(visible(str(field))) for field in fields))
    terminal().print(table)
