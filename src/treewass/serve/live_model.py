"""A model that takes writes while it is read: what its folder holds, and after that the writes since it was saved."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treewass.documents.histograms import warn_about_empty_rows
from treewass.model.contents import Contents
from treewass.model.fitting import refuse_unknown_columns, without_documents
from treewass.model.model_folder import data_name, save_contents
from treewass.search.snapshot import NEVER_FOUND, as_ids
from treewass.serve.applied_writes import (
    MOST_KEYS,
    KeyUsedError,
    NewDocument,
    UnknownDocumentError,
    relabeled,
    with_added,
    with_rows,
    write_keys,
)
from treewass.serve.served_folder import (
    Noted,
    alone,
    keep_replaced,
    load_whole,
    note_elsewhere,
    noted,
    refuse_elsewhere,
    with_note,
)
from treewass.serve.writes import UNWRITABLE, Head, Record, Row, Writes, elsewhere_path, writes_path

if TYPE_CHECKING:
    from treewass.serve.postgres_writes import PostgresWrites

__all__ = ["LiveModel"]

_LOGGER = logging.getLogger("treewass.serve")
_NEWS_SECONDS = 0.5  # to wait for news of a database at a time


class LiveModel:
    """A model and the writes to it.

    Any number of threads may read `current` while another writes: what they get is never changed. Any number of
    processes may have one folder open; they follow each other's writes.

    Parameters
    ----------
    folder : path-like
        The model's folder.
    store : str, optional
        A PostgreSQL database for the writes, such as ``"postgresql://host/news"``, which services on several machines
        share, each with a copy of the model. By default they are in a file in the folder. A thread follows the
        database, so that whoever reads never waits for it.

    Raises
    ------
    ValueError
        If there is no sound model, its writes are damaged, or those in the database follow another model.

    Notes
    -----
    Writes are on the disk when `add`, `remove` and `relabel` return. Each may have a key: if that comes again with the
    same request, nothing is changed and the answer is that of the first time; with another request it is a
    KeyUsedError. If nothing can be written, they raise an OSError, and nothing is changed, or an UncertainWriteError:
    ask again, with the same key.

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

    def __init__(self, folder: str | Path, store: str | None = None) -> None:
        self._folder = Path(folder)
        data_name(self._folder)  # no file is made where there is no model
        self._changing = threading.RLock()
        self._writes = _open_writes(self._folder, store)
        self._head, self._last, self._seen = Head("", ""), Row(0, {}, ""), -1
        self._refused = ""  # the name of a model in the folder that the writes do not follow
        self._unbegun: tuple[Head | None] | None = None  # the head that was found where no other could be written
        self._ended = threading.Event()
        self._follower: threading.Thread | None = None
        self._keys: dict[str, tuple[str, list[int]]] = {}
        self._held: Contents
        try:
            self._load()
        except BaseException:
            self._writes.close()
            raise
        if self._writes.is_shared:
            note_elsewhere(self._folder)
            self._follower = threading.Thread(target=self._follow_news, args=(self._writes,), daemon=True)
            self._follower.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_pending(self) -> int:
        """Number of writes that the model's own files do not hold."""
        return self._last.number - self._head.number

    @property
    def pending_bytes(self) -> int:
        """Size of the file of writes."""
        return self._writes.n_bytes

    def current(self) -> Contents:
        """Return the model as it is at some moment during this call.

        Raises
        ------
        DamagedWritesError
            If the writes are not as they were written; so do `add`, `remove` and `fold`.
        """
        if self._writes.is_shared:
            return self._held
        with suppress(OSError):  # on a full disk nobody can have written
            version = self._writes.version()
            if version != self._seen:
                with self._changing, self._writes.reading():
                    try:
                        is_behind = not self._catch_up() and self._has_missed_writes()
                    finally:
                        self._seen = version  # not before: whoever reads meanwhile waits for these writes, too
                if is_behind:
                    self.follow()
        return self._held

    def add(self, documents: Sequence[NewDocument], key: str | None = None) -> tuple[list[int], bool]:
        """Add documents, at least one; return their ids, and whether they had been added before under the same key.

        A label or a column that the model does not know, a document's key that is in use, and a value of another kind
        than its column are a ValueError.
        """
        record: Record = {
            "operation": "add",
            "texts": [document.text for document in documents],
            "labels": [document.label for document in documents],
            "titles": [document.title for document in documents],
            "document_keys": [document.key for document in documents],
            "columns": [document.columns for document in documents],
        }

        def change() -> tuple[Contents, list[int]]:
            refuse_unknown_columns(self._held, chain.from_iterable(document.columns for document in documents))
            held, ids, unknown = with_added(self._held, [record])
            warn_about_empty_rows(unknown, NEVER_FOUND)
            return held, ids

        return self._write(record, key, change)

    def remove(self, ids: Sequence[int], key: str | None = None) -> bool:
        """Remove documents, or none if one is not there; tell whether that had been done before under the key."""

        def change() -> tuple[Contents, list[int]]:
            self._demand(ids)
            return without_documents(self._held, as_ids(ids)), list(ids)

        return self._write({"operation": "remove", "removed": list(ids)}, key, change)[1]

    def relabel(self, number: int, label: str | int, key: str | None = None) -> bool:
        """Give a document another label that the model knows; tell whether that had been done before under the key."""
        record: Record = {"operation": "relabel", "number": number, "label": label}

        def change() -> tuple[Contents, list[int]]:
            self._demand([number])
            return relabeled(self._held, [number], [label]), [number]

        return self._write(record, key, change)[1]

    def _demand(self, ids: Sequence[int]) -> None:
        unknown = next((number for number in ids if number not in self._held.index), None)
        if unknown is not None:
            raise UnknownDocumentError(f"No document in the model has id {unknown}.")

    def follow(self) -> None:
        """Take up what other processes have done to the folder: writes, folds, another model in the place of this one.

        Whoever reads meanwhile gets the model as it was until the other one is whole.
        """
        if not self._is_current():
            with alone(self._folder):  # a fold that is about to end has nothing new in it
                if not self._is_current():
                    name = data_name(self._folder)
                    try:
                        self._load()
                    except ValueError:
                        self._refused = name  # not loaded again until something changes
                        raise

    def fold(self, change: Callable[[Contents], Contents] | None = None) -> int:
        """Save the model with the writes to it, where there are any, while others go on reading and writing.

        Parameters
        ----------
        change : callable, optional
            Returns the model in another form, with the same answers, to be saved in its place even without writes.

        Returns
        -------
        int
            The number of writes that the model's own files hold now, and did not before.

        Raises
        ------
        ValueError
            If the model is replaced meanwhile; then nothing is folded.
        OSError
            If it cannot be saved; then the writes stay where they are.
        """
        with alone(self._folder):
            if not self._is_current():
                self._load()
            with self._changing:
                held, head, last = self._held, self._head, self._last
                keys = tuple((key, digest, ids) for key, (digest, ids) in self._keys.items())
            if last.number == head.number and change is None:
                return 0
            noting = with_note(change(held) if change else held, head.store, last.number)
            name = save_contents(self._folder, noting, replaces=head.base)
            new = Head(head.store, name, last.number, last.hash, head.base, keys)
            with self._changing:
                if not self._writes.is_shared:  # a database keeps what the folders of others do not hold
                    with self._writes.transaction():
                        self._writes.begin(new)
                self._head = new
                self._writes.truncate()  # on the connection of all threads: none of them may write meanwhile
            return last.number - head.number

    def drop_folded(self) -> None:
        """Remove from a shared database the writes that the folder's own files hold; older copies of it are outdated.

        Raises
        ------
        ValueError
            If the database has another model meanwhile.
        """
        with self._changing, self._writes.transaction():
            if not self._catch_up():
                raise ValueError("Expected the writes that this model follows, but the database holds others by now.")
            self._writes.begin(self._head)

    def close(self) -> None:
        """Close the file of writes; who comes to write after that gets an OSError."""
        self._ended.set()
        if self._follower is not None:
            self._follower.join(_NEWS_SECONDS + 1.0)
        with self._changing:
            self._writes.close()

    def _follow_news(self, writes: PostgresWrites) -> None:
        """Follow a database as soon as it tells of news; where it does not answer, try again."""
        while not self._ended.is_set():
            try:
                if writes.wait_for_news(_NEWS_SECONDS):
                    self.follow()
            except (OSError, ValueError):  # a service looks every second, too, and logs this
                self._ended.wait(_NEWS_SECONDS)

    def _write(
        self, record: Record, key: str | None, change: Callable[[], tuple[Contents, list[int]]]
    ) -> tuple[list[int], bool]:
        """Append a record to the writes, unless its key is known, then show what it changed."""
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
        while True:
            with self._changing:
                with self._writes.transaction():
                    if self._catch_up() and (self._writes.is_shared or self._is_in_folder()):
                        if key is not None and key in self._keys:
                            earlier, ids = self._keys[key]
                            if earlier != digest:
                                raise KeyUsedError("This key was used before, for another request. Take a new one.")
                            return ids, True
                        held, ids = change()
                        written = {**record, "ids": ids, "key": key, "digest": digest}
                        row = self._writes.append(written, self._last.number, self._last.hash)
                    else:
                        row = None
                if row is not None:
                    self._held = held
                    self._remember([row])
                    return ids, False
            try:
                self.follow()
            except ValueError as error:
                raise OSError(errno.ESTALE, str(error).rstrip(".")) from error  # nothing is wrong with the request

    def _is_current(self) -> bool:
        """Apply what others have written; tell whether that is all there is to do."""
        with self._changing, self._writes.reading():
            if self._unbegun is not None and self._writes.is_read_only:
                return self._unbegun == (self._writes.head(),) and self._is_in_folder()
            return self._catch_up() and (self._is_in_folder() or self._is_refused())

    def _is_in_folder(self) -> bool:
        return data_name(self._folder) == self._head.base

    def _is_refused(self) -> bool:
        return self._writes.is_shared and data_name(self._folder) == self._refused

    def _catch_up(self) -> bool:
        """Apply the writes beyond those that are known; tell whether they follow the model that is held."""
        head = self._writes.head()
        if head is None or head.store != self._head.store or head.number > self._last.number:
            return False
        if not self._writes.is_shared and self._head.base not in (head.base, head.before):
            return False
        rows = self._writes.since(self._last.number, self._last.hash)
        self._held = with_rows(self._held, rows)
        if not self._writes.is_shared:
            self._head = head
        self._remember(rows)
        return True

    def _has_missed_writes(self) -> bool:
        """Tell whether writes to the model that is held were folded before they were seen here."""
        head = self._writes.head()
        return head is not None and head.store == self._head.store and head.number > self._last.number

    def _load(self) -> None:
        """Load the model of the folder, and the writes that follow it."""
        is_new = False
        while not is_new:
            name, held = load_whole(self._folder)
            with self._changing:
                if self._writes.is_shared:  # others write while this reads
                    with self._writes.reading():
                        has_begun = self._writes.head() is not None
                        is_new = has_begun and self._adopt(name, held, writable=False)
                    if has_begun:
                        continue
                try:
                    with self._writes.transaction():
                        is_new = self._adopt(name, held, writable=True)
                except OSError as error:
                    if error.errno not in UNWRITABLE:
                        raise
                    with self._writes.reading():
                        is_new = self._adopt(name, held, writable=False)
                    if error.errno == errno.EROFS and self.n_pending:
                        raise ValueError(
                            f"{self._folder} can only be read, and {self.n_pending} writes to it wait in "
                            f"{self._writes.path.name}. Run treewass fold where the folder can be written."
                        ) from error
                    _LOGGER.warning("the model is served, but nothing can be written: %s", error)

    def _adopt(self, name: str, held: Contents, *, writable: bool) -> bool:
        """Take a model that was loaded, and the writes that follow it, if it is still the one in the folder."""
        if data_name(self._folder) != name:
            return False
        note = noted(held)
        self._writes.check_end(note.number)
        before = self._writes.head()
        rows: list[Row] = []
        if before is None:
            head = Head(uuid.uuid4().hex, name, note.number)
        else:
            head, rows, held = self._followed(before, name, held, note, writable)
        self._unbegun = None if writable or head == before else (before,)
        if writable and head != before:
            self._writes.begin(head)
        self._held, self._head = held, head
        self._last = Row(head.number, {}, head.chain)
        self._keys = {key: (digest, ids) for key, digest, ids in head.keys}
        self._remember(rows)
        return True

    def _followed(
        self, before: Head, name: str, held: Contents, note: Noted, writable: bool
    ) -> tuple[Head, list[Row], Contents]:
        """Find what of the writes follows a model: return their head, them, and the model with them.

        A model that was made from the one before notes which writes it holds. Another one takes the place of the
        documents, too: then writes that wait are set aside, in a file that the log names. Services that share a
        database hold the same documents: there, only what folds have made is followed.
        """
        rows = self._writes.since(before.number, before.chain)
        if before.base == name:
            return before, rows, with_rows(held, rows)
        n_held = note.number - before.number if note.store == before.store else -1
        if 0 <= n_held <= len(rows) and (note.is_fold or not self._writes.is_shared):
            folded, rest = rows[:n_held], rows[n_held:]
            last = folded[-1] if folded else Row(before.number, {}, before.chain)
            keys = (*before.keys, *write_keys(folded))[-MOST_KEYS:]
            with suppress(ValueError):  # unless the model has given ids of these writes to other documents
                head = Head(before.store, name, last.number, last.hash, None, keys)
                return head, rest, with_rows(held, rest)
        if self._writes.is_shared:
            raise ValueError(
                f"Expected the model that the writes in the database follow ({before.base}, or a fold of it), but "
                f"{self._folder} holds another one ({name}). Copy that model here; or copy this one to the others and "
                "run treewass publish, which lets all services on the database take it; or take another database."
            )
        if rows and not writable:
            raise ValueError(
                f"{self._writes.path} holds {len(rows)} writes to the model in {self._folder}, which has been replaced "
                "since. Make the folder writable once, so that they are kept."
            )
        if rows:
            keep_replaced(self._folder, rows)
        number = rows[-1].number if rows else before.number
        return Head(uuid.uuid4().hex, name, number), [], held

    def _remember(self, rows: Sequence[Row]) -> None:
        """Note the last write, and the latest keys."""
        if rows:
            self._last = rows[-1]
        for key, digest, ids in write_keys(rows):
            self._keys[key] = (digest, ids)
        while len(self._keys) > MOST_KEYS:
            del self._keys[next(iter(self._keys))]


def _open_writes(folder: Path, store: str | None) -> Writes:
    """Open the writes of a model, in its folder or in a database."""
    if store is None:
        refuse_elsewhere(folder)
        return Writes(folder)
    from treewass.serve.postgres_writes import PostgresWrites

    if not elsewhere_path(folder).exists() and writes_path(folder).exists():
        with LiveModel(folder) as own:
            if own.n_pending:
                raise ValueError(
                    f"{writes_path(folder)} holds {own.n_pending} writes, which the database would not have. Run "
                    f"treewass fold {folder} first."
                )
    return PostgresWrites(store)
