"""Bars with the time left, on standard error, for people who wait at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["in_blocks", "waiting"]


def in_blocks(total: int, size: int, description: str) -> Iterator[slice]:
    """Go through a number of things in blocks, with a bar where there is more than one block and a terminal.

    Parameters
    ----------
    total : int
        Things to go through.
    size : int
        Things a block.
    description : str
        What the bar says.

    Yields
    ------
    slice

    Examples
    --------
    >>> list(in_blocks(5, 3, "counting"))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    blocks = [slice(start, min(start + size, total)) for start in range(0, total, size)]
    if len(blocks) < 2 or not sys.stderr.isatty():
        yield from blocks
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        for block in blocks:
            yield block
            progress.update(task, completed=block.stop)


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Say what is being waited for, where that cannot be measured out."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(description):
        yield
