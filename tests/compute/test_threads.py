import os
import subprocess
import sys
import threading

import pytest

from treewass.compute.threads import count_cores, count_threads, run_in_blocks


def test_counts_follow_scikit_learn():
    cores = count_cores()
    assert [count_threads(n) for n in (None, 1, 5, -1)] == [1, 1, 5, cores]
    assert count_threads(-cores - 3) == 1
    for wrong in (0, 1.5, "all"):
        with pytest.raises(ValueError, match=f"n_jobs to be None.*got {wrong!r}"):
            count_threads(wrong)


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
@pytest.mark.parametrize("n_items", [0, 1, 10])
def test_every_item_is_handled_once(n_jobs, n_items):
    seen, lock = [], threading.Lock()

    def work(start, stop):
        with lock:
            seen.extend(range(start, stop))

    run_in_blocks(work, n_items, n_jobs, block=3)
    assert sorted(seen) == list(range(n_items))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_come_back(n_jobs):
    def work(start, stop):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_in_blocks(work, 10, n_jobs, block=2)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_the_work(error):
    begun = []

    def work(start, stop):
        begun.append(start)
        raise error

    with pytest.raises(error):
        run_in_blocks(work, 100, 2, block=1)
    assert len(begun) <= 4  # the caller's, and what the other thread had taken


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a system that binds no process to cores")
def test_all_cores_are_those_that_the_process_may_use():
    code = "import os; os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1]); "
    code += "from treewass.compute.threads import count_threads; print(count_threads(-1))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "1\n"
