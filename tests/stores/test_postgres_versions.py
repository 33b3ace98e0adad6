"""Tables in versions: one for each metric, with a schema that follows."""

import psycopg
import pytest

from tests.stores.cases import COUNTS, METRIC, QUERIES, random_metric
from treewass.stores import PostgresIndex, postgres_tables

pytestmark = pytest.mark.slow


def test_another_metric_is_refused_and_gets_a_version_of_its_own(dsn):
    other = random_metric(5)
    with PostgresIndex(dsn, METRIC, columns={"year": int}) as index:
        index.add(COUNTS[:20], columns={"year": range(20)})
        with pytest.raises(ValueError, match=f"digest {METRIC.digest[:12]}…\\), got another one"):
            PostgresIndex(dsn, other)
        with index.with_metric(other) as new, psycopg.connect(dsn, autocommit=True) as listener:
            listener.execute("LISTEN treewass_documents")
            assert len(new) == 0
            assert new.columns == index.columns
            assert new.add(COUNTS[:1]).tolist() == [20]  # no id is given again
            new.add(COUNTS[:20], index.ids)
            index.add(COUNTS[:1])
            with index.with_metric(other) as same:
                assert same.ids.tolist() == new.ids.tolist()
            new.make_current()
            assert [notice.payload for notice in listener.notifies(timeout=60, stop_after=1)] == ["2"]
            for change in (lambda: index.add(COUNTS[:1]), lambda: index.remove([0])):
                with pytest.raises(ValueError, match="version 1 has been followed by another"):
                    change()
            assert index.search(QUERIES[:1], 1)[1].shape == (1, 1)
            new.remove([0])
    with PostgresIndex(dsn, other) as again:
        assert len(again) == 20


def test_columns_must_be_those_of_the_table(dsn):
    with PostgresIndex(dsn, METRIC, columns={"year": int, "label": int}) as index:
        index.add(COUNTS[:2], columns={"label": [4, 5]})
        assert index.search(QUERIES[:1], where={"label": 5})[1].tolist() == [[1]]
    with PostgresIndex(dsn, METRIC) as index:
        assert index.columns["year"] is int
    for columns in ({"year": str}, {"month": int}):
        with pytest.raises(ValueError, match=r"Expected columns that table 'documents' has .*year int"):
            PostgresIndex(dsn, METRIC, columns=columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "x; DROP TABLE y"}, "Expected a table name"),
        ({"table": 'a"b'}, "Expected a table name"),
        ({"table": "x" * 41}, "Expected a table name"),
        ({"columns": {"a": list}}, "Expected one of the types str, int, float, bool, datetime, date"),
        ({"max_connections": 0}, "Expected max_connections as an integer of at least 1"),
    ],
)
def test_names_that_are_none_are_refused(dsn, arguments, message):
    with pytest.raises(ValueError, match=message):
        PostgresIndex(dsn, METRIC, **arguments)
    with PostgresIndex(dsn, METRIC) as index:
        assert index.add(COUNTS[:1]).tolist() == [0]


def test_an_older_schema_is_brought_forward_and_a_later_one_refused(dsn, monkeypatch):
    with PostgresIndex(dsn, METRIC) as index:
        index.add(COUNTS[:3])
    with monkeypatch.context() as patch:
        later = (*postgres_tables._STEPS, "ALTER TABLE treewass_tables ADD COLUMN note text")
        patch.setattr(postgres_tables, "_STEPS", later)
        for _ in range(2):
            with PostgresIndex(dsn, METRIC) as index:
                assert len(index) == 3
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT version FROM treewass_schema").fetchall() == [(3,)]
        assert connection.execute("SELECT note FROM treewass_tables").fetchall() == [(None,)]
    with pytest.raises(ValueError, match="Expected tables of schema version 2 or lower, found 3"):
        PostgresIndex(dsn, METRIC)
