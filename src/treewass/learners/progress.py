"""Following a learner: records of each epoch, messages for the logger, a bar for people."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from treewass.learners.refinement import RefinementRecord

__all__ = ["EpochFollower", "epoch_bar", "follow_epochs"]

_logger = logging.getLogger("treewass")


class EpochFollower:
    """Collects what refinement reports, from several threads at once.

    Parameters
    ----------
    advance : callable
        Called with the record of each epoch as it comes.
    """

    def __init__(self, advance: Callable[[RefinementRecord], None]) -> None:
        self._advance = advance
        self._records: list[RefinementRecord] = []
        self._lock = Lock()

    def __call__(self, tree: int) -> Callable[[int, float, float], None]:
        """Make the function that takes the reports of one tree."""

        def report(epoch: int, loss: float, scale: float) -> None:
            record = RefinementRecord(tree, epoch, loss, scale)
            with self._lock:
                self._records.append(record)
                self._advance(record)

        return report

    def records(self) -> tuple[RefinementRecord, ...]:
        """Return the records so far, tree after tree."""
        return tuple(sorted(self._records, key=lambda record: (record.tree, record.epoch)))


@contextmanager
def follow_epochs(total: int, verbose: bool) -> Iterator[EpochFollower]:
    """Follow a refinement: log each epoch, and show a bar on standard error if wanted.

    Parameters
    ----------
    total : int
        Epochs in all.
    verbose : bool
        Whether to show a bar.

    Examples
    --------
    >>> with follow_epochs(1, verbose=False) as follow:
    ...     follow(0)(1, 0.5, 1.5)
    >>> follow.records()
    (RefinementRecord(tree=0, epoch=1, loss=0.5, scale=1.5),)
    """
    with epoch_bar("refining", total, verbose) as bar:

        def advance(record: RefinementRecord) -> None:
            _log(record)
            bar(f"refining, loss {record.loss:.4f}")

        yield EpochFollower(advance)


@contextmanager
def epoch_bar(title: str, total: int, verbose: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar with the time left on standard error, if wanted.

    Parameters
    ----------
    title : str
        What is done.
    total : int
        Epochs in all.
    verbose : bool
        Whether to show it.

    Yields
    ------
    callable
        To be called after each epoch with the new title.

    Examples
    --------
    >>> with epoch_bar("training", 2, verbose=False) as advance:
    ...     advance("training, loss 0.5")
    """
    if not verbose:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda description: progress.update(task, advance=1, description=description)


def _log(record: RefinementRecord) -> None:
    _logger.info("tree %d, epoch %d: loss %.4f, scale %.3f", record.tree + 1, record.epoch, record.loss, record.scale)
