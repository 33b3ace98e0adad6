import pytest

from treewass.compute import memory


def test_what_does_not_fit_is_refused_with_figures(monkeypatch):
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10**6}.__getitem__)
    memory.refuse_beyond_memory(4 * 10**9, "a list", "Shorten it.")
    with pytest.raises(ValueError, match=r"this machine, 4 GB, got 5 GB for a list\. Shorten it\."):
        memory.refuse_beyond_memory(5 * 10**9, "a list", "Shorten it.")


def test_a_system_that_does_not_tell_refuses_nothing(monkeypatch):
    monkeypatch.delattr(memory.os, "sysconf")
    memory.refuse_beyond_memory(10**18, "a list", "Shorten it.")
