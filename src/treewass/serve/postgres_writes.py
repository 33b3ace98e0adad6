"""The writes to a model in PostgreSQL, where services on several machines share them."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from treewass.serve.writes import DamagedWritesError, UncertainWriteError, Writes
from treewass.stores.postgres_tables import connect, postgres_errors, prepare_schema

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresWrites"]

_CHANNEL = "treewass_writes"
_LOCK = 0x7472656577777269  # of the one who writes
_STATEMENT_SECONDS = 20.0  # after which a connection is cut


class PostgresWrites(Writes):
    """The writes in a table of a database, with the same chain of hashes as those in a file.

    One service writes at a time. The others are told, and read what came since; whoever was not told, because a
    connection broke, finds it when it connects again. Whatever the database fails to do, also within
    `_STATEMENT_SECONDS`, is an OSError.

    Parameters
    ----------
    dsn : str
        How to reach the database.
    """

    is_shared = True
    is_read_only = False
    n_bytes = 0  # the database sees to its own size

    def __init__(self, dsn: str) -> None:
        self.path = "the database"  # type: ignore[assignment]
        self._dsn = dsn
        self._database: Connection[Any] | None = None
        self._listener: Connection[Any] | None = None
        self._is_closed = self._has_written = False
        self._appended = None
        connection = self._connected()
        with postgres_errors(), cut_if_silent(connection), connection.transaction():
            prepare_schema(connection)

    def wait_for_news(self, seconds: float) -> bool:
        """Wait until somebody has written, or may have, at most some seconds; for one thread, which does only this."""
        with postgres_errors():
            if self._listener is None or self._listener.closed:
                self._listener = connect(self._dsn)
                with cut_if_silent(self._listener):
                    self._listener.execute(f"LISTEN {_CHANNEL}")
                return True
            try:
                return bool(list(self._listener.notifies(timeout=seconds, stop_after=1)))
            except BaseException:
                self._listener.close()
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read at one moment."""
        self._connected()
        with self._between("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"):
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let one service at a time write; what was appended is in the database in the end, or nothing is.

        It is an UncertainWriteError if the connection broke when that could not be said any more.
        """
        self._connected()
        self._has_written = False
        with self._between("BEGIN"):
            self._execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
            yield
            if self._has_written:
                self._execute("SELECT pg_notify(?, '')", (_CHANNEL,))

    @contextmanager
    def _between(self, begin: str) -> Iterator[None]:
        self._execute(begin)
        try:
            yield
        except BaseException:
            with suppress(OSError, ValueError):
                self._execute("ROLLBACK")
            raise
        try:
            self._execute("COMMIT")
        except OSError as error:
            if self._has_written and begin == "BEGIN":
                raise UncertainWriteError(errno.EIO, str(error)) from error
            raise

    def check_end(self, held: int) -> None:
        """Do nothing: a database does not lose the end of a table."""

    def truncate(self) -> None:
        """Do nothing: the database sees to its own files."""

    def close(self) -> None:
        """Close the connections; once is enough."""
        self._is_closed = True
        for connection in (self._listener, self._database):
            if connection is not None:
                connection.close()

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Run a statement on the connection that `_connected` gave: never on a new one, in the middle of something."""
        self._has_written |= statement.startswith(("INSERT", "DELETE"))
        connection: Connection[Any] = self._database  # type: ignore[assignment]
        translated = f"{statement} ".replace(" writes ", f" {_CHANNEL} ").replace("?", "%s")
        with postgres_errors(), cut_if_silent(connection):
            done = connection.execute(translated, values)
            return done.fetchall() if done.description else []

    def _connected(self) -> Connection[Any]:
        """Return the connection, or a new one where it broke; only where nothing has begun."""
        if self._is_closed:
            raise OSError(errno.EBADF, "the writes are closed")
        if self._database is None or self._database.closed:
            self._database = connect(self._dsn)
        return self._database

    def _damaged(self, what: str) -> DamagedWritesError:
        return DamagedWritesError(
            f"Expected the writes in the database as they were written, but {what}. Restore the table {_CHANNEL} from "
            "a backup; to give up the writes, drop its rows."
        )


@contextmanager
def cut_if_silent(connection: Connection[Any]) -> Iterator[None]:
    """Cut a connection that takes too long: a server may be stopped, or its machine gone, without a word.

    Time limits of PostgreSQL itself end with it, and those of TCP ask its machine only.
    """
    with postgres_errors():
        other = socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM)

    def cut() -> None:
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(_STATEMENT_SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        other.close()
