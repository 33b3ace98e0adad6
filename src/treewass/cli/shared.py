"""What the commands share: options, models, and output for people, pipes and programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from treewass.model.document_model import DocumentModel

__all__ = [
    "AsJson",
    "ModelFolder",
    "Store",
    "load_model",
    "named_document",
    "print_json",
    "print_rows",
    "read_text",
    "say_note",
    "terminal",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
ModelFolder = Annotated[str, typer.Argument(metavar="MODEL", help="Folder of a model, as `treewass fit` writes it.")]
Store = Annotated[
    str | None,
    typer.Option(metavar="postgresql://…", help="The database that has the writes, if the model is served with one."),
]

_NAMED = re.compile(r"id:(?P<id>\d{1,18})|key:(?P<key>\S.*)")


def read_text(argument: str) -> str:
    """Return a text given as an argument, or standard input for ``-``; refuse one that is blank."""
    text, place = argument, "the text"
    if argument == "-":
        place = "standard input"
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"Expected UTF-8 on standard input: {error}.") from error
    if not text.strip():
        raise ValueError(
            f'Expected a text, but {place} is empty. Give some words, such as "a text", or - for standard input.'
        )
    return text


def named_document(argument: str) -> dict[str, Any] | None:
    """Return the id or the key that an argument such as ``id:17`` or ``key:NAME`` names; None for a text."""
    match = _NAMED.fullmatch(argument)
    if match is None:
        if argument.startswith("id:") and " " not in argument:
            raise ValueError(f"Expected id: and the number of a document, such as id:17, got {argument!r}.")
        return None
    return {"key": match["key"]} if match["id"] is None else {"id": int(match["id"])}


def load_model(folder: str) -> DocumentModel:
    """Load a model; ``~`` is the home folder."""
    from treewass.model.document_model import DocumentModel

    return DocumentModel.load(Path(folder).expanduser())


def say_note(note: str) -> None:
    """Say on standard error what was found out."""
    typer.echo(f"treewass: note: {note}", err=True)


def print_json(value: Any) -> None:
    """Print one line of JSON, Unicode as it is."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_rows(rows: Iterable[Iterable[object]]) -> None:
    """Print rows with tabs between their fields, each field on one line and without control characters."""
    from treewass.documents.texts import visible

    for row in rows:
        typer.echo("\t".join(visible(" ".join(str(field).split())) for field in row))


def terminal() -> Console:
    """Make a console on standard output; without colours, and as wide as needed, where that is no terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=120)
