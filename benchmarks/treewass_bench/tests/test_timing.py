"""The harness: who is called when, and what becomes of the times."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from treewass_bench import timing
from treewass_bench.timing import (
    Timing,
    alternate,
    alternate_cold,
    alternate_processes,
    call_in_new_process,
    geometric_mean,
    one_thread,
    time_within,
    turns_protocol,
    watch_memory,
    write_over,
)


@pytest.fixture
def calls(monkeypatch):
    """What was called, in order, by a clock that only `method` moves."""
    calls, now = [], [0.0]
    monkeypatch.setattr("treewass_bench.timing.time.process_time", lambda: now[0])
    monkeypatch.setattr("treewass_bench.timing.write_over", lambda memory: calls.append(memory.nbytes))

    def method(name, *seconds):
        durations = iter(seconds)

        def answer(item):
            calls.append(name + item)
            now[0] += next(durations)
            return name + item

        return answer

    return SimpleNamespace(made=calls, method=method)


def test_contenders_take_turns_and_answer_all_items_in_succession(calls):
    contenders = [calls.method("x", *[1] * 12), calls.method("y", *[1] * 12)]
    alternate(contenders, ["1", "2"], rounds=2, passes=2, warm_up="each round")
    assert calls.made == (["x1", "x2"] * 3 + ["y1", "y2"] * 3) * 2


@pytest.mark.parametrize(("warm_up", "before"), [("once", ["x1", "y1"]), ("never", [])])
def test_contenders_warm_up_once_or_never(calls, warm_up, before):
    contenders = [calls.method("x", *[1] * 9), calls.method("y", *[1] * 9)]
    x, y = alternate(contenders, ["1"], rounds=3, warm_up=warm_up)
    assert calls.made == before + ["x1", "y1"] * 3
    assert (x.answer, y.answer) == ("x1", "y1")


def test_a_time_is_that_of_a_pass_over_its_items(calls):
    uneven = calls.method("x", 9, 9, 5, 4, 3, 7, 9, 9, 8, 9, 4, 6)
    (found,) = alternate([uneven], ["1", "2"], rounds=2, passes=2, warm_up="each round")
    assert found.seconds.tolist() == [[4.5, 5.0], [8.5, 5.0]]
    assert found.median == 5.0
    assert found.quartiles == (5.25, 6.25)


def test_ratios_are_taken_round_by_round():
    slow, fast = Timing(np.array([[2.0, 2.0], [8.0, 9.0], [30.0, 30.0]])), Timing(np.array([[1.0], [1.0], [10.0]]))
    assert slow.over(fast) == (3.0, 2.5, 5.75)


def test_protocol_says_how_many_times_are_taken():
    said = turns_protocol(20, 3, 5)
    assert said.startswith("median of 15 CPU times, each the mean over 20 queries")
    assert "in each of 3 rounds every method in its turn answers all queries 5 times" in said


def test_other_memory_is_written_before_every_single_answer(calls):
    contenders = [calls.method("x", 9, 1, 2, 4), calls.method("y", 5, 5, 5, 50)]
    x, y = alternate_cold(contenders, ["1", "2"], rounds=2, megabytes=3)
    written = 3_000_000
    assert calls.made == [written, "x1", written, "y1", written, "x2", written, "y2"] * 2
    assert (x.median, y.median) == (3.0, 5.0)


def test_writing_over_touches_all_memory():
    memory = np.zeros(1000, dtype=np.int64)
    write_over(memory)
    assert memory.tolist() == [1] * 1000


def test_smallest_time_of_each_item_counts_within_given_seconds(monkeypatch):
    clock = iter(np.arange(1000.0))
    monkeypatch.setattr("treewass_bench.timing.time.perf_counter", lambda: 0.0)
    monkeypatch.setattr("treewass_bench.timing.time.process_time", lambda: next(clock))
    durations = iter([3, 1, 1, 2])  # rounds of two items

    def work(_):
        for _ in range(next(durations)):
            next(clock)

    spent = time_within(work, ["a", "b"], 20.0, rounds=2)
    assert (spent.items, spent.rounds) == (2, 2)
    assert spent.milliseconds == 1e3 * (2 + 2) / 2


def test_processes_take_turns_and_their_cpu_time_counts(tmp_path):
    notes = tmp_path / "notes"
    code = f"open({str(notes)!r}, 'a').write(__import__('sys').argv[1]); sum(range(10**6)); print('done')"
    found = alternate_processes({name: ["-c", code, name] for name in "xy"}, rounds=2)
    assert notes.read_text() == "xyxyxy"
    for timing_of_one in found.values():
        assert timing_of_one.seconds.shape == (2, 1)
        assert timing_of_one.median > 0.005
        assert timing_of_one.answer == "done\n"


def test_processes_are_given_variables():
    found = alternate_processes(
        {"x": ["-c", "import os; print(os.environ['NOTE'])"]}, rounds=1, warm_up=False, environment={"NOTE": "read"}
    )
    assert found["x"].answer == "read\n"


def test_a_process_that_fails_is_an_error():
    with pytest.raises(ValueError, match=r"it failed: .*no luck"):
        alternate_processes({"x": ["-c", "raise SystemExit('no luck')"]}, rounds=1)


def test_a_function_is_called_in_a_process_of_its_own():
    assert call_in_new_process("treewass_bench.timing:peak_bytes") > 10**6
    assert call_in_new_process("operator:concat", ["a"], [sys.version]) == ["a", sys.version]


@pytest.mark.skipif(not timing._RESET.exists(), reason="the system does not tell")
def test_memory_is_what_was_needed_and_what_is_kept():
    with watch_memory() as memory:
        kept = np.ones(5 * 10**6)
        _ = np.ones(2 * 10**7).sum()
    assert kept.nbytes + 10**8 < memory.extra_bytes < 3 * 10**8
    assert kept.nbytes * 0.8 < memory.kept_bytes < 10**8


def test_libraries_get_their_threads_back():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread("torch"):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_geometric_mean_of_ratios():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
