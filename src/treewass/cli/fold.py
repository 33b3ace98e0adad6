"""``treewass fold``, ``backup`` and ``publish``: writes of a service, while it runs, and another model for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.shared import ModelFolder, Store
from treewass.compute.arguments import counted_noun

__all__ = ["backup_command", "fold_command", "publish_command"]


def fold_command(model: ModelFolder, store: Store = None) -> None:
    """Put the writes of a service into the model's own files; a service that runs goes on.

    A database forgets these writes then. Copy the model to the other machines before their services start again.
    """
    from treewass.serve.upkeep import fold_writes

    number = fold_writes(Path(model).expanduser(), store)
    typer.echo(f"{counted_noun(number, 'write')} folded into {model}.")


def backup_command(
    model: ModelFolder,
    folder: Annotated[str, typer.Argument(help="Where to save it; a model in this folder is replaced.")],
    store: Store = None,
) -> None:
    """Save a model with the writes of its service, as they are at one moment, to another folder."""
    from treewass.serve.upkeep import backup_model

    number = backup_model(Path(model).expanduser(), Path(folder).expanduser(), store)
    typer.echo(f"{counted_noun(number, 'document')} of {model} saved to {folder}, which is a model of its own.")


def publish_command(
    model: ModelFolder,
    store: Annotated[str, typer.Option(metavar="postgresql://…", help="The database of the services.")],
) -> None:
    """Let all services on a database take another model, which each of them has in its folder by then."""
    from treewass.serve.upkeep import publish_model

    number = publish_model(Path(model).expanduser(), store)
    kept = (
        f" The writes to the one before ({number}) are kept in its folder, in a file replaced-writes." if number else ""
    )
    typer.echo(f"{model} is the model of the services on this database.{kept}")
