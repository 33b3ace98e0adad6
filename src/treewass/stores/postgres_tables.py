"""The tables of an index in PostgreSQL: their columns, their versions, and the way from an older schema to this one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from treewass.compute.extras import require

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

    from treewass.trees.metric import TreeMetric

__all__ = [
    "KINDS",
    "OWN_COLUMNS",
    "TableVersion",
    "connect",
    "database_name",
    "make_version",
    "patient_dsn",
    "postgres_errors",
    "prepare_schema",
    "table_versions",
]

KINDS: Mapping[type, str] = {
    str: "text", int: "int8", float: "float8", bool: "bool", datetime: "timestamptz", date: "date",
}  # fmt: skip
OWN_COLUMNS: Mapping[str, type] = {"key": str, "label": str, "title": str, "text": str}
_OURS = ("known", "nonzeros", "vector")
_RESERVED = (*_OURS, "cmax", "cmin", "ctid", "tableoid", "xmax", "xmin")  # the others are PostgreSQL's own
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_LONGEST = 63  # bytes of a name that PostgreSQL keeps; it would cut a longer one
_PATIENCE = {
    "connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}  # fmt: skip
_LOCK = 0x7472656577617373  # while the schema changes
# Each statement brings the schema one version on; what has been released is never changed here, only followed.
_STEPS = (
    """CREATE TABLE treewass_tables (
        name text NOT NULL,
        version int NOT NULL,
        metric text NOT NULL,
        columns jsonb NOT NULL,
        state text NOT NULL CHECK (state IN ('filling', 'current', 'retired')),
        next_id int8 NOT NULL,
        PRIMARY KEY (name, version),
        UNIQUE (name, metric))""",
    "CREATE TABLE treewass_writes (number int8 PRIMARY KEY, record bytea NOT NULL, hash text NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One version of a table: the documents under one metric."""

    name: str
    version: int
    columns: Mapping[str, type]  # those that users fill, `OWN_COLUMNS` among them

    @property
    def table(self) -> str:
        """The name of the table in the database."""
        return f"{self.name}_{self.version}"


@contextmanager
def postgres_errors() -> Iterator[None]:
    """Turn errors of psycopg into those that treewass raises."""
    psycopg = require("psycopg", extra="stores", purpose="PostgreSQL")
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise ValueError(
            f"Expected ids and keys that are not in the table yet. {error.diag.message_detail} Remove it first."
        ) from error
    except psycopg.DataError as error:
        raise ValueError(f"Expected values that PostgreSQL can hold: {_first_line(error)}.") from error
    except psycopg.OperationalError as error:
        raise ConnectionError(f"PostgreSQL does not answer: {_first_line(error)}.") from error
    except psycopg.Error as error:
        raise OSError(f"PostgreSQL refused: {_first_line(error)}.") from error


def patient_dsn(dsn: str) -> str:
    """Have a connection fail in seconds, not hours, where the machine of the server does not answer any more.

    What the user says of these settings is kept.
    """
    with postgres_errors():
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        return make_conninfo(dsn, **{**_PATIENCE, **conninfo_to_dict(dsn)})


def connect(dsn: str) -> Connection[Any]:
    """Connect to a server, each statement a transaction of its own."""
    psycopg = require("psycopg", extra="stores", purpose="PostgreSQL")
    with postgres_errors():
        made: Connection[Any] = psycopg.connect(patient_dsn(dsn), autocommit=True)
    return made


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def database_name(column: str) -> str:
    """Return the name of a column in the database: its own, or one like it that PostgreSQL can take.

    Examples
    --------
    >>> database_name("Year"), database_name("vector")
    ('Year', 'vector_b0d51c58')
    """
    if column not in _RESERVED and "%" not in column and len(column.encode()) <= _LONGEST:
        return column
    start = column.replace("%", "_").encode()[: _LONGEST - 9].decode(errors="ignore")
    return f"{start}_{hashlib.sha256(column.encode()).hexdigest()[:8]}"


def prepare_schema(connection: Connection[Any]) -> None:
    """Bring the schema of a database to this version, or refuse one that a later release has made."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    connection.execute("CREATE TABLE IF NOT EXISTS treewass_schema (version int NOT NULL)")
    found = connection.execute("SELECT version FROM treewass_schema").fetchone()
    version = found[0] if found else 0
    if version > len(_STEPS):
        raise ValueError(
            f"Expected tables of schema version {len(_STEPS)} or lower, found {version}: a later treewass has made "
            "them. Install that version."
        )
    for step in _STEPS[version:]:
        connection.execute(step)
    if version < len(_STEPS):
        connection.execute("DELETE FROM treewass_schema")
        connection.execute("INSERT INTO treewass_schema VALUES (%s)", [len(_STEPS)])


def table_versions(connection: Connection[Any], name: str) -> dict[str, TableVersion]:
    """List the versions of a table, oldest first, by the digest of the metric their documents are under."""
    rows = connection.execute(
        "SELECT metric, version, columns FROM treewass_tables WHERE name = %s ORDER BY version", [name]
    ).fetchall()
    kinds = {kind.__name__: kind for kind in KINDS}
    return {
        digest: TableVersion(name, version, {column: kinds[kind] for column, kind in columns.items()})
        for digest, version, columns in rows
    }


def make_version(
    connection: Connection[Any], name: str, metric: TreeMetric, columns: Mapping[str, type]
) -> TableVersion:
    """Make the next version of a table, current if it is the first; no id that another version gave is given again."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            "Expected a table name of at most 40 small letters, digits and underscores, not beginning with a digit, "
            f"got {name!r}."
        )
    wrong = [column for column in columns if not column or not column.isprintable() or column == "id"]
    if wrong:
        raise ValueError(f"Expected printable names of columns other than id, got {wrong[0]!r}.")
    unknown = [kind for kind in columns.values() if kind not in KINDS]
    if unknown:
        known = ", ".join(kind.__name__ for kind in KINDS)
        raise ValueError(f"Expected one of the types {known} for each column, got {unknown[0]!r}.")
    latest, next_id = connection.execute(  # type: ignore[misc]
        "SELECT coalesce(max(version), 0), coalesce(max(next_id), 0) FROM treewass_tables WHERE name = %s", [name]
    ).fetchone()
    made = TableVersion(name, latest + 1, {**OWN_COLUMNS, **columns})
    described = json.dumps({column: kind.__name__ for column, kind in made.columns.items()})
    connection.execute(
        "INSERT INTO treewass_tables (name, version, metric, columns, state, next_id) VALUES (%s, %s, %s, %s, %s, %s)",
        [name, made.version, metric.digest, described, "filling" if latest else "current", next_id],
    )
    if connection.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
        connection.execute("CREATE EXTENSION vector")
    for statement in _definition(made, metric.n_features):
        connection.execute(statement)
    return made


def _definition(version: TableVersion, n_features: int) -> list[Composed]:
    """Write the statements that make the table, and the index of its long documents, which no graph holds."""
    from psycopg.sql import SQL, Identifier, Literal

    table = Identifier(version.table)
    columns = SQL(", ").join(
        SQL("{} {}").format(Identifier(database_name(column)), SQL(KINDS[kind]))
        for column, kind in version.columns.items()
    )
    return [
        SQL(
            "CREATE TABLE {} (id int8 PRIMARY KEY, {}, known bool NOT NULL, nonzeros int NOT NULL, "
            "vector sparsevec({}) NOT NULL, UNIQUE (key))"
        ).format(table, columns, Literal(n_features)),
        SQL("CREATE INDEX ON {} (id) WHERE known AND nonzeros > 1000").format(table),
    ]
