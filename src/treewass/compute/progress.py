"""The progress bar of the whole package: on standard error, for people who wait at a terminal.

Bars of work inside other work are shown below it. While loops are compiled, a line says so: otherwise the first run
on a machine would stand still for no reason that a user can see.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Advance", "compile_seconds", "in_blocks", "show_progress", "waiting"]

_COMPILING = "compiling loops, once per machine"


class Advance(Protocol):
    """Say how much more is done, and what is done next."""

    def __call__(self, done: int = 1, description: str | None = None) -> None:
        """Move the bar by `done`; show `description` from now on."""


@contextmanager
def show_progress(
    description: str, total: int | None, verbose: bool, *, seconds: float | None = None
) -> Iterator[Advance]:
    """Show a bar on standard error, if `verbose`; without a total nobody knows how many steps there are.

    Call the function that you get with the number of steps done since the last call, and with a new description if
    there is one. The time left is that of the steps, or what is left of the `seconds` that all of it should take.

    Examples
    --------
    >>> with show_progress("training", 3, verbose=False) as advance:
    ...     advance(2)
    ...     advance(1, "trained")
    """
    if not verbose:
        yield _ignore
        return
    with _display.opened() as (progress, outermost):
        task = progress.add_task(description, total=total, seconds=seconds)

        def advance(done: int = 1, description: str | None = None) -> None:
            progress.update(task, advance=done, description=description)

        try:
            yield advance
        finally:
            if total is None or not outermost:
                progress.remove_task(task)


def in_blocks(total: int, size: int, description: str) -> Iterator[slice]:
    """Go through a number of things in blocks, with a bar if there are several blocks and a terminal.

    Examples
    --------
    >>> list(in_blocks(5, 3, "counting"))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    blocks = [slice(start, min(start + size, total)) for start in range(0, total, size)]
    with show_progress(description, total, len(blocks) > 1 and sys.stderr.isatty()) as advance:
        for block in blocks:
            yield block
            advance(block.stop - block.start)


def waiting(description: str, seconds: float | None = None) -> AbstractContextManager[Advance]:
    """Say what is being waited for, if there is a terminal, and for how long, if `seconds` says how long it takes."""
    return show_progress(description, None, sys.stderr.isatty(), seconds=seconds)


@contextmanager
def compile_seconds() -> Iterator[list[float]]:
    """Measure for how long loops are compiled: afterwards the list holds the seconds, if there was anything to compile.

    Examples
    --------
    >>> with compile_seconds() as seconds:
    ...     pass
    >>> seconds
    []
    """
    from numba.core import event

    seconds: list[float] = []
    with event.install_timer("numba:compile", seconds.append):
        yield seconds


class _Display:
    """What is on the terminal: it opens with the first bar and closes with the last, from whatever thread."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._n_bars = 0
        self._progress: Progress | None = None
        self._open = ExitStack()

    @contextmanager
    def opened(self) -> Iterator[tuple[Progress, bool]]:
        """Give the display for one bar, and say whether it is the outermost."""
        with self._lock:
            if self._progress is None:
                self._progress = self._open.enter_context(_new_display())
                self._open.enter_context(_compiling_shown(self._progress))
            progress, outermost = self._progress, self._n_bars == 0
            self._n_bars += 1
        try:
            yield progress, outermost
        finally:
            with self._lock:
                self._n_bars -= 1
                if self._n_bars == 0:
                    self._progress = None
                    self._open.close()


_display = _Display()


def _new_display() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    class Steps(MofNCompleteColumn):
        def render(self, task: Any) -> Any:
            return super().render(task) if task.total is not None else ""

    class TimeLeft(TimeRemainingColumn):
        def render(self, task: Any) -> Any:
            seconds = task.fields.get("seconds")
            if seconds is None:
                return super().render(task)
            return f"about {max(seconds - (task.elapsed or 0), 1):.0f} s left"

    columns = (TextColumn("{task.description}"), BarColumn(), Steps(), TimeLeft())
    return Progress(*columns, console=Console(stderr=True))


def _compiling_shown(progress: Progress) -> AbstractContextManager[Any]:
    """Listen to numba's compiler, and show a line while loops are compiled."""
    from numba.core import event

    class Compiling(event.Listener):
        def __init__(self) -> None:
            self.depth = 0

        def on_start(self, event: Any) -> None:  # noqa: ARG002 - as numba calls it
            if self.depth == 0:
                self.task = progress.add_task(_COMPILING, total=None)
            self.depth += 1  # one loop may compile another

        def on_end(self, event: Any) -> None:  # noqa: ARG002 - as numba calls it
            self.depth -= 1
            if self.depth == 0:
                progress.remove_task(self.task)

    return event.install_listener("numba:compile", Compiling())


def _ignore(done: int = 1, description: str | None = None) -> None:
    """Show nothing."""
