import pytest

from treewass.bench.serve import bench_serve


@pytest.mark.slow
def test_rows_hold_throughput_and_latency_without_errors():
    rows = list(bench_serve(300, 20, 3))
    cases = [(row.case["case"], row.case["workers"], row.case["clients"]) for row in rows]
    assert cases[:3] == [("in-process search", 0, 1), ("search", 1, 1), ("search", 1, 8)]
    assert len(cases) == len(set(cases)) == 9
    for row in rows:
        assert row.measures["errors"] == 0
        assert row.measures["requests"] == {"add": 9, "search with highlights": 6}.get(row.case["case"], 60)
        assert 0 < row.measures["p50_ms"] <= row.measures["p99_ms"]
