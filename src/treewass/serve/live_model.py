"""A model that takes writes while it is read: what its folder holds, and after that what its journal holds."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewass.model.contents import Contents
from treewass.model.files import save_contents
from treewass.model.fitting import with_documents, without_documents
from treewass.model.inputs import check_labels
from treewass.search.snapshots import as_ids
from treewass.serve.journal import Journal, Record
from treewass.serve.journal_files import FOLDED, MOST_KEYS, open_journal

__all__ = ["KeyUsedError", "LiveModel", "NewDocument", "fold_journal"]


class KeyUsedError(ValueError):
    """A key came again with other documents."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to add.

    Parameters
    ----------
    text : str
        The document.
    label : str or int
        One that the model knows.
    title : str
        A short name, or an empty one.
    """

    text: str
    label: str | int
    title: str = ""


class LiveModel:
    """A model and its journal.

    Any number of threads may read `current` while another writes: what they get is never changed. Other processes
    may write to the same journal; their writes are followed.

    Parameters
    ----------
    folder : path-like
        The model's folder; only the service that holds its lock may open it so.
    alone : bool, default=True
        Whether no other process writes, so that reading need not look for news.
    n_jobs : int, optional
        Threads for batches of queries.
    """

    def __init__(self, folder: str | Path, *, alone: bool = True, n_jobs: int | None = None) -> None:
        self._alone = alone
        self._changing = threading.Lock()
        self._keys: dict[str, tuple[str, list[int]]] = {}
        self._journal, self._held, self.base = open_journal(Path(folder), n_jobs)
        self._read_to = Journal.start
        self.n_records = -1  # the first record is no write
        with self._journal.locked():
            self._follow()

    @property
    def journal_bytes(self) -> int:
        """Size of the journal."""
        return self._journal.size

    def current(self) -> Contents:
        """Return the model as it is at some moment during this call."""
        if not self._alone and self._journal.size != self._read_to:
            with self._changing, self._journal.locked():
                self._follow()
        return self._held

    def add(self, documents: Sequence[NewDocument], key: str | None = None) -> tuple[list[int], bool]:
        """Add documents; they are on the disk when this returns.

        Parameters
        ----------
        documents : sequence of NewDocument
            At least one.
        key : str, optional
            A name of this write. If it comes again, the ids of the first time are returned and nothing is added.

        Returns
        -------
        ids : list of int
        repeated : bool
            Whether they had been added before, under the same key.

        Raises
        ------
        ValueError
            If a label is not among those of the model.
        KeyUsedError
            If the key came with other documents before.
        OSError
            If the journal cannot be written; then nothing is added.
        """
        digest = hashlib.sha256(json.dumps([[d.text, d.label, d.title] for d in documents]).encode()).hexdigest()
        record: Record = {
            "operation": "add",
            "texts": [document.text for document in documents],
            "labels": [document.label for document in documents],
            "titles": [document.title for document in documents],
            "key": key,
            "digest": digest,
        }
        with self._changing, self._journal.locked():
            self._follow()
            if key is not None and key in self._keys:
                earlier, ids = self._keys[key]
                if earlier != digest:
                    raise KeyUsedError("This key was used before, for other documents. Take a new one.")
                return ids, True
            held, ids = _with_added(self._held, [record])
            self._write({**record, "ids": ids}, held)
            return ids, False

    def remove(self, ids: Sequence[int]) -> None:
        """Remove documents; the disk knows when this returns.

        Parameters
        ----------
        ids : sequence of int
            All of them must be there.

        Raises
        ------
        ValueError
            If one is not; then nothing is removed.
        OSError
            If the journal cannot be written; then nothing is removed.
        """
        with self._changing, self._journal.locked():
            self._follow()
            held = without_documents(self._held, as_ids(ids))
            self._write({"operation": "remove", "ids": list(ids)}, held)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _write(self, record: Record, held: Contents) -> None:
        """Append a record, then show what it changed."""
        self._read_to = self._journal.append(record)
        self.n_records += 1
        self._remember(record)
        self._held = held

    def _follow(self) -> None:
        """Apply what the journal holds beyond what is known, under its lock; cut off what a crash left."""
        if self._journal.size == self._read_to:
            return
        records, end = self._journal.read(self._read_to)
        self._journal.cut(end)
        self._held = _with_records(self._held, records)
        for record in records:
            self._remember(record)
        self._read_to = end
        self.n_records += len(records)

    def _remember(self, record: Record) -> None:
        """Keep the keys of writes, the latest of them."""
        for key, digest, ids in record.get("keys", ()):
            self._keys[key] = (digest, ids)
        if record.get("key") is not None:
            self._keys[record["key"]] = (record["digest"], record["ids"])
        while len(self._keys) > MOST_KEYS:
            del self._keys[next(iter(self._keys))]


def fold_journal(folder: Path) -> int:
    """Save a model with the writes of its journal, where there are any; only under `serving`.

    Parameters
    ----------
    folder : Path
        The model's folder.

    Returns
    -------
    int
        The number of writes.

    Raises
    ------
    ValueError
        If the model has been replaced meanwhile; the journal stays.
    """
    live = LiveModel(folder)
    live.close()
    if live.n_records:
        held = live.current()
        save_contents(folder, held.changed(about={**held.about, FOLDED: live.base}), replaces=live.base)
        open_journal(folder)[0].close()
    return live.n_records


def _with_records(held: Contents, records: Iterable[Record]) -> Contents:
    """Apply records: all that add at once, then all that remove, since an id is never given twice."""
    records = list(records)
    adding = [record for record in records if record.get("operation") == "add"]
    if adding:
        expected = _joined(adding, "ids")
        held, ids = _with_added(held, adding)
        if ids != expected:
            raise ValueError(f"Expected ids from {expected[0]} on for documents of the journal, got {ids[0]}.")
    removed = _joined([record for record in records if record.get("operation") == "remove"], "ids")
    return without_documents(held, as_ids(removed)) if removed else held


def _with_added(held: Contents, records: Sequence[Record]) -> tuple[Contents, list[int]]:
    texts: list[str] = _joined(records, "texts")
    labels = check_labels(_joined(records, "labels"), len(texts))
    titles: list[str] = _joined(records, "titles")
    held, ids = with_documents(held, texts, labels, titles if any(titles) else None)
    return held, ids.tolist()


def _joined(records: Sequence[Record], name: str) -> list[Any]:
    return [value for record in records for value in record[name]]
