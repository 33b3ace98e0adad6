"""Writes of a service that wait beside a model, and are not in the answers of the commands that read it."""

from __future__ import annotations

import json
import shlex
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from treewass.cli.shared import say_note

__all__ = ["say_waiting_writes"]


def say_waiting_writes(model: str) -> None:
    """Say how many writes to the model in a folder wait to be folded into it, if there are any."""
    number = _count_waiting(Path(model).expanduser())
    if number:
        writes = "1 write of a service is" if number == 1 else f"{number} writes of a service are"
        them = "it" if number == 1 else "them"
        say_note(f"{writes} not in this answer; treewass fold {shlex.quote(model)} puts {them} in.")


def _count_waiting(folder: Path) -> int:
    """Count the writes that follow the model in a folder, and let a service read and write meanwhile."""
    from treewass.model.model_folder import data_name
    from treewass.serve.writes import writes_path

    path = writes_path(folder)
    if not path.exists():
        return 0
    log = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"  # without making files
    with (
        suppress(
            sqlite3.Error, OSError, ValueError, LookupError, TypeError
        ),  # whoever folds or serves says what is wrong with them
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection,
    ):
        select = "SELECT (SELECT count(*) FROM writes), record FROM writes ORDER BY number LIMIT 1"
        for count, head in connection.execute(select).fetchall():  # the first row says what the others follow
            return int(count) - 1 if json.loads(head)["base"] == data_name(folder) else 0
    return 0
