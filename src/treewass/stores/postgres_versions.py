"""A table of documents in PostgreSQL: connections, transactions, and versions for one metric each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.compute.extras import require
from treewass.stores.postgres_tables import (
    TableVersion,
    connect,
    make_version,
    patient_dsn,
    postgres_errors,
    prepare_schema,
    table_versions,
)
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray
    from psycopg import Connection
    from psycopg.sql import Composable

__all__ = ["VersionedTable"]


class VersionedTable:
    """Base of `PostgresIndex`: everything but the documents.

    A table has a version for every metric that its documents were ever under. One of them is current; a later one is
    being filled; earlier ones are retired and take no changes.
    """

    def __init__(
        self,
        dsn: str,
        metric: TreeMetric,
        *,
        table: str = "documents",
        columns: Mapping[str, type] | None = None,
        max_connections: int = 4,
    ) -> None:
        pool = require("psycopg_pool", extra="stores", purpose="PostgresIndex")
        self.metric = _checked_metric(metric)
        self._dsn, self._max_connections = dsn, check_integer("max_connections", max_connections)
        self._own = threading.local()  # the connection of a transaction that this thread is in
        with postgres_errors(), connect(dsn) as connection, connection.transaction():
            prepare_schema(connection)
            versions = table_versions(connection, table)
            if versions and metric.digest not in versions:
                _refuse_metric(table, versions, metric)
            found = versions.get(metric.digest)
            self._version = found or make_version(connection, table, metric, columns or {})
            self._check_columns(columns or {})
        self._pool = pool.ConnectionPool(
            patient_dsn(dsn),
            min_size=1,
            max_size=self._max_connections,
            timeout=10,
            open=True,
            check=pool.ConnectionPool.check_connection,
        )

    def _check_columns(self, columns: Mapping[str, type]) -> None:
        other = [name for name, kind in columns.items() if self.columns.get(name) is not kind]
        if other:
            there = ", ".join(f"{name} {kind.__name__}" for name, kind in self.columns.items())
            raise ValueError(f"Expected columns that table {self._version.name!r} has ({there}), got {other[0]!r}.")

    @property
    def columns(self) -> Mapping[str, type]:
        """The columns that `add` fills and `where` may name, with their types."""
        return self._version.columns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection[Any]]:
        """Make several changes of this thread one: all of them, or none if an error leaves the block.

        Yields
        ------
        psycopg.Connection
            For statements of your own in the same transaction.

        Examples
        --------
        ::

            with index.transaction() as connection:
                index.remove([3])
                index.add(counts, columns={"key": ["a new text for 3"]})
                connection.execute("INSERT INTO audit VALUES (now(), 3)")
        """
        if self._in_transaction:
            held: Connection[Any] = self._own.connection
            with postgres_errors(), held.transaction():
                yield held
            return
        with postgres_errors(), self._pool.connection() as connection, connection.transaction():
            self._own.connection = connection
            try:
                yield connection
            finally:
                self._own.connection = None

    @property
    def _in_transaction(self) -> bool:
        return getattr(self._own, "connection", None) is not None

    def with_metric(self, metric: TreeMetric) -> Self:
        """Make a version of the table for another metric, empty, or open the one there is.

        Add all documents to it, then call its `make_current`. Until then everybody reads and writes this version.

        Parameters
        ----------
        metric : TreeMetric
            As in the constructor.

        Returns
        -------
        PostgresIndex
            With connections of its own.
        """
        with self.transaction() as connection:
            prepare_schema(connection)
            if _checked_metric(metric).digest not in table_versions(connection, self._version.name):
                make_version(connection, self._version.name, metric, self.columns)
        return type(self)(self._dsn, metric, table=self._version.name, max_connections=self._max_connections)

    def make_current(self) -> None:
        """Make this the current version: older ones take no changes any more, and those who listen are told.

        The channel is ``treewass_`` and the name of the table, the message the number of the version.
        """
        name, version = self._version.name, self._version.version
        with self.transaction() as connection:
            connection.execute("SELECT FROM treewass_tables WHERE name = %s FOR UPDATE", [name])  # waits for writers
            connection.execute(
                "UPDATE treewass_tables SET state = CASE WHEN version < %(version)s THEN 'retired' WHEN "
                "version = %(version)s THEN 'current' ELSE 'filling' END WHERE name = %(name)s",
                {"name": name, "version": version},
            )
            connection.execute("SELECT pg_notify(%s, %s)", [f"treewass_{name}", str(version)])

    def _new_ids(self, given: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
        """Choose the next ids, or note those given, so that they are never chosen."""
        least = 0 if given is None or not given.size else int(given.max()) + 1
        with self.transaction() as connection:
            (next_id,) = connection.execute(  # type: ignore[misc]
                "UPDATE treewass_tables SET next_id = greatest(next_id + %s, %s) WHERE name = %s AND version = %s "
                "RETURNING next_id",
                [count if given is None else 0, least, self._version.name, self._version.version],
            ).fetchone()
        return np.arange(next_id - count, next_id, dtype=np.int64) if given is None else given

    def _refuse_retired(self, connection: Connection[Any]) -> None:
        """Refuse changes of a version that another one has followed; until the change is made, none can follow."""
        name, version = self._version.name, self._version.version
        (state,) = connection.execute(  # type: ignore[misc]
            "SELECT state FROM treewass_tables WHERE name = %s AND version = %s FOR KEY SHARE", [name, version]
        ).fetchone()
        if state == "retired":
            raise ValueError(
                f"Expected the current version of table {name!r}, but version {version} has been followed by another "
                "one. Open the table with the metric of that version."
            )

    def _read(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run one statement on the table."""
        with self.transaction() as connection:
            return self._run(connection, statement, **values)

    def _run(
        self, connection: Connection[Any], statement: str, conditions: Sequence[Composable] = (), **values: Any
    ) -> list[tuple[Any, ...]]:
        """Run a statement on the table, with further conditions and bound values."""
        from psycopg.sql import SQL, Identifier

        more = SQL("").join(SQL(" AND ") + condition for condition in conditions)
        composed = SQL(statement).format(table=Identifier(self._version.table), more=more)
        return connection.execute(composed, values, prepare=True).fetchall()


def _checked_metric(metric: Any) -> TreeMetric:
    if not isinstance(metric, TreeMetric):
        raise TypeError(f"Expected a TreeMetric, got {type(metric).__name__}.")
    if metric.for_float32() is not metric:
        raise ValueError(
            f"Expected a metric whose distances float32 holds exactly, got {metric.fraction_bits} fraction bits: its "
            "documents may have norms of 2**23 units and more. Use metric.for_float32()."
        )
    return metric


def _refuse_metric(table: str, versions: Mapping[str, TableVersion], metric: TreeMetric) -> NoReturn:
    raise ValueError(
        f"Expected the metric that the documents of table {table!r} are under (digest {list(versions)[-1][:12]}…), got "
        f"another one (digest {metric.digest[:12]}…). Open the table with its own metric; with_metric of that index "
        "makes a version for another one."
    )
