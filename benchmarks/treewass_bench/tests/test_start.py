import json

import numpy as np
import pytest
from typer.testing import CliRunner

import treewass
from treewass_bench.commands import app
from treewass_bench.start import STARTS, bench_start, bench_tool, checked_opening_row, first_search_row
from treewass_bench.timing import Timing


def test_commands_are_measured_from_start_to_end():
    rows = list(bench_tool(documents=120, words=6, rounds=1))
    assert [row.case["command"] for row in rows] == ["search", "predict", "explain"]
    for row in rows:
        assert 0.05 < row.measures["cpu_seconds"] <= row.measures["largest_cpu_seconds"]
        assert row.measures["model_megabytes"] > 0


def test_import_is_measured_and_light():
    result = CliRunner().invoke(app, ["import", "--json", "--repetitions", "1"])
    row = json.loads(result.output)
    assert row["benchmark"] == "import"
    assert row["measures"]["heavy_modules_loaded"] == "none"
    assert row["environment"]["treewass"] == treewass.__version__
    assert "import treewass" in CliRunner().invoke(app, ["import", "--repetitions", "1"]).output


def test_first_search_is_opening_and_searching():
    measures = first_search_row(1).measures
    assert 0 < measures["cpu_seconds_to_open"] < measures["cpu_seconds"]


def test_each_first_use_has_an_empty_folder_for_compiled_loops(monkeypatch):
    seen = []

    def run(commands, *, rounds, warm_up, environment):
        seen.append((environment["NUMBA_CACHE_DIR"], rounds, warm_up))
        return {name: Timing(np.full((rounds, 1), len(seen))) for name in commands}

    monkeypatch.setattr("treewass_bench.start.alternate_processes", run)
    rows = list(bench_start(60, 2, ["fit", "demo"]))
    folders = [folder for folder, *_ in seen]
    assert len(set(folders)) == 4  # two for the first uses of each, the last of them again
    assert folders[1] == folders[2]
    assert folders[4] == folders[5]
    assert [rounds for _, rounds, _ in seen] == [1, 1, 2] * 2
    assert not any(warm_up for *_, warm_up in seen)
    assert rows[0].case == {"case": "fit", "documents": 60}
    assert rows[0].measures == {"cpu_seconds": 1.5, "largest_cpu_seconds": 2.0, "warm_cpu_seconds": 3.0}


@pytest.mark.slow
def test_every_first_use_is_measured():
    rows = list(bench_start(60, 1))
    assert [row.case["case"] for row in rows] == list(STARTS)
    assert all(row.measures["warm_cpu_seconds"] > 0.05 for row in rows)
    assert "documents" not in rows[-1].case  # the demo has its own


def test_unknown_cases_are_refused():
    with pytest.raises(ValueError, match="Expected cases among fit, search, report, demo, got lunch"):
        list(bench_start(cases=["lunch"]))


@pytest.mark.slow
def test_opening_a_large_index_reads_next_to_nothing():
    measures = checked_opening_row(3000, 1).measures
    assert set(measures) == {
        "milliseconds_to_open",
        "milliseconds_to_check",
        "milliseconds_first_search",
        "milliseconds_later_search",
        "index_megabytes",
    }
    assert all(value > 0 for value in measures.values())
