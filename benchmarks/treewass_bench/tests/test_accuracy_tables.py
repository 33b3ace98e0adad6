import pytest

from treewass_bench.accuracy_tables import (
    accuracy_markdown,
    cost_markdown,
    draw_error_and_time,
    drawn_note,
    error_markdown,
    summarize,
    vote_markdown,
)
from treewass_bench.rows import Row


def accuracy_row(name, split, method, error, **case):
    measures = {"error_percent": error, "distance_vote_error_percent": error - 1, "fit_seconds": 2.0}
    measures |= {"peak_megabytes": None, "model_megabytes": 1.5}
    return Row("accuracy", {"set": name, "split": split, "method": method, **case}, measures, "", environment={})


ROWS = [
    *(accuracy_row("twitter", split, "stw", 28.0 + split) for split in range(5)),
    accuracy_row("reuters", 0, "stw", 4.0),
    accuracy_row("amazon", 0, "stw", 10.0),
    accuracy_row("reuters", 0, "wmd", 5.0, test_documents=300),
    accuracy_row("reuters", 0, "profile", 2.5),
]


def test_errors_stand_beside_the_published_ones_and_cuts_are_marked():
    lines = error_markdown(ROWS).splitlines()
    assert lines[0].startswith("| test error in % | TWITTER | AMAZON |")
    stw = next(line for line in lines if line.startswith("| STW"))
    assert "30.0 ± 1.4 (28.9 ± 0.7)" in stw
    assert "10.0† (10.1 ± 0.7)" in stw
    assert "– (40.2)" in stw
    assert "| 5.0‡ (3.5) |" in next(line for line in lines if line.startswith("| WMD"))
    assert "| 2.5 |" in next(line for line in lines if line.startswith("| **treewass**, default"))


def test_the_other_layout_marks_cuts_too():
    assert "10.0†" in next(line for line in accuracy_markdown(ROWS).splitlines() if line.startswith("| STW"))


def test_the_standard_errors_of_drawn_documents_come_from_the_rows():
    drawn = [accuracy_row("ohsumed", 0, "swmd", 40.0, test_documents=300), *ROWS]
    assert "of 5.0 % is 1.3 points and that of 40.0 % is 2.8 points" in drawn_note(drawn)


def test_votes_and_costs_leave_out_what_was_not_measured():
    assert "| 3.0 |" in vote_markdown(ROWS)
    costs = cost_markdown(ROWS)
    assert "fit, CPU seconds" in costs
    assert costs.count("| WMD |") == 2


def test_rows_of_another_configuration_and_drawn_ones_are_not_averaged():
    old = accuracy_row("reuters", 0, "stw", 50.0, configuration="something else")
    drawn = accuracy_row("reuters", 0, "stw", 60.0, test_documents=300)
    found = summarize([old, drawn, *ROWS])
    assert found["reuters", "stw"].errors == (4.0,)
    assert found["reuters", "stw"].drawn is None


def test_summaries_know_their_splits():
    found = summarize(ROWS)
    assert not found["twitter", "stw"].few_splits
    assert found["amazon", "stw"].few_splits
    assert found["reuters", "wmd"].drawn == 300
    assert found["reuters", "stw"].means["peak_megabytes"] is None


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_rows_give_the_same_picture(tmp_path, ending):
    case = {"measure": "one query, whole training set"}
    times = [
        Row("time", {**case, "set": "reuters", "method": method}, {"query_ms": time}, "", environment={})
        for method, time in (("stw", 0.02), ("wmd", 300.0), ("profile", 0.03))
    ]
    paths = [tmp_path / f"{number}.{ending}" for number in range(2)]
    for path in paths:
        draw_error_and_time(ROWS, times, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert len(paths[0].read_bytes()) > 5000
