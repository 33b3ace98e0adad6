"""The writes to a model in PostgreSQL, where services on several machines share them."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from treewass.compute.extras import require
from treewass.serve.writes import DamagedWritesError, UncertainWriteError, Writes
from treewass.stores.postgres_tables import postgres_errors, prepare_schema

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresWrites"]

_CHANNEL = "treewass_writes"
_LOCK = 0x7472656577777269  # of the one who writes


class PostgresWrites(Writes):
    """The writes in a table of a database, with the same chain of hashes as those in a file.

    One service writes at a time. The others are told, and read what came since; whoever was not told, because a
    connection broke, finds it when it connects again. Whatever the database fails to do is an OSError.

    Parameters
    ----------
    dsn : str
        How to reach the database.
    """

    is_shared = True

    def __init__(self, dsn: str) -> None:
        self.path = "the database"  # type: ignore[assignment]
        self._dsn = dsn
        self._lock = threading.RLock()
        self._database: Connection[Any] | None = None
        self._listener: Connection[Any] | None = None
        self._is_closed = self._has_written = False
        self._version = 0
        with postgres_errors(), self._connected().transaction():
            prepare_schema(self._connected())
        self._appended = None

    @property
    def n_bytes(self) -> int:
        """Bytes of the table."""
        with postgres_errors(), closing(self._new_connection()) as connection:
            found = connection.execute("SELECT pg_total_relation_size(%s)", [_CHANNEL]).fetchone()
        return int(found[0]) if found else 0

    def version(self) -> int:
        """Return a number that is another one after a commit, or after what may have been one."""
        with self._lock, postgres_errors():
            if self._listener is None or self._listener.closed:
                self._listener = self._new_connection()
                self._listener.execute(f"LISTEN {_CHANNEL}")
                self._version += 1
            try:
                self._version += len(list(self._listener.notifies(timeout=0)))
            except BaseException:
                self._listener.close()
                raise
            return self._version

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read at one moment."""
        with postgres_errors(), self._connected().transaction():
            self._execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let one service at a time write; what was appended is in the database in the end, or nothing is.

        It is an UncertainWriteError if the connection broke when that could not be said any more.
        """
        with postgres_errors():
            connection = self._connected()
            self._has_written = is_done = False
            try:
                with connection.transaction():
                    self._execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
                    yield
                    if self._has_written:
                        self._execute("SELECT pg_notify(?, '')", (_CHANNEL,))
                    is_done = True
            except require("psycopg", extra="stores", purpose="PostgreSQL").OperationalError as error:
                if is_done and self._has_written:
                    raise UncertainWriteError(errno.EIO, f"PostgreSQL went away: {error}") from error
                raise

    def check_end(self, held: int) -> None:
        """Do nothing: a database does not lose the end of a table."""

    def truncate(self) -> None:
        """Do nothing: the database sees to its own files."""

    def close(self) -> None:
        """Close the connections; once is enough."""
        self._is_closed = True
        with self._lock, suppress(OSError):
            for connection in (self._listener, self._database):
                if connection is not None:
                    connection.close()

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Run a statement in the transaction that `reading` or `transaction` began: never on a new connection."""
        self._has_written |= statement.startswith(("INSERT", "DELETE"))
        with postgres_errors():
            translated = f"{statement} ".replace(" writes ", f" {_CHANNEL} ").replace("?", "%s")
            done = self._database.execute(translated, values)  # type: ignore[union-attr]
            return done.fetchall() if done.description else []

    def _connected(self) -> Connection[Any]:
        """Return the connection, or a new one where it broke; only where nothing has begun."""
        if self._is_closed:
            raise OSError(errno.EBADF, "the writes are closed")
        if self._database is None or self._database.closed:
            self._database = self._new_connection()
        return self._database

    def _new_connection(self) -> Connection[Any]:
        with postgres_errors():
            made: Connection[Any] = require("psycopg", extra="stores", purpose="PostgreSQL").connect(
                self._dsn, autocommit=True
            )
        return made

    def _damaged(self, what: str, *_: str) -> DamagedWritesError:
        return DamagedWritesError(
            f"Expected the writes in the database as they were written, but {what}. Restore the table {_CHANNEL} from "
            "a backup; to give up the writes, drop its rows."
        )
