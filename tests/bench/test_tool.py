from treewass.bench.tool import bench_tool


def test_commands_are_measured_from_start_to_end():
    rows = list(bench_tool(documents=120, words=6, repetitions=1))
    assert [row.case["command"] for row in rows] == ["search", "predict", "explain"]
    for row in rows:
        assert 0.05 < row.measures["cpu_seconds"] <= row.measures["largest_cpu_seconds"]
        assert row.measures["model_megabytes"] > 0
