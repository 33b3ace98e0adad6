"""An exact index in PostgreSQL: sparse vectors of pgvector, compared by its L1 distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_integer
from treewass.documents.histograms import check_counts, first_few, warn_about_empty_rows
from treewass.search.snapshot import NEVER_FOUND, as_ids
from treewass.stores.postgres_filters import check_value, compile_filter
from treewass.stores.postgres_tables import KINDS, database_name
from treewass.stores.postgres_vectors import binary_vectors, text_vectors
from treewass.stores.postgres_versions import VersionedTable
from treewass.trees.embedding import embed_units, refuse_unknown, unknown_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from psycopg import Connection
    from scipy.sparse import csr_array

__all__ = ["PostgresIndex"]

_MOST_NONZEROS = 16_000  # that pgvector holds
_MOST_CANDIDATES = 1000  # that pgvector's graph returns
_GRAPH_ROWS = "known AND nonzeros <= 1000"  # pgvector's graph takes no more
_DISTANCE = "vector <+> %(query)s::sparsevec"
# Tables are filled in as identifiers, values as parameters: hence `nosec`.
# The graph orders by the distance itself, not by the whole number that exact searches order by: they never use it.
_NEAREST = (
    f"SELECT id, ({_DISTANCE})::int8 AS units FROM {{table}} WHERE known{{more}} "  # nosec B608
    "ORDER BY units, id LIMIT %(k)s"
)
_NEAR = (
    f"WITH near AS MATERIALIZED (SELECT id, {_DISTANCE} AS distance FROM {{table}} "  # nosec B608
    f"WHERE {_GRAPH_ROWS}{{more}} "
    f"ORDER BY {_DISTANCE} LIMIT %(ef)s), long AS (SELECT id, {_DISTANCE} FROM {{table}} "
    "WHERE known AND nonzeros > 1000{more}) SELECT id, distance::int8 AS units FROM "
    "(TABLE near UNION ALL TABLE long) AS candidates ORDER BY units, id LIMIT %(k)s"
)
_WITHIN = (
    f"SELECT id, ({_DISTANCE})::int8 AS units FROM {{table}} "  # nosec B608
    f"WHERE known AND {_DISTANCE} <= %(units)s{{more}} ORDER BY units, id"
)
_ALL = f"SELECT id, ({_DISTANCE})::int8 FROM {{table}} WHERE known ORDER BY id"  # nosec B608
_CHOSEN = f"SELECT id, ({_DISTANCE})::int8, known FROM {{table}} WHERE id = ANY(%(ids)s)"  # nosec B608


class PostgresIndex(VersionedTable):
    """Documents in a PostgreSQL table, searched exactly by pgvector, with texts and further columns beside the vectors.

    Ids, order and distances are those of a `TreeIndex` of the same metric. Every call is a transaction; any number of
    threads, processes and machines may read and write at once.

    Parameters
    ----------
    dsn : str
        How to reach the database, such as ``"postgresql://user@host/database"``. The server needs pgvector,
        0.8 or later.
    metric : TreeMetric
        Trees and word masses, with a unit coarse enough for float32: ``metric.for_float32()``.
    table : str, default="documents"
        Name of the table. It is made if there is none.
    columns : mapping of str to type, optional
        Further columns of a new table, such as ``{"created": datetime}``: str, int, float, bool, datetime or date. The
        columns ``key`` (unique), ``label``, ``title`` and ``text`` are always there, as str unless given here.
    max_connections : int, default=4
        Connections to keep at most; further threads wait.

    Attributes
    ----------
    metric : TreeMetric
    columns : mapping of str to type
        The columns that `add` fills and `where` may name.

    See Also
    --------
    treewass.TreeIndex : The same in memory, faster by far.

    Examples
    --------
    ::

        metric = model.metric_.for_float32()
        with PostgresIndex("postgresql:///news", metric, columns={"year": int}) as index:
            index.add(counts, columns={"label": labels, "text": texts, "year": years})
            distances, ids = index.search(queries, k=10, where={"label": "sports", "year": (">", 1990)})
    """

    _has_graph = False

    def __len__(self) -> int:
        return int(self._read("SELECT count(*) FROM {table}")[0][0])

    def __repr__(self) -> str:
        return f"PostgresIndex({self.metric!r}, table={self._version.table!r})"

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the documents held, ascending, shape (n_documents,)."""
        return np.array([row[0] for row in self._read("SELECT id FROM {table} ORDER BY id")], dtype=np.int64)

    def add(
        self, X: Any, ids: ArrayLike | None = None, *, columns: Mapping[str, Sequence[Any]] | None = None
    ) -> NDArray[np.int64]:
        """Add documents, all of them or none.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_documents, n_words)
            Counts or weights. A document without a known word is held under its id, with a warning, but is never a
            neighbour.
        ids : array-like of int, shape (n_documents,), optional
            Unique and not in the table yet. By default the next numbers, which are never used twice.
        columns : mapping of str to sequence of length n_documents, optional
            Values of columns, such as ``{"label": labels}``; None where a document has none.

        Returns
        -------
        ndarray of int64, shape (n_documents,)
            The ids of the documents added.
        """
        from psycopg.sql import SQL, Identifier

        counts = check_counts(X, n_words=self.metric.n_words, caller="TreeMetric")
        given = None if ids is None else as_ids(ids)
        if given is not None and given.size != counts.shape[0]:
            raise ValueError(f"Expected one id per document ({counts.shape[0]}), got {given.size}.")
        filled = self._check_values(columns or {}, counts.shape[0])
        units = self._embed(counts)
        unknown = unknown_rows(self.metric, counts)
        known = ~np.isin(np.arange(counts.shape[0]), unknown)
        added = self._new_ids(given, counts.shape[0])  # in a transaction of its own: others need not wait for the rest
        names = ["id", "known", "nonzeros", "vector", *map(database_name, filled)]
        kinds = ["int8", "bool", "int4", "bytea", *(KINDS[self.columns[name]] for name in filled)]
        copying = SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
            Identifier(self._version.table), SQL(", ").join(map(Identifier, names))
        )
        with self.transaction() as connection:
            self._refuse_retired(connection)
            with connection.cursor().copy(copying) as copy:
                copy.set_types(kinds)
                rows = zip(
                    added.tolist(),
                    known.tolist(),
                    np.diff(units.indptr).tolist(),
                    binary_vectors(units),
                    *filled.values(),
                    strict=True,
                )
                for row in rows:
                    copy.write_row(row)
        warn_about_empty_rows(unknown, NEVER_FOUND)
        return added

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents by their ids.

        Parameters
        ----------
        ids : array-like of int
            All of them must be in the table; otherwise nothing is removed.
        """
        wanted = np.unique(as_ids(ids))
        with self.transaction() as connection:
            self._refuse_retired(connection)
            gone = self._run(
                connection, "DELETE FROM {table} WHERE id = ANY(%(ids)s) RETURNING id", ids=wanted.tolist()
            )
            _refuse_absent(np.setdiff1d(wanted, [row[0] for row in gone]))

    def documents(self, ids: ArrayLike) -> list[dict[str, Any]]:
        """Return what is written in the columns of documents.

        Parameters
        ----------
        ids : array-like of int
            Documents in the table, in any order.

        Returns
        -------
        list of dict
            ``id`` and every column, for each document.
        """
        from psycopg.sql import SQL, Identifier

        wanted = as_ids(ids)
        names = ["id", *self.columns]
        chosen = SQL("SELECT {} FROM {} WHERE id = ANY(%(ids)s)").format(
            SQL(", ").join(Identifier(database_name(name)) for name in names), Identifier(self._version.table)
        )
        with self.transaction() as connection:
            rows = connection.execute(chosen, {"ids": wanted.tolist()}).fetchall()
        found = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
        _refuse_absent(np.setdiff1d(wanted, list(found)))
        return [found[number] for number in wanted.tolist()]

    def search(
        self,
        X: Any,
        k: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        approximate: bool = False,
        ef: int = 100,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest documents of each query.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words)
            Counts or weights, each row with at least one known word.
        k : int, default=10
            Neighbours per query, at least 1.
        where : mapping, optional
            Which documents may be found, as in `DocumentModel.similar`: for each column named a value, a list of
            values, or a pair of an operator (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``) and a value, such as
            ``{"label": "sports", "year": (">", 1990)}``. Of a list of pairs all must hold. None means that there is no
            value. ``id`` may be named, too.
        approximate : bool, default=False
            Walk the graph of `build_graph` instead of comparing with every document: faster, and some neighbours may be
            missed. Documents of more than 1000 non-zeros, which no graph holds, are always compared. PostgreSQL reads
            a small table whole instead, where that is cheaper.
        ef : int, default=100
            Candidates that the graph gives, at most 1000; at least `k` are taken. More find more.

        Returns
        -------
        distances : ndarray of float64, shape (n_queries, min(k, n))
            Ascending; n is the number of documents that hold a known word and that `where` lets pass.
        ids : ndarray of int64, shape (n_queries, min(k, n))
            Ties are in ascending order of id.
        """
        k = check_integer("k", k)
        queries = self._queries(X)
        conditions, values = compile_filter(where, {"id": int, **self.columns})
        is_first, found = not self._in_transaction, []
        with self.transaction() as connection:
            if is_first and len(queries) > 1:  # all queries see the same documents
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            if approximate:
                self._prepare_graph(connection, max(k, check_integer("ef", ef)), bool(conditions))
            for query in queries:
                given = {**values, "query": query, "k": k, "ef": max(k, ef)}
                rows = self._run(connection, _NEAR, conditions, **given) if approximate else []
                found.append(rows if len(rows) == k else self._run(connection, _NEAREST, conditions, **given))
        units = np.array([[row[1] for row in rows] for rows in found], dtype=np.float64)
        ids = np.array([[row[0] for row in rows] for rows in found], dtype=np.int64)
        shape = (len(queries), -1) if queries else (0, 0)
        return np.ldexp(units, -self.metric.fraction_bits).reshape(shape), ids.reshape(shape)

    def within(
        self, X: Any, radius: float, *, where: Mapping[str, Any] | None = None
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find all documents within a radius of each query.

        Parameters
        ----------
        X : sparse matrix or array-like of shape (n_queries, n_words)
            Counts or weights, each row with at least one known word.
        radius : float
            The largest distance to return, at least 0.
        where : mapping, optional
            As in `search`.

        Returns
        -------
        distances : list of ndarray of float64
            One array per query, ascending.
        ids : list of ndarray of int64
            The ids of these documents; ties are in ascending order.
        """
        if not radius >= 0:
            raise ValueError(f"Expected a radius of at least 0, got {radius}.")
        units = int(min(np.floor(np.ldexp(float(radius), self.metric.fraction_bits)), 2**31))
        conditions, values = compile_filter(where, {"id": int, **self.columns})
        with self.transaction() as connection:
            rows = [
                self._run(connection, _WITHIN, conditions, **values, query=query, units=units)
                for query in self._queries(X)
            ]
        columns = [self._arrays(own) for own in rows]
        return [distances for distances, _ in columns], [ids for _, ids in columns]

    def distances(self, x: Any, ids: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Compute the distances of one document to all documents that hold a known word, or to chosen ones.

        Parameters
        ----------
        x : sparse matrix or array-like of shape (1, n_words)
            Counts or weights, with at least one known word.
        ids : array-like of int, optional
            Documents to compare with, in any order, each in the table and with a known word. By default all that hold
            one, in ascending order of id.

        Returns
        -------
        distances : ndarray of float64, shape (n,)
        ids : ndarray of int64, shape (n,)
            The documents that the distances belong to.
        """
        queries = self._queries(x, "x")
        if len(queries) != 1:
            raise ValueError(f"Expected one document, got {len(queries)} rows. Use search for several.")
        if ids is None:
            return self._arrays(self._read(_ALL, query=queries[0]))
        wanted = as_ids(ids)
        rows = self._read(_CHOSEN, query=queries[0], ids=wanted.tolist())
        found = {number: units for number, units, _ in rows}
        _refuse_absent(np.setdiff1d(wanted, list(found)))
        empty = sorted(number for number, _, known in rows if not known)
        if empty:
            raise ValueError(f"Expected documents with a known word, but those of ids {first_few(empty)} have none.")
        return self._arrays([(number, found[number]) for number in wanted.tolist()])

    def build_graph(self) -> None:
        """Build the graph that approximate searches walk (HNSW); PostgreSQL keeps it up to date from then on.

        It takes a while, during which others read but do not write.
        """
        from psycopg.sql import SQL, Identifier

        making = SQL("CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (vector sparsevec_l1_ops) WHERE " + _GRAPH_ROWS)
        with self.transaction() as connection:
            connection.execute(making.format(Identifier(self._graph), Identifier(self._version.table)))

    @property
    def _graph(self) -> str:
        return f"{self._version.table}_graph"

    def _prepare_graph(self, connection: Connection[Any], ef: int, filtered: bool) -> None:
        """Set how far this transaction walks the graph; refuse a walk where there is none."""
        if ef > _MOST_CANDIDATES:
            raise ValueError(f"Expected k and ef of at most {_MOST_CANDIDATES} with approximate=True, got {ef}.")
        if not self._has_graph:
            found = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [self._graph]).fetchone()
            if not (found and found[0]):
                raise ValueError("Expected a graph for approximate=True, but there is none. Call build_graph() first.")
            self._has_graph = True
        connection.execute(
            "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', %s, true)",
            [str(ef), "relaxed_order" if filtered else "off"],
        )

    def _check_values(self, columns: Mapping[str, Sequence[Any]], count: int) -> dict[str, list[Any]]:
        """Demand a value of the right kind for each document, or None."""
        filled = {}
        for name, values in columns.items():
            if name not in self.columns:
                raise ValueError(f"Expected columns of the table ({', '.join(self.columns)}), got {name!r}.")
            listed = list(values)
            if len(listed) != count:
                raise ValueError(f"Expected one value per document ({count}) in column {name}, got {len(listed)}.")
            kind = self.columns[name]
            filled[name] = [None if value is None else check_value(name, kind, value) for value in listed]
        return filled

    def _embed(self, counts: csr_array) -> csr_array:
        units = embed_units(self.metric, counts)
        long = np.flatnonzero(np.diff(units.indptr) > _MOST_NONZEROS)
        if long.size:
            raise ValueError(
                f"Expected at most {_MOST_NONZEROS} non-zeros in a vector, which is what pgvector holds, but "
                f"{long.size} row(s) have more: {first_few(long)}. Leave them out, or split them."
            )
        return units

    def _queries(self, X: Any, name: str = "X") -> list[str]:
        """Write queries, which must hold a known word, as pgvector reads them."""
        counts = check_counts(X, n_words=self.metric.n_words, caller="TreeMetric")
        refuse_unknown(self.metric, counts, name)
        return text_vectors(self._embed(counts))

    def _arrays(self, rows: Sequence[tuple[Any, ...]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Turn rows of id and units into arrays of distances and ids."""
        units = np.array([row[1] for row in rows], dtype=np.float64)
        return np.ldexp(units, -self.metric.fraction_bits), np.array([row[0] for row in rows], dtype=np.int64)


def _refuse_absent(ids: NDArray[np.int64]) -> None:
    if ids.size:
        raise ValueError(f"No documents in the table have the ids {first_few(ids)}.")
