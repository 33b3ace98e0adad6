"""Filters mean the same in a model, in PostgreSQL, and in plain Python."""

import operator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewass import DocumentModel
from treewass.documents.filters import OPERATORS, parse_filter
from treewass.stores import PostgresIndex, export_model

COMPARISONS = dict(
    zip(OPERATORS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
)
WORDS = ["a", "B", "b", "é", "z", "_", "漢", "😀", "O'Hara; DROP TABLE documents_1; --", "%s %(k)s", "{}", "<"]
COLUMNS = {
    "Year": [number % 7 + 1990 if number % 5 else None for number in range(24)],
    "a name of more than forty, and of more than sixty-three characters, 100 %": [n / 2 for n in range(24)],
    'vector" OR 1=1; --': [WORDS[number % 12] if number % 3 else None for number in range(24)],
    "known": [2**53 + number % 3 for number in range(24)],
    "xmin": [number % 4 for number in range(24)],
}


@pytest.fixture(scope="module")
def model():
    labels = [WORDS[number % 4] for number in range(24)]
    return DocumentModel(n_neighbors=1, metric="bow").fit([f"cat {n}" for n in range(24)], labels, columns=COLUMNS)


@pytest.fixture(scope="module")
def index(model, server):
    import psycopg

    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE filters")
    dsn = server.dsn.replace("/postgres?", "/filters?")
    export_model(model, "postgres", dsn)
    kinds = {name: type(values[1]) for name, values in COLUMNS.items()}
    with PostgresIndex(dsn, model.metric_.for_float32(), columns=kinds) as opened:
        yield opened


def numbers(near):
    return st.sampled_from([*near, 10**400, -(10**400)]) | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)


def filters():
    """Filters of every form, on every column."""
    values = {
        "label": st.sampled_from(WORDS),
        "id": numbers([0, 3, 23, 5.0, 7.5]),
        **dict(zip(COLUMNS, (numbers([1991, 1993.5]), numbers([1, 2.5]), st.sampled_from(WORDS)), strict=False)),
        "xmin": numbers([0, 2]),
        "known": numbers([2**53, 2**53 + 1]).filter(lambda value: not isinstance(value, float)),
    }

    def forms(one):
        ordered = st.tuples(st.sampled_from(OPERATORS), one)
        pair = ordered | st.tuples(st.sampled_from(OPERATORS[:2]), st.none())
        return (
            one | st.none() | st.lists(one | st.none(), max_size=3) | pair | st.lists(pair | pair.map(list), max_size=3)
        )

    every = [st.tuples(st.just(name), forms(one)) for name, one in values.items()]
    return st.lists(st.one_of(every), max_size=3).map(dict)


def passes(found, condition):
    """The obvious meaning of a condition."""
    if condition.operator == "in":
        return found in condition.value
    if condition.operator not in ("==", "!=") and found is None:
        return False
    return COMPARISONS[condition.operator](found, condition.value)


def expected(where):
    rows = [
        {"id": n, "label": WORDS[n % 4], **{name: values[n] for name, values in COLUMNS.items()}} for n in range(24)
    ]
    return [row["id"] for row in rows if all(passes(row[c.column], c) for c in parse_filter(where))]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=filters())
def test_a_filter_means_the_same_everywhere(model, index, where):
    found = expected(where)
    assert model.contents_.matching(where).tolist() == found
    query = model.contents_.count(["cat"])
    assert sorted(index.search(query, 24, where=where)[1][0].tolist()) == found


def test_names_that_sql_would_take_for_something_else(index, model):
    (row,) = index.documents([5])
    assert row == {
        "id": 5, "key": None, "label": "B", "title": None, "text": "cat 5", **{n: v[5] for n, v in COLUMNS.items()}
    }  # fmt: skip
    added = index.add(model.contents_.count(["cat"]), columns={name: [values[1]] for name, values in COLUMNS.items()})
    index.remove(added)


@pytest.mark.parametrize("name", ["", "id", "a\nb", "a\0b"])
def test_names_that_cannot_be_kept_are_refused(dsn, model, name):
    with pytest.raises(ValueError, match="Expected printable names of columns other than id"):
        PostgresIndex(dsn, model.metric_.for_float32(), columns={name: int})


@pytest.mark.parametrize("table", ["x; DROP TABLE y", 'a"b', "Upper", "x" * 41, "1x", "", "%s"])
def test_names_of_tables_that_are_no_names_are_refused(dsn, model, table):
    with pytest.raises(ValueError, match="Expected a table name of at most 40 small letters"):
        PostgresIndex(dsn, model.metric_.for_float32(), table=table)
