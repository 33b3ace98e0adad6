"""``treewass search``: the documents nearest to a text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from treewass.commands.shared import (
    AsJson,
    ModelFolder,
    excerpt,
    load_model,
    print_json,
    print_rows,
    read_text,
    terminal,
)

__all__ = ["search_command"]


def search_command(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The query, or - for standard input.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Documents to find.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Find the documents nearest to a text, exactly: a table, or in a pipe lines with tabs between fields."""
    from dataclasses import asdict

    query = read_text(text)
    neighbors = load_model(model, compiled=False).search(query, k)
    if as_json:
        for neighbor in neighbors:
            print_json(asdict(neighbor))
        return
    rows = [
        (f"{neighbor.distance:.4f}", neighbor.id, neighbor.label, excerpt(neighbor.title), excerpt(neighbor.text))
        for neighbor in neighbors
    ]
    if not sys.stdout.isatty():
        print_rows(rows)
        return
    from rich.table import Table
    from rich.text import Text

    from treewass.documents.texts import visible

    table = Table()
    for column in ("distance", "id", "label", "title", "text"):
        table.add_column(column, justify="right" if column in ("distance", "id") else "left")
    for row in rows:
        table.add_row(*(Text(visible(str(field))) for field in row))
    terminal().print(table)
