import platform
import subprocess
import sys
from pathlib import Path

import pytest

from treewass.compute import memory


def test_what_does_not_fit_is_refused_with_figures(monkeypatch):
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10**6}.__getitem__)
    monkeypatch.setattr(memory, "_GROUPS_OF_PROCESS", Path("/nowhere"))
    memory.refuse_beyond_memory(4 * 10**9, "a list", "Shorten it.")
    with pytest.raises(ValueError, match=r"this process may use, 4\.1 GB, got 5\.0 GB for a list\. Shorten it\."):
        memory.refuse_beyond_memory(5 * 10**9, "a list", "Shorten it.")


def test_a_system_that_does_not_tell_refuses_nothing(monkeypatch):
    monkeypatch.delattr(memory.os, "sysconf")
    monkeypatch.setattr(memory, "_GROUPS_OF_PROCESS", Path("/nowhere"))
    memory.refuse_beyond_memory(10**18, "a list", "Shorten it.")


_LIMITED = """
import resource
from treewass.compute.memory import refuse_beyond_memory

resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
refuse_beyond_memory(10**9, "a list", "Shorten it.")
try:
    refuse_beyond_memory(2 * 10**9, "a list", "Shorten it.")
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of Linux")
def test_the_limit_of_a_process_counts():
    done = subprocess.run([sys.executable, "-c", _LIMITED], capture_output=True, encoding="utf-8", check=True)
    assert "may use, 1.1 GB, got 2.0 GB for a list" in done.stdout


@pytest.mark.parametrize(
    ("groups", "limit"),
    [("0::/mine/part", "mine/memory.max"), ("5:cpu:/\n4:memory:/away", "memory/memory.limit_in_bytes")],
)
def test_the_limits_of_control_groups_count(tmp_path, monkeypatch, groups, limit):
    (tmp_path / "mine" / "part").mkdir(parents=True)
    (tmp_path / "mine" / "part" / "memory.max").write_text("max\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / limit).write_text(f"{10**8}\n")
    (tmp_path / "groups").write_text(groups)
    monkeypatch.setattr(memory, "_GROUPS_OF_PROCESS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    with pytest.raises(ValueError, match=r"may use, 0\.1 GB, got 0\.2 GB"):
        memory.refuse_beyond_memory(2 * 10**8, "a list", "Shorten it.")


_LEFT_OVER = """
import sys
import numpy as np
from treewass.compute.memory import give_back_arrays

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

if "give back" in sys.argv:
    give_back_arrays()
first = np.ones(3 << 20)
del first  # from now on glibc puts arrays of up to 32 MB among smaller things
before, kept, arrays = resident(), [], []
for _ in range(20):
    arrays.append(np.ones(1 << 20))
    kept.append(np.ones(1 << 12))
arrays.clear()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_the_memory_of_arrays_is_given_back():
    left = [
        int(subprocess.run([sys.executable, "-c", _LEFT_OVER, *given], capture_output=True, check=True).stdout)
        for given in ((), ("give back",))
    ]
    assert left[0] > 100 * 2**20  # of 160 MB
    assert left[1] < 20 * 2**20


def test_a_system_without_the_setting_goes_on(monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    memory.give_back_arrays()
