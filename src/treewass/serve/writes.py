"""The writes to a model since it was saved, in an SQLite file beside it: append, read what came since, fold.

A write is on the disk before it is acknowledged. The rows form a chain of hashes, so that a changed or missing one is
refused by name. A second file names the last write that was acknowledged, so that a cut end is refused, too.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "UNWRITABLE",
    "DamagedWritesError",
    "Head",
    "Record",
    "Row",
    "UncertainWriteError",
    "Writes",
    "elsewhere_path",
    "writes_path",
]

Record = dict[str, Any]
_LOGGER = logging.getLogger("treewass.serve")
_TABLE = "CREATE TABLE IF NOT EXISTS writes (number INTEGER PRIMARY KEY, record BLOB NOT NULL, hash TEXT NOT NULL)"
_ADVICE = (
    "Restore the folder from a backup; to give up the writes since the last fold, move writes.sqlite and writes.last "
    "away."
)
_PAGE, _FRAME = 4096, 4096 + 24  # bytes of a page, and of one in SQLite's log, whose own head has 32
_BUSY_SECONDS = 20.0
_TRY_SECONDS = 0.05  # SQLite looks ever more seldom for a lock, so it is asked anew: a busy writer leaves short gaps
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN)
UNWRITABLE = (errno.ENOSPC, errno.EROFS)  # nothing can be written, but all can be read
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


class DamagedWritesError(ValueError):
    """The file of writes does not hold what was written to it."""


class UncertainWriteError(OSError):
    """A write failed, and it is not known whether it is on the disk."""


class Row(NamedTuple):
    """A write: its number, what it says, and its hash, which depends on all before it."""

    number: int
    record: Record
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """What the writes follow.

    Parameters
    ----------
    store : str
        A name, renewed whenever the writes begin again behind a model that does not come from them.
    base : str
        The `data_name` of the model that the writes follow.
    number : int
        That of the last write that the model holds.
    chain : str
        The hash of that write.
    before : str, optional
        The `data_name` of the model that became the base by nothing but a fold.
    keys : tuple of (key, digest, ids)
        The latest keys of writes that the model holds.
    """

    store: str
    base: str
    number: int = 0
    chain: str = ""
    before: str | None = None
    keys: tuple[tuple[str, str, list[int]], ...] = ()


def writes_path(folder: Path) -> Path:
    """Return where the writes to a model are kept."""
    return folder / "writes.sqlite"


def elsewhere_path(folder: Path) -> Path:
    """Return the file which says that the writes to a model are in a database."""
    return folder / "writes.elsewhere"


class Writes:
    """The file of writes in a model's folder, made on first use; any number of processes may have it open.

    Threads see to themselves. Whatever fails because of the disk is an OSError.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, closing(Writes(Path(folder))) as writes:
    ...     with writes.transaction():
    ...         writes.begin(Head("a", "data-0"))
    ...         row = writes.append({"operation": "remove", "ids": [3]}, 0, "")
    ...     writes.since(0, "")[0].record
    {'operation': 'remove', 'ids': [3]}
    """

    is_shared = False  # by services whose models are copies of one another

    def __init__(self, folder: Path) -> None:
        self.path = writes_path(folder)
        self._log = self.path.with_name(f"{self.path.name}-wal")
        self._last_path = folder / "writes.last"
        self._connection: sqlite3.Connection | None = None
        self._opening = threading.RLock()
        self._watcher: sqlite3.Connection | None = None
        self._inode = -1
        self._appended: Row | None = None
        self._has_failed = self._is_closed = False

    @property
    def is_read_only(self) -> bool:
        """Whether the file could not be opened to write to it, until now."""
        return self._connection is None or self._watcher is None

    @property
    def n_bytes(self) -> int:
        """Bytes of the file and its log."""
        return sum(path.stat().st_size for path in (self.path, self._log) if path.exists())

    def version(self) -> int:
        """Return a number that is another one after a commit; -1 where nothing can be committed."""
        with self._opening, _explaining(self.path):
            self._open()
            if self._watcher is None:
                return -1
            (version,) = self._watcher.execute("PRAGMA data_version").fetchone()
            return int(version)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read at one moment, also where nothing can be written: on a full disk, or in a folder that is read only."""
        try:
            self._open()
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            with _explaining(self.path), closing(self._peeking()) as self._connection:
                try:
                    yield
                finally:
                    self._connection = None
        else:
            with self._between("BEGIN"):
                yield

    def _peeking(self) -> sqlite3.Connection:
        """Connect so that no file is made or changed; to nothing where nothing has begun."""
        if self.path.exists():
            is_empty = not self._log.exists() or self._log.stat().st_size == 0
            address = f"{self.path.absolute().as_uri()}?" + ("mode=ro&immutable=1" if is_empty else "mode=rw")
            connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # needs no file that processes share
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                return connection
            connection.close()
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.execute(_TABLE)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let one process at a time write; what was appended is on the disk in the end, or nothing is.

        If it cannot be written, on a full disk for instance, it is an OSError, and nothing was. It is an
        UncertainWriteError if that cannot be said; then nothing more is written until the service is started again.
        """
        if self._has_failed:
            raise OSError(errno.EIO, "the disk failed to keep an earlier write; start the service again")
        with self._between("BEGIN IMMEDIATE"):
            if self.path.stat().st_ino != self._inode:
                raise OSError(errno.ENOENT, "the file of writes was removed or replaced; start the service again")
            yield
        if self._appended is not None:
            self._note_last(self._appended)
            self._appended = None

    def head(self) -> Head | None:
        """Read what the writes follow; None where nothing has begun."""
        found = self._execute("SELECT number, record, hash FROM writes ORDER BY number LIMIT 1")
        if not found:
            return None
        number, content, written = found[0]
        if type(content) is not bytes or written != _hash("head", number, content):
            raise self._damaged(f"its first row, {number}, is not as it was written")
        head = json.loads(content)
        return Head(**{**head, "keys": tuple(tuple(key) for key in head["keys"])})

    def since(self, number: int, chain: str) -> list[Row]:
        """Read the writes after the one of a number, whose hash is `chain`."""
        rows: list[Row] = []
        while found := self._since(number, chain):
            number, chain = found[-1].number, found[-1].hash
            rows += found
        return rows

    def _since(self, number: int, chain: str) -> list[Row]:
        """Read the next of them."""
        rows = []
        select = "SELECT number, record, hash FROM writes WHERE number > ? ORDER BY number LIMIT 1000"
        for found, content, written in self._execute(select, (number,)):
            if found != number + 1:
                raise self._damaged(f"write {number + 1} is missing and others follow it")
            if type(content) is not bytes or written != _hash(chain, found, content):
                raise self._damaged(f"write {found} is not as it was written")
            number, chain = found, written
            rows.append(Row(number, json.loads(content), chain))
        return rows

    def append(self, record: Record, number: int, chain: str) -> Row:
        """Append a write behind the last one, whose number and hash are given; only in a `transaction`."""
        content = json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
        row = Row(number + 1, record, _hash(chain, number + 1, content))
        self._execute("INSERT INTO writes VALUES (?, ?, ?)", (row.number, content, row.hash))
        self._appended = row
        return row

    def begin(self, head: Head) -> None:
        """Forget the writes up to a number, which the model holds now; only in a `transaction`."""
        content = json.dumps(asdict(head), ensure_ascii=False).encode()
        self._execute("DELETE FROM writes WHERE number <= ?", (head.number,))
        values = (head.number, content, _hash("head", head.number, content))
        self._execute("INSERT INTO writes VALUES (?, ?, ?)", values)

    def check_end(self, held: int) -> None:
        """Refuse writes that end before the last one that was acknowledged, unless the model holds it."""
        try:
            number = int(self._last_path.read_text(encoding="ascii").split()[0])
        except FileNotFoundError:
            return
        except (OSError, ValueError, IndexError):
            _LOGGER.warning("%s cannot be read: writes may be missing at the end", self._last_path.name)
            return
        ((found,),) = self._execute("SELECT max(number) FROM writes")
        if number > max(found or 0, held):
            raise self._damaged(f"it ends before write {number}, which was acknowledged")

    def truncate(self) -> None:
        """Move SQLite's log into the file and empty it, unless somebody reads at this moment."""
        with suppress(OSError):
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file; once is enough."""
        self._is_closed = True
        with self._opening:
            for connection in (self._watcher, self._connection):
                if connection is not None:
                    connection.close()
            self._watcher = self._connection = None

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with _explaining(self.path):
            return self._open().execute(statement, values).fetchall()

    @contextmanager
    def _between(self, begin: str) -> Iterator[None]:
        connection = self._open()
        with _explaining(self.path):
            _execute_patiently(connection, begin)
        try:
            yield
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                problem = _explained(error, self.path)
                if self._appended is None or not isinstance(problem, OSError) or problem.errno != errno.EIO:
                    raise problem from error
                self._has_failed = True
                raise UncertainWriteError(problem.errno, problem.strerror) from error
        except BaseException:
            self._appended = None
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise

    def _open(self) -> sqlite3.Connection:
        """Connect, and see what is there; on a full disk this fails, and is tried again the next time."""
        if self._is_closed:
            raise OSError(errno.EBADF, "the file of writes is closed")
        with self._opening, _explaining(self.path):
            if self._connection is None:
                connection = _connected(self.path)
                try:
                    self._recover(connection)
                    self._inode = self.path.stat().st_ino
                    self._watcher = _connected(self.path)
                except BaseException:
                    connection.close()
                    raise
                self._connection = connection
            return self._connection

    def _recover(self, connection: sqlite3.Connection) -> None:
        """Say what a crash has left at the end, put all of it on the disk, and look for damage."""
        _execute_patiently(connection, _TABLE)
        log = self._log
        with closing(_connected(self.path)) as other:
            _execute_patiently(connection, "BEGIN IMMEDIATE")  # nobody writes while the log is measured
            size = log.stat().st_size if log.exists() else 0
            _, frames, _ = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            connection.execute("ROLLBACK")
        left = size - (32 + max(frames, 0) * _FRAME if frames > 0 else 0)
        if left > 32:
            _LOGGER.warning(
                "%s: records may be missing: %d bytes at the end are no whole write. A crash during a write leaves "
                "such bytes, and so does damage.", self.path.name, left,
            )  # fmt: skip
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (sound,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != "ok":
            raise self._damaged(f"SQLite finds {sound[:200]}")

    def _note_last(self, row: Row) -> None:
        """Name the last write that will be acknowledged; a power cut may lose this, a killed process does not."""
        with suppress(OSError):
            descriptor = os.open(self._last_path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, f"{row.number:020d}\n".encode())
            finally:
                os.close(descriptor)

    def _damaged(self, what: str) -> DamagedWritesError:
        return DamagedWritesError(
            f"Expected the writes in {self.path} as they were written, but {what}: it is damaged. {_ADVICE}"
        )


def _connected(path: Path) -> sqlite3.Connection:
    """Open a database whose commits wait for the disk; its log is emptied by us only, and what is dropped is wiped."""
    connection = sqlite3.connect(path, timeout=_TRY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA page_size={_PAGE}")
        _execute_patiently(connection, "PRAGMA journal_mode=WAL")
        for setting in ("synchronous=FULL", "wal_autocheckpoint=0", "secure_delete=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {setting}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _execute_patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Execute a statement that others may keep waiting."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > deadline:
                raise


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as those of the service."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(error, path) from error


def _explained(error: sqlite3.Error, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    if code in _NO_ROOM:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    if code & 0xFF in _NOT_WRITABLE:
        return OSError(errno.EROFS, f"{path.name} cannot be opened or written", str(path))
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OSError(errno.EBUSY, "others were writing for too long", str(path))
    if code & 0xFF == sqlite3.SQLITE_IOERR:
        return OSError(errno.EIO, os.strerror(errno.EIO), str(path))
    if isinstance(error, sqlite3.ProgrammingError):
        return OSError(errno.EBADF, "the file of writes is closed", str(path))
    return DamagedWritesError(
        f"Expected the writes of a service in {path}, but SQLite says: {error}. The file is damaged. {_ADVICE}"
    )


def _hash(chain: str, number: int, content: bytes) -> str:
    return hashlib.sha256(f"{chain} {number} ".encode() + content).hexdigest()
