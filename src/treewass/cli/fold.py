"""``treewass fold`` and ``treewass backup``: what a service has written, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.shared import ModelFolder
from treewass.compute.extras import require

__all__ = ["backup_command", "fold_command"]


def fold_command(model: ModelFolder) -> None:
    """Put the writes of a service into the model's own files; a service that runs goes on."""
    require("filelock", purpose="treewass fold", extra="serve")
    from treewass.serve.upkeep import fold_writes

    typer.echo(f"{fold_writes(Path(model).expanduser())} writes folded into {model}.")


def backup_command(
    model: ModelFolder,
    folder: Annotated[str, typer.Argument(help="Where to save it; a model in this folder is replaced.")],
) -> None:
    """Save a model with the writes of its service, as they are at one moment, to another folder."""
    require("filelock", purpose="treewass backup", extra="serve")
    from treewass.serve.upkeep import backup_model

    number = backup_model(Path(model).expanduser(), Path(folder).expanduser())
    typer.echo(f"{number} documents of {model} saved to {folder}, which is a model of its own.")
