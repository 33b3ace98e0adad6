"""Parquet postings: exact in DuckDB and ClickHouse, and the same index when read back."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.stores.cases import COUNTS, METRIC, N_WORDS, QUERIES, random_metric
from tests.strategies import documents, metrics
from treewass import EmptyDocumentWarning, Tree, TreeIndex, TreeMetric
from treewass.stores import read_postings, search_sql, write_postings
from treewass.trees import star_tree


def duckdb_rows(sql):
    import duckdb

    with duckdb.connect() as connection:
        return connection.execute(sql).fetchall()


def chdb_rows(sql):
    import chdb

    table = chdb.query(sql, "Arrow")
    import pyarrow

    with pyarrow.ipc.open_file(pyarrow.py_buffer(table.bytes())) as reader:
        return [tuple(row.values()) for row in reader.read_all().to_pylist()]


RUN = {"duckdb": duckdb_rows, "clickhouse": chdb_rows}


def assert_same_rows(rows, distances, ids, metric):
    assert [row[0] for row in rows] == ids.tolist()
    assert [row[1] for row in rows] == np.ldexp(distances, metric.fraction_bits).tolist()
    assert [row[2] for row in rows] == distances.tolist()


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("clickhouse", marks=pytest.mark.slow)])
def test_engines_answer_as_a_tree_index(engine, tmp_path):
    folder = tmp_path / "a 'quoted' folder"
    fine = TreeMetric(METRIC.trees, METRIC.masses)
    flat = TreeMetric(Tree([-1], [0], [0] * N_WORDS, [0] * N_WORDS))
    for number, metric in enumerate((METRIC, fine, TreeMetric.average([fine, random_metric(4)]), flat)):
        index = TreeIndex(metric)
        index.add(COUNTS[::-1], np.arange(300) * 7)
        with pytest.warns(EmptyDocumentWarning):
            index.add(sp.csr_array((1, N_WORDS)))
        write_postings(index, folder / str(number))
        for row in range(5):
            distances, ids = index.search(QUERIES[[row]], 12)
            rows = RUN[engine](search_sql(engine, folder / str(number), metric, QUERIES[[row]], 12))
            assert_same_rows(rows, distances[0], ids[0], metric)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_metric_and_documents(data, tmp_path_factory):
    metric = data.draw(metrics(max_components=2))
    index = TreeIndex(metric)
    index.add(data.draw(documents(metric.n_words, min_rows=2)))
    query = data.draw(documents(metric.n_words, max_rows=1))
    folder = tmp_path_factory.mktemp("postings")
    write_postings(index, folder)
    distances, ids = index.search(query, 3)
    assert_same_rows(duckdb_rows(search_sql("duckdb", folder, metric, query, 3)), distances[0], ids[0], metric)


def test_an_index_is_read_back_without_loss(tmp_path):
    index = TreeIndex(METRIC)
    index.add(COUNTS, np.arange(300)[::-1] * 3)
    wider = sp.hstack([COUNTS[:2], sp.csr_array(np.eye(2))], "csr")  # with words beyond the metric
    index.add(wider)
    index.add(COUNTS[:1])
    index.remove([0, 3, index.ids[-1]])
    write_postings(index, tmp_path / "p", columns={"label": ["a"] * len(index)})
    again = read_postings(tmp_path / "p", n_jobs=2)
    assert again.metric == index.metric
    assert np.array_equal(again.ids, index.ids)
    for name, queries in (("search", QUERIES), ("rank", wider)):
        for one, other in zip(getattr(again, name)(queries, 9), getattr(index, name)(queries, 9), strict=True):
            assert np.array_equal(one, other)
    assert again.add(COUNTS[:1]) == index.add(COUNTS[:1])
    assert duckdb_rows(f"SELECT DISTINCT label FROM '{tmp_path}/p/documents.parquet'") == [("a",)]


def test_empty_indexes(tmp_path):
    index = TreeIndex(METRIC)
    write_postings(index, tmp_path / "empty")
    assert len(read_postings(tmp_path / "empty")) == 0
    assert duckdb_rows(search_sql("duckdb", tmp_path / "empty", METRIC, QUERIES[[0]])) == []
    index.add(COUNTS[:3])
    index.remove([0, 1, 2])
    write_postings(index, tmp_path / "emptied")
    assert read_postings(tmp_path / "emptied").add(COUNTS[:1]).tolist() == [3]


def test_what_is_refused(tmp_path):
    index = TreeIndex(METRIC)
    index.add(COUNTS[:3])
    (tmp_path / "other").write_text("mine")
    with pytest.raises(ValueError, match="Expected a new or empty folder"):
        write_postings(index, tmp_path)
    with pytest.raises(ValueError, match=r"Expected further columns of 3 values.*got 'norm' of 3"):
        write_postings(index, tmp_path / "p", columns={"norm": [1, 2, 3]})
    with pytest.raises(ValueError, match="got 'label' of 2"):
        write_postings(index, tmp_path / "p", columns={"label": ["a", "b"]})
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    write_postings(index, tmp_path / "p")
    for engine, x, message in (
        ("duckdb", QUERIES, "Expected one document, got 25 rows"),
        ("sqlite", QUERIES[[0]], "Expected engine to be one of duckdb, clickhouse, spark"),
        ("duckdb", sp.csr_array((1, N_WORDS)), r"1 row\(s\) of x have none"),
    ):
        with pytest.raises(ValueError, match=message):
            search_sql(engine, tmp_path / "p", METRIC, x)
    with pytest.raises(ValueError, match="Expected the metric of the postings"):
        search_sql("duckdb", tmp_path / "p", random_metric(9), QUERIES[[0]])
    with pytest.raises(ValueError, match="k as an integer of at least 1"):
        search_sql("duckdb", tmp_path / "p", METRIC, QUERIES[[0]], "1; DROP TABLE x")
    with pytest.raises(ValueError, match="Expected a folder whose name clickhouse can read"):
        search_sql("clickhouse", "a\\' b", METRIC, QUERIES[[0]])
    with pytest.raises(ValueError, match=r"there is no .*documents\.parquet"):
        read_postings(tmp_path)
    (tmp_path / "p" / "metric.json").write_text((tmp_path / "p" / "metric.json").read_text().replace("19", "18", 1))
    with pytest.raises(ValueError, match=r"Expected|metric"):
        read_postings(tmp_path / "p")
    (tmp_path / "p" / "documents.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(ValueError, match="is none or damaged"):
        read_postings(tmp_path / "p")


def test_quotes_in_names_are_doubled():
    metric = TreeMetric(star_tree(2))
    assert "read_parquet('a''b; DROP/postings.parquet')" in search_sql("duckdb", "a'b; DROP", metric, [[1, 0]])
    assert "parquet.`a``b/documents.parquet`" in search_sql("spark", "a`b", metric, [[1, 0]])


@pytest.mark.soak
def test_spark_answers_as_a_tree_index(tmp_path, data_folder):
    """Needs pyspark and Java, which no extra brings."""
    from pyspark.sql import SparkSession

    from treewass.learners import ProfileTreeWasserstein
    from treewass_bench.datasets import load_set

    split = load_set("twitter", data_folder).split(0)
    metric = ProfileTreeWasserstein().fit(split.X_train, split.y_train).metric_
    index = TreeIndex(metric)
    index.add(split.X_train)
    write_postings(index, tmp_path / "p")
    queries = split.X_test[np.diff(split.X_test.indptr) > 0]
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        for row in range(queries.shape[0]):
            rows = spark.sql(search_sql("spark", tmp_path / "p", metric, queries[[row]])).collect()
            distances, ids = index.search(queries[[row]])
            assert_same_rows([tuple(found) for found in rows], distances[0], ids[0], metric)
    finally:
        spark.stop()
