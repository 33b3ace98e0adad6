"""A model that takes writes while it is read: what its folder holds, and after that what its journal holds."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from treewass.model.contents import Contents
from treewass.model.files import save_contents
from treewass.model.fitting import with_documents, without_documents
from treewass.model.inputs import check_labels
from treewass.search.snapshots import as_ids
from treewass.serve.journal import DamagedJournalError, Journal, Record
from treewass.serve.journal_files import FOLDED, MOST_KEYS, join_journal, journal_path, open_journal
from treewass.serve.locks import serving

__all__ = ["KeyUsedError", "LiveModel", "NewDocument", "UnknownDocumentError", "fold_journal"]


class KeyUsedError(ValueError):
    """A key came again with other documents."""


class UnknownDocumentError(ValueError):
    """A document to remove is not there."""


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

    Any number of threads may read `current` while another writes: what they get is never changed. It is the one
    service of the model until it is closed, or one of the workers of a service, which follow each other's writes.

    Parameters
    ----------
    folder : path-like
        The model's folder.
    base : str, optional
        For a worker: the `base` of the live model whose process runs the service. It holds the lock and has made the
        journal; a worker makes and removes no file.

    Raises
    ------
    ValueError
        If there is no sound model, if another service runs on it, or for a worker, if the model has been replaced.

    Examples
    --------
    >>> import tempfile
    >>> from treewass import DocumentModel
    >>> folder = Path(tempfile.mkdtemp(), "model")
    >>> DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], ["cat", "dog"]).save(folder)
    >>> with LiveModel(folder) as live:
    ...     live.add([NewDocument("a cat", "cat")])
    ([2], False)
    """

    def __init__(self, folder: str | Path, *, base: str | None = None) -> None:
        self._folder = Path(folder)
        self._is_worker = base is not None
        self._changing = threading.Lock()
        self._keys: dict[str, tuple[str, list[int]]] = {}
        self._read_to = Journal.start
        self.n_records = -1  # the first record is no write
        with ExitStack() as opened:
            if base is None:
                opened.enter_context(serving(self._folder))
                self._journal, self._held, self.base = open_journal(self._folder)
            else:
                self._journal, self._held = join_journal(self._folder, base)
                self.base = base
            opened.callback(self._journal.close)
            with self._journal.locked():
                self._journal.renew()
                self._follow()
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def journal_bytes(self) -> int:
        """Size of the journal."""
        return self._journal.size

    def current(self) -> Contents:
        """Return the model as it is at some moment during this call.

        Raises
        ------
        DamagedJournalError
            If the journal does not hold what was written to it; so do `add`, `remove` and `fold`.
        FailedDiskError
            If the disk failed during an earlier write and the journal holds more than is known; then the others, too.
        """
        if self._journal.size != self._read_to:
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
            If the journal cannot be written; then nothing is added, or it is an UncertainWriteError: ask again, with
            the same key.
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
        UnknownDocumentError
            If one is not; then nothing is removed.
        OSError
            If the journal cannot be written; then nothing is removed, or it is an UncertainWriteError: ask again.
        """
        with self._changing, self._journal.locked():
            self._follow()
            try:
                held = without_documents(self._held, as_ids(ids))
            except ValueError as error:
                raise UnknownDocumentError(str(error)) from error
            self._write({"operation": "remove", "ids": list(ids)}, held)

    def fold(self) -> int:
        """Save the model with the writes of its journal, where there are any, and close.

        Returns
        -------
        int
            The number of writes.

        Raises
        ------
        ValueError
            If the model has been replaced meanwhile, then the journal stays; or for a worker.
        """
        if self._is_worker:
            raise ValueError("Expected the live model that holds the lock, but this is one of its workers.")
        with self._changing, self._opened, self._journal.locked():
            self._follow()
            if self.n_records:
                about = {**self._held.about, FOLDED: self.base}
                new = save_contents(self._folder, self._held.changed(about=about), replaces=self.base)
                keys = [[key, digest, ids] for key, (digest, ids) in self._keys.items()]
                Journal.create(journal_path(self._folder, new), {"base": new, "keys": keys}).close()
                self._journal.path.unlink(missing_ok=True)
            return self.n_records

    def close(self) -> None:
        """Close the journal and give the lock back; who comes to write after that gets an OSError."""
        with self._changing:
            self._opened.close()

    def _write(self, record: Record, held: Contents) -> None:
        """Append a record, then show what it changed."""
        end = self._journal.append(record)
        self.n_records += 1
        self._remember(record)
        self._held, self._read_to = held, end  # in this order: who reads meanwhile compares the second with the file

    def _follow(self) -> None:
        """Apply what the journal holds beyond what is known, once it is on the disk; cut off what a crash left."""
        records, end = self._journal.read(self._read_to)
        self._journal.cut(end)
        if records:  # who wrote them may have been killed before they were on the disk
            self._journal.sync()
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


def fold_journal(folder: str | Path) -> int:
    """Save a model with the writes of its journal, where there are any.

    Parameters
    ----------
    folder : path-like
        The model's folder.

    Returns
    -------
    int
        The number of writes.

    Raises
    ------
    ValueError
        If a service runs on the model, or it has been replaced since the writes; the journal stays.
    """
    return LiveModel(folder).fold()


def _with_records(held: Contents, records: Iterable[Record]) -> Contents:
    """Apply records: all that add at once, then all that remove, since an id is never given twice."""
    records = list(records)
    adding = [record for record in records if record.get("operation") == "add"]
    if adding:
        expected = _joined(adding, "ids")
        held, ids = _with_added(held, adding)
        if ids != expected:
            raise DamagedJournalError(f"Expected ids from {expected[0]} on for documents of the journal, got {ids[0]}.")
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
