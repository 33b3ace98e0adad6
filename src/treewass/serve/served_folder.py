"""The folder of a model that is served: loading it while others replace it, and what it says of its writes."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock

from treewass.model.contents import Contents
from treewass.model.guarded_patterns import guarded_counter
from treewass.model.model_folder import data_name, load_contents
from treewass.serve.writes import Row, elsewhere_path
from treewass.storage.folders import replacing

__all__ = [
    "Noted",
    "alone",
    "keep_replaced",
    "load_whole",
    "note_elsewhere",
    "noted",
    "refuse_elsewhere",
    "with_note",
    "without_note",
]

_LOGGER = logging.getLogger("treewass.serve")
_NOTE = "writes"  # where a model notes which writes it holds


class Noted(NamedTuple):
    """What a model notes of the writes that it holds: the `store` of their head, and the number of the last one.

    It `is_fold` if nobody has changed its documents since.
    """

    store: str
    number: int
    is_fold: bool


def noted(held: Contents) -> Noted:
    """Return what a model notes of its writes; nothing if it never held any."""
    store, digits, digest = [*str(held.about.get(_NOTE, "")).split(" "), "", ""][:3]
    return Noted(store, int(digits) if digits.isdecimal() else 0, digest == _digest(held))


def with_note(held: Contents, store: str, number: int) -> Contents:
    """Have a model note which writes it holds."""
    return held.changed(about={**held.about, _NOTE: f"{store} {number} {_digest(held)}"})


def _digest(held: Contents) -> str:
    """Tell models apart whose documents were changed: ids are never used again, so that they and the labels do."""
    documents = held.documents
    content = documents.ids.tobytes() + documents.codes.astype(np.int64).tobytes() + str(held.index.next_id).encode()
    return hashlib.sha256(content).hexdigest()[:32]


def without_note(held: Contents) -> Contents:
    """Have a model note no writes: it goes where there are none."""
    return held.changed(about={name: value for name, value in held.about.items() if name != _NOTE})


def load_whole(folder: Path) -> tuple[str, Contents]:
    """Load a model and the name of its data, which another process may be replacing."""
    while True:
        name = data_name(folder)
        held = load_contents(folder)
        if data_name(folder) == name:
            return name, held.changed(counter=guarded_counter(held.counter))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time fold or load; where no lock can be made, nobody can fold either."""
    lock = FileLock(folder / ".fold.lock")
    if folder.is_dir():  # one that was removed is not made again
        with suppress(OSError):
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def keep_replaced(folder: Path, rows: Sequence[Row]) -> None:
    """Keep writes to a model that has been replaced, where nobody looks for them."""
    path = folder / f"replaced-writes-{rows[-1].number}.jsonl"
    with replacing(path) as new:
        new.write_text("".join(json.dumps(row.record) + "\n" for row in rows), encoding="utf-8")
    _LOGGER.error(
        "%d writes to the model in %s, which has been replaced since, are not in the new one; they are kept in %s",
        len(rows),
        folder,
        path.name,
    )


def note_elsewhere(folder: Path) -> None:
    """Note that the writes to a model are in a database, so that nobody takes its folder for all there is."""
    with suppress(OSError):  # a folder that can only be read
        elsewhere_path(folder).touch()


def refuse_elsewhere(folder: Path) -> None:
    """Refuse a model whose writes are in a database that was not named."""
    if elsewhere_path(folder).exists():
        raise ValueError(
            f"The writes to the model in {folder} are in a database, with which it was served: name it with --store "
            f"(in Python store=). To go on without them, remove {elsewhere_path(folder)}."
        )
