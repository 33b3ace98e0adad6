"""Work split over threads, and locks between them; the kernels let go of the interpreter's lock."""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from treewass.compute.arguments import shown

__all__ = ["ForkSafeLock", "ThreadTeam", "cached_property", "count_cores", "count_threads", "run_in_blocks"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class ForkSafeLock:
    """A lock that is free in a forked child, even if a thread that the child does not have held it.

    What the lock protects must be replaced in one step, so that a child never sees half of a change.

    Examples
    --------
    >>> lock = ForkSafeLock()
    >>> with lock:
    ...     "alone"
    'alone'
    """

    def __init__(self) -> None:
        self._held = threading.Lock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(self, *_: object) -> None:
        if self._held.locked():  # not in a child that the thread itself has forked
            self._held.release()

    def free(self) -> None:
        """Take the lock from whoever holds it."""
        self._held = threading.Lock()


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()


if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """As in functools since Python 3.12: without a lock, which a forked child could wait for in vain."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value of an instance, made on first use. Two threads may both make it."""
            if instance is None:
                return self
            kept = vars(instance)
            if self.attrname not in kept:
                kept[self.attrname] = self.func(instance)
            return kept[self.attrname]


def _free_locks() -> None:
    for lock in _LOCKS:
        lock.free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


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
            f"Expected n_jobs to be None, a positive number of threads, or -1 for all cores, got {shown(n_jobs)}."
        )
    return n_jobs if n_jobs > 0 else max(1, count_cores() + 1 + n_jobs)


def count_cores() -> int:
    """Count the cores that this process may use, which a container or a scheduler may limit.

    Examples
    --------
    >>> 1 <= count_cores() <= os.cpu_count()
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_blocks(work: Callable[[int, int], None], n_items: int, n_jobs: int | None, block: int = 64) -> None:
    """Call ``work(start, stop)`` on consecutive blocks of items, several at a time; an error ends the work.

    Parameters
    ----------
    work : callable
        Handles the items from `start` to `stop`; blocks must not share what they write.
    n_items : int
        Number of items.
    n_jobs : int or None
        Threads, as in scikit-learn.
    block : int, default=64
        Items per call.

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
    _TEAM.map(lambda start: work(start, min(start + block, n_items)), range(0, n_items, block), n_jobs)


class ThreadTeam:
    """Threads that stay between calls, so that what each keeps for itself is made once; the caller is one of them.

    Examples
    --------
    >>> ThreadTeam().map(abs, [-2, 3, -5], n_jobs=2)
    [2, 3, 5]
    """

    def __init__(self) -> None:
        self._making = ForkSafeLock()
        self._pool: tuple[int, int, ThreadPoolExecutor] | None = None

    def map(self, work: Callable[[_Item], _Result], items: Sequence[_Item], n_jobs: int | None = None) -> list[_Result]:
        """Call `work` with each item, several at a time; an error of one of the calls is raised."""
        helpers = min(count_threads(n_jobs), len(items)) - 1
        if helpers <= 0:
            return [work(item) for item in items]
        results: list[Any] = [None] * len(items)
        waiting = deque(enumerate(items))

        def take() -> None:
            while waiting:
                try:
                    place, item = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                try:
                    results[place] = work(item)
                except BaseException:
                    waiting.clear()
                    raise

        pool = self._threads(helpers)
        helping = [pool.submit(take) for _ in range(helpers)]
        try:
            take()
        finally:
            begun = [one for one in helping if not one.cancel()]
            wait(begun)
        for one in begun:
            one.result()
        return results

    def _threads(self, count: int) -> ThreadPoolExecutor:
        """Return a pool of at least so many threads; a forked child has none of its parent's."""
        with self._making:
            process = os.getpid()
            if self._pool is None or self._pool[0] != process or self._pool[1] < count:
                self._pool = process, count, ThreadPoolExecutor(count, thread_name_prefix="treewass")
            return self._pool[2]


_TEAM = ThreadTeam()
