"""Timing side by side: every method in turn, again and again, on one thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.bench.rows import Row, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "TimeSpent",
    "geometric_mean",
    "milliseconds_to_read",
    "one_thread",
    "speed_row",
    "time_for_seconds",
    "time_in_turns",
    "time_with_emptied_caches",
    "turns_protocol",
    "write_over",
]


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep every library to one thread meanwhile, FAISS among them."""
    from threadpoolctl import threadpool_limits

    from treewass.extras import require

    faiss = require("faiss", purpose="treewass bench speed", extra="bench")
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        faiss.omp_set_num_threads(before)


def time_in_turns(
    methods: Sequence[Callable[[Any], Any]], items: Sequence[Any], rounds: int, passes: int = 2
) -> NDArray[np.float64]:
    """Time methods on items, in turns: each answers all items several times in succession, the first time to warm up.

    That is one round; there are several. So caches and branch predictors hold what is the method's own, as in a stream
    of queries, and all methods share the machine's good and bad moments.

    Parameters
    ----------
    methods : sequence of callable
        Each takes an item.
    items : sequence
        What they are called with.
    rounds : int
        How often the methods take turns.
    passes : int, default=2
        How often a method answers all items in a round, at least 2; every time but the first is against the clock.

    Returns
    -------
    ndarray of shape (n_methods,)
        Mean over items of the smallest time seen, in microseconds.

    Examples
    --------
    >>> bool(time_in_turns([sum, sorted], [[1, 2]], 3, passes=5).min() > 0)
    True
    """
    best = np.full((len(methods), len(items)), np.inf)
    for _ in range(rounds):
        for number, method in enumerate(methods):
            for item in items:
                method(item)
            for _ in range(passes - 1):
                for place, item in enumerate(items):
                    best[number, place] = min(best[number, place], _seconds(method, item))
    return np.asarray(best.mean(axis=1) * 1e6)


def turns_protocol(n_items: int, rounds: int, passes: int, items: str = "queries") -> str:
    """Say what `time_in_turns` does.

    Parameters
    ----------
    n_items, rounds, passes : int
        What it was called with.
    items : str, default="queries"
        What the items are.

    Returns
    -------
    str

    Examples
    --------
    >>> turns_protocol(40, 7, 5)[:57]
    'mean over 40 queries of the smallest of 28 times, by the '
    """
    return (
        f"mean over {n_items} {items} of the smallest of {rounds * (passes - 1)} times, by the clock, one thread: in "
        f"each of {rounds} rounds every method in its turn answers all {items} {passes} times in succession, the "
        "same ones, the first time to warm up"
    )


def time_with_emptied_caches(
    methods: Sequence[Callable[[Any], Any]], items: Sequence[Any], repetitions: int, megabytes: int = 8
) -> NDArray[np.float64]:
    """Time methods in turns on every single item, each after other memory was written, as for an occasional query.

    Parameters
    ----------
    methods : sequence of callable
        Each takes an item.
    items : sequence
        What they are called with.
    repetitions : int
        How often with each.
    megabytes : int, default=8
        How much other memory is read and written before every call. More than the second-level cache empties that;
        a larger third level keeps what it has room for.

    Returns
    -------
    ndarray of shape (n_methods,)
        Median over items and repetitions, in microseconds.

    Examples
    --------
    >>> bool(time_with_emptied_caches([sum, sorted], [[1, 2]], 3, megabytes=1).min() > 0)
    True
    """
    memory = np.zeros(megabytes * 125_000, dtype=np.int64)
    seconds = np.empty((len(methods), repetitions, len(items)))
    for repetition in range(repetitions):
        for place, item in enumerate(items):
            for number, method in enumerate(methods):
                write_over(memory)
                seconds[number, repetition, place] = _seconds(method, item)
    return np.asarray(np.median(seconds, axis=(1, 2)) * 1e6)


def write_over(memory: NDArray[np.int64]) -> None:
    """Read and write every number; writing alone may pass the caches by."""
    np.add(memory, 1, out=memory)


def _seconds(method: Callable[[Any], Any], item: Any) -> float:
    start = time.perf_counter()
    method(item)
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """The CPU time that a method took, which does not count the time of other programs on the machine.

    Parameters
    ----------
    milliseconds : float
        Mean over items of the smallest CPU time seen, for one of a block.
    items : int
        How many items, those of a block each counted, it was called with.
    rounds : int
        How often with each.
    """

    milliseconds: float
    items: int
    rounds: int


def time_for_seconds(
    method: Callable[[Any], Any],
    items: Sequence[Any],
    seconds: float,
    *,
    least: int = 2,
    rounds: int = 5,
    block: int = 1,
) -> TimeSpent:
    """Time a method on items for about so many seconds: fewer items if they do not fit, several rounds if they do.

    Parameters
    ----------
    method : callable
        Takes an item.
    items : sequence
        What it is called with, from the first on.
    seconds : float
        When they are over, the first round ends and no other begins.
    least : int, default=2
        Items of the first round in any case.
    rounds : int, default=5
        Most rounds; a round begins only if it will end in time.
    block : int, default=1
        How many each item stands for: the time is divided by it.

    Returns
    -------
    TimeSpent

    Examples
    --------
    >>> spent = time_for_seconds(sorted, [[2, 1], [4, 3], [6, 5]], seconds=10.0)
    >>> spent.items, spent.rounds
    (3, 5)
    >>> time_for_seconds(sorted, [[2, 1], [4, 3], [6, 5]], seconds=0.0).items
    2
    """
    best: list[float] = []
    begin = time.perf_counter()
    for number, item in enumerate(items):
        if number >= least and time.perf_counter() - begin > seconds:
            break
        best.append(_cpu_seconds(method, item))
    done = 1
    while done < rounds and (time.perf_counter() - begin) * (done + 1) / done < seconds:
        best = [min(known, _cpu_seconds(method, item)) for known, item in zip(best, items, strict=False)]
        done += 1
    return TimeSpent(1e3 * sum(best) / len(best) / block, len(best) * block, done)


def _cpu_seconds(method: Callable[[Any], Any], item: Any) -> float:
    start = time.process_time()
    method(item)
    return time.process_time() - start


def milliseconds_to_read(n_bytes: int, repetitions: int = 5) -> float:
    """Measure how long one core takes to read so many bytes once, in milliseconds, the smallest time seen."""
    numbers = np.ones(n_bytes // 8, dtype=np.int64)
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        numbers.sum()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean.

    Examples
    --------
    >>> round(geometric_mean([1, 100]), 6)
    10.0
    """
    return math.exp(sum(math.log(value) for value in values) / len(values))


def speed_row(case: Mapping[str, Value], measures: Mapping[str, Value], protocol: str) -> Row:
    """Make a row with figures of four digits."""
    rounded = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in measures.items()}
    return Row("speed", case, rounded, protocol)
