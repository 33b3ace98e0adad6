"""Work split over threads; the kernels let go of the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["count_threads", "run_in_blocks"]


def count_threads(n_jobs: int | None) -> int:
    """Turn scikit-learn's `n_jobs` into a number of threads: None is one, -1 all cores, -2 all but one.

    Examples
    --------
    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise ValueError(
            f"Expected n_jobs to be None, a positive number of threads, or -1 for all cores, got {n_jobs!r}."
        )
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def run_in_blocks(work: Callable[[int, int], None], n_items: int, n_jobs: int | None, block: int = 64) -> None:
    """Call ``work(start, stop)`` on consecutive blocks of items, several at a time.

    Parameters
    ----------
    work : callable
        Handles the items from `start` to `stop`; blocks must not share what they write.
    n_items : int
        Number of items.
    n_jobs : int or None
        Threads, as in scikit-learn.
    block : int, default=64
        Items a call.

    Examples
    --------
    >>> squares = [0] * 5
    >>> def work(start, stop):
    ...     for item in range(start, stop):
    ...         squares[item] = item**2
    >>> run_in_blocks(work, 5, n_jobs=2, block=2)
    >>> squares
    [0, 1, 4, 9, 16]
    """
    starts = range(0, n_items, block)
    threads = min(count_threads(n_jobs), len(starts))
    if threads <= 1:
        for start in starts:
            work(start, min(start + block, n_items))
        return
    with ThreadPoolExecutor(threads) as pool:
        for result in [pool.submit(work, start, min(start + block, n_items)) for start in starts]:
            result.result()
