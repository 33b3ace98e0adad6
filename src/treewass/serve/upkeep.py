"""What is done to a model while services may run on it: folding their writes, a backup, giving them another one."""

from __future__ import annotations

import uuid
from contextlib import closing
from pathlib import Path

from treewass.model.model_folder import in_parts, save_contents
from treewass.serve.applied_writes import MOST_KEYS, write_keys
from treewass.serve.live_model import LiveModel
from treewass.serve.served_folder import keep_replaced, load_whole, noted, without_note
from treewass.serve.writes import Head

__all__ = ["backup_model", "fold_writes", "publish_model", "shard_model"]


def fold_writes(folder: str | Path, store: str | None = None) -> int:
    """Save a model with the writes of its service, where there are any; a service may run meanwhile, and goes on.

    Parameters
    ----------
    folder : path-like
        The model's folder.
    store : str, optional
        The database that has the writes. It forgets those that the folder holds then: other copies of the model are to
        be replaced by this one before their services start again.

    Returns
    -------
    int
        The number of writes.
    """
    with LiveModel(folder, store) as live:
        number = live.fold()
        if store is not None:
            live.drop_folded()
        return number


def shard_model(folder: str | Path, n_parts: int, store: str | None = None) -> None:
    """Save a model with the writes of its service and its index in parts; a service may run meanwhile, and goes on.

    Parameters
    ----------
    folder : path-like
        The model's folder.
    n_parts : int
        At least 1.
    store : str, optional
        The database that has the writes; it keeps them, for other copies of the model.
    """
    with LiveModel(folder, store) as live:
        live.fold(lambda held: in_parts(held, n_parts))


def publish_model(folder: str | Path, store: str) -> int:
    """Let the services on a database take another model, which each of them has in its folder by then.

    They switch at once. A service whose folder has no copy of it answers as before, and takes no writes. Writes that
    the new model holds, made from a fold, are not made again if they are repeated under their idempotency key.

    Parameters
    ----------
    folder : path-like
        The folder of the new model.
    store : str
        The database.

    Returns
    -------
    int
        The number of writes to the model before, which are not in the new one; a file in the folder keeps them.
    """
    from treewass.serve.postgres_writes import PostgresWrites

    name, held = load_whole(Path(folder))
    with closing(PostgresWrites(store)) as writes, writes.transaction():
        before, note = writes.head() or Head("", ""), noted(held)
        if before.base == name:
            return 0
        rows = writes.since(before.number, before.chain)
        number = max(note.number, before.number, *(row.number for row in rows))
        follows = note.store == before.store and note.number >= before.number
        kept = [row for row in rows if follows and row.number <= note.number]
        missing = rows[len(kept) :]
        if missing:
            keep_replaced(Path(folder), missing)
        keys = (*before.keys, *write_keys(kept))[-MOST_KEYS:] if follows else ()
        writes.begin(Head(uuid.uuid4().hex, name, number, keys=keys))
    return len(missing)


def backup_model(folder: str | Path, target: str | Path, store: str | None = None) -> int:
    """Save a model, with the writes of its service as they are at one moment, to another folder.

    Parameters
    ----------
    folder : path-like
        The model's folder. A service may run meanwhile, and is not disturbed.
    target : path-like
        An empty folder, or one with a model, which is replaced; made if it is not there.
    store : str, optional
        The database that has the writes.

    Returns
    -------
    int
        The number of documents.
    """
    if Path(folder).resolve() == Path(target).resolve():
        raise ValueError(f"Expected another folder for the backup, got that of the model: {target}.")
    with LiveModel(folder, store) as live:
        held = live.current()
    save_contents(target, without_note(held))
    return len(held.index)
