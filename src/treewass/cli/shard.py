"""``treewass shard``: the index of a model in parts that are searched side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.shared import ModelFolder, Store

__all__ = ["shard_command"]


def shard_command(
    model: ModelFolder,
    parts: Annotated[int, typer.Option("-n", "--parts", min=1, max=4096, help="Parts of the index; 1 joins them.")],
    store: Store = None,
) -> None:
    """Split the index of a model into parts, which threads search side by side with the same answers.

    The model is replaced in one step: killed at any moment, this leaves it as it was or as it shall be.
    """
    from treewass.model.model_folder import data_name, in_parts, load_contents, save_contents
    from treewass.serve.writes import elsewhere_path, writes_path

    folder = Path(model).expanduser()
    if store is not None or writes_path(folder).exists() or elsewhere_path(folder).exists():
        from treewass.serve.upkeep import shard_model

        shard_model(folder, parts, store)
    else:
        name = data_name(folder)
        save_contents(folder, in_parts(load_contents(folder), parts), replaces=name)
    typer.echo(f"The index of {model} is in {parts} part{'s' * (parts != 1)}.")
