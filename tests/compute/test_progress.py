import numba
import pytest

from treewass.compute import progress
from treewass.compute.progress import in_blocks, show_progress, waiting


def test_the_bar_goes_to_standard_error(capsys):
    with show_progress("documents", 2, verbose=True) as advance:
        advance(1)
        advance(1, "all documents")
    printed = capsys.readouterr()
    assert not printed.out
    assert "2/2" in printed.err
    assert "all documents" in printed.err


def test_nothing_is_shown_unless_wanted(capsys):
    with show_progress("documents", 2, verbose=False) as advance, waiting("for nobody"):
        advance(2)
    assert list(in_blocks(5, 2, "counting")) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert capsys.readouterr().err == ""


def test_work_inside_other_work_shares_its_display(capsys):
    with show_progress("outside", 1, verbose=True) as outer:
        for _ in range(2):
            with show_progress("inside", 3, verbose=True) as inner:
                inner(3)
        outer()
    shown = capsys.readouterr().err
    assert "outside" in shown
    assert "inside" not in shown  # gone once it is done


def test_the_time_left_is_that_of_the_seconds_given():
    display = progress._new_display()
    task = display.add_task("learning", total=None, seconds=90.2)
    assert display.columns[-1].render(display.tasks[task]) == "about 90 s left"
    display.add_task("compiling", total=None)
    assert str(display.columns[-1].render(display.tasks[1])) == ""


def test_the_display_closes_after_an_error():
    with pytest.raises(RuntimeError), show_progress("documents", 2, verbose=True):
        raise RuntimeError
    assert progress._display._progress is None


def test_compiling_is_said(monkeypatch):
    shown = []
    display = progress._new_display()
    monkeypatch.setattr(progress, "_new_display", lambda: display)
    monkeypatch.setattr(display, "add_task", lambda description, **_: shown.append(description))
    monkeypatch.setattr(display, "remove_task", lambda task: shown.append("done"))

    @numba.njit
    def inner():
        return 1

    @numba.njit
    def outer():
        return inner()

    with show_progress("running", None, verbose=True):
        assert outer() + outer() == 2
    numba.njit(lambda: 2)()
    assert shown == ["running", "compiling loops, once per machine", "done", "done"]
