"""What is done to the folder of a model while a service may run on it: folding its writes, and a backup."""

from __future__ import annotations

from pathlib import Path

from treewass.model.model_folder import in_parts, save_contents
from treewass.serve.live_model import LiveModel
from treewass.serve.served_folder import without_note

__all__ = ["backup_model", "fold_writes", "shard_model"]


def fold_writes(folder: str | Path) -> int:
    """Save a model with the writes of its service, where there are any; a service may run meanwhile, and goes on.

    Parameters
    ----------
    folder : path-like
        The model's folder.

    Returns
    -------
    int
        The number of writes.
    """
    with LiveModel(folder) as live:
        return live.fold()


def shard_model(folder: str | Path, n_parts: int) -> None:
    """Save a model with the writes of its service and its index in parts; a service may run meanwhile, and goes on.

    Parameters
    ----------
    folder : path-like
        The model's folder.
    n_parts : int
        At least 1.
    """
    with LiveModel(folder) as live:
        live.fold(lambda held: in_parts(held, n_parts))


def backup_model(folder: str | Path, target: str | Path) -> int:
    """Save a model, with the writes of its service as they are at one moment, to another folder.

    Parameters
    ----------
    folder : path-like
        The model's folder. A service may run meanwhile, and is not disturbed.
    target : path-like
        An empty folder, or one with a model, which is replaced; made if it is not there.

    Returns
    -------
    int
        The number of documents.
    """
    if Path(folder).resolve() == Path(target).resolve():
        raise ValueError(f"Expected another folder for the backup, got that of the model: {target}.")
    with LiveModel(folder) as live:
        held = live.current()
    save_contents(target, without_note(held))
    return len(held.index)
