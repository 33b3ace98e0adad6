"""``treewass export``: the documents of a model in the stores people run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.shared import ModelFolder, load_model

__all__ = ["export_command"]


def export_command(
    model: ModelFolder,
    to: Annotated[str, typer.Option("--to", help="postgres, parquet, sqrt or faiss.")],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="TARGET",
            help="The database, such as postgresql://host/news (a password belongs into PGPASSWORD), a new folder for "
            "parquet, a file for sqrt and faiss.",
        ),
    ],
    table: Annotated[str, typer.Option(help="Table of the database.")] = "documents",
) -> None:
    """Write the documents of a model to a store that searches them exactly: PostgreSQL, SQL engines, vector stores."""
    from treewass.stores import export_model

    target = output if to == "postgres" else Path(output).expanduser()
    number = export_model(load_model(model), to, target, table=table)
    place = f"table {table}" if to == "postgres" else output
    typer.echo(f"{number} documents of {model} written to {place}.")
