"""The journals in a model's folder: which one the model's writes go to, and which one it holds already.

A journal is named after the data that its writes follow. Folding saves the model with these writes, under a new name
for its data, and notes in it which journal it holds; a crash at any moment leaves the writes in one of the two.
"""

from __future__ import annotations

import re
from pathlib import Path

from treewass.model.contents import Contents
from treewass.model.files import data_name, load_contents
from treewass.serve.journal import Journal, Record

__all__ = ["FOLDED", "MOST_KEYS", "join_journal", "journal_path", "open_journal"]

_NAME = re.compile(r"journal-([0-9a-f]{32})\.log")
FOLDED = "journal"  # where a model notes whose journal it holds
MOST_KEYS = 10_000  # of writes that can be repeated safely


def open_journal(folder: Path) -> tuple[Journal, Contents, str]:
    """Load a model and open the journal of writes that follow it, made if there is none; only under `serving`.

    Parameters
    ----------
    folder : Path
        The model's folder.

    Returns
    -------
    journal : Journal
    held : Contents
        The model without the journal's writes.
    base : str
        The name of the model's data.

    Raises
    ------
    ValueError
        If there is no sound model, or a journal with writes to a model that has been replaced.
    """
    base, held = _load(folder)
    path = journal_path(folder, base)
    others = [entry for entry in sorted(folder.iterdir()) if _NAME.fullmatch(entry.name) and entry != path]
    keys: list[list[object]] = []
    for other in others:
        records = _records(other)
        if records[0]["base"] == held.about.get(FOLDED):
            keys = _keys(records)
        elif len(records) > 1:
            raise ValueError(
                f"{other.name} holds {len(records) - 1} writes to a model that has been replaced since. Move the file "
                "away to serve the model in its place without them."
            )
    journal = Journal(path) if path.exists() else Journal.create(path, {"base": base, "keys": keys})
    for other in others:
        other.unlink()
    return journal, held, base


def join_journal(folder: Path, base: str) -> tuple[Journal, Contents]:
    """Load the model that a service serves and open the journal that the service made; no file is made or removed.

    Parameters
    ----------
    folder : Path
        The model's folder.
    base : str
        The name of the model's data when the service started.

    Returns
    -------
    journal : Journal
    held : Contents
        The model without the journal's writes.

    Raises
    ------
    ValueError
        If the model has been replaced since.
    """
    found, held = _load(folder)
    if found != base:
        raise ValueError(
            f"Expected the model in {folder} as it was when its service started, but it has been replaced since. Its "
            f"writes are in {journal_path(folder, base).name}."
        )
    return Journal(journal_path(folder, base)), held


def journal_path(folder: Path, base: str) -> Path:
    """Return where the journal of writes to a model's data stands."""
    return folder / f"journal-{base.removeprefix('data-')}.log"


def _load(folder: Path) -> tuple[str, Contents]:
    """Load a model and the name of its data, which another process may be replacing."""
    while True:
        base = data_name(folder)
        held = load_contents(folder)
        if data_name(folder) == base:
            return base, held


def _records(path: Path) -> list[Record]:
    journal = Journal(path)
    try:
        return journal.read(journal.start)[0]
    finally:
        journal.close()


def _keys(records: list[Record]) -> list[list[object]]:
    """Collect the keys of a journal's writes, and of those before them."""
    own = [[record["key"], record["digest"], record["ids"]] for record in records if record.get("key") is not None]
    return [*records[0].get("keys", ()), *own][-MOST_KEYS:]
