import pytest

from treewass_bench.stores import bench_stores


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*hold no known word")
def test_every_exact_store_answers_as_a_tree_index(data_folder):
    rows = list(bench_stores(["twitter", "reuters"], 10, data_folder))
    assert len(rows) == 14
    for row in rows:
        if "HNSW" in str(row.case["store"]):
            assert row.measures["recall"] > 0.8
        else:
            assert row.measures["equal"] == row.measures["queries"] == 10
