"""How everything here is measured: contenders take turns, CPU time counts, and memory is that of a process of its own.

CPU time leaves out what other programs on the machine do. Contenders that take turns share its good and bad moments, so
ratios are taken round by round; a figure is a median, its spread the quartiles over the rounds.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treewass.compute.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Memory",
    "TimeSpent",
    "Timing",
    "alternate",
    "alternate_cold",
    "alternate_processes",
    "call_in_new_process",
    "cpu_seconds",
    "geometric_mean",
    "model_bytes",
    "one_thread",
    "peak_bytes",
    "rounded",
    "time_within",
    "turns_protocol",
    "watch_memory",
    "write_over",
]

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_THREADS = {  # how a library that brings its own threads is asked for their number, and told
    "faiss": ("omp_get_max_threads", "omp_set_num_threads", "faiss-cpu"),
    "torch": ("get_num_threads", "set_num_threads", "torch"),
}


@dataclass(frozen=True, slots=True)
class Timing:
    """What a contender took.

    Parameters
    ----------
    seconds : ndarray of float, shape (n_rounds, n_times)
        CPU seconds of one item.
    answer : object
        What it returned last.
    """

    seconds: NDArray[np.float64]
    answer: Any = None

    @property
    def median(self) -> float:
        """The median of all times, in seconds."""
        return float(np.median(self.seconds))

    @property
    def microseconds(self) -> float:
        """The median of all times, in microseconds."""
        return 1e6 * self.median

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and upper quartile of the rounds, each round by its median, in seconds."""
        low, high = np.quantile(np.median(self.seconds, axis=1), (0.25, 0.75))
        return float(low), float(high)

    def over(self, other: Timing) -> tuple[float, float, float]:
        """Compute the ratio to another contender of the same rounds: median, lower and upper quartile of the rounds.

        Returns
        -------
        median, low, high : float
            Of the ratios of the rounds: their median and quartiles.

        Examples
        --------
        >>> Timing(np.array([[2.0], [4.0]])).over(Timing(np.array([[1.0], [1.0]])))
        (3.0, 2.5, 3.5)
        """
        ratios = np.median(self.seconds, axis=1) / np.median(other.seconds, axis=1)
        low, median, high = np.quantile(ratios, (0.25, 0.5, 0.75))
        return float(median), float(low), float(high)


def alternate(
    contenders: Sequence[Callable[[Any], Any]],
    items: Sequence[Any] = (None,),
    *,
    rounds: int,
    passes: int = 1,
    warm_up: Literal["each round", "once", "never"] = "once",
) -> list[Timing]:
    """Time contenders in turns: in each round, every one answers all items in succession, several times.

    Parameters
    ----------
    contenders : sequence of callable
        Each takes an item.
    items : sequence
        What they are called with; one call with None by default.
    rounds, passes : int
        How often the contenders take turns, and how often one of them answers all items in its turn. A time is that of
        a pass over the number of items.
    warm_up : {"each round", "once", "never"}
        Whether a contender first answers all items off the clock: before each of its turns, so that it finds its own
        data in the caches, as in a stream of queries, or only before the first one, so that loops are compiled.

    Examples
    --------
    >>> sums, sorts = alternate([sum, sorted], [[2, 1], [4, 3]], rounds=3, passes=2)
    >>> sums.seconds.shape, sorts.answer
    ((3, 2), [3, 4])
    """
    seconds = np.empty((len(contenders), rounds, passes))
    answers: list[Any] = [None] * len(contenders)
    if warm_up == "once":
        for contender in contenders:
            _answer_all(contender, items)
    for turn in range(rounds):
        for number, contender in enumerate(contenders):
            if warm_up == "each round":
                _answer_all(contender, items)
            for once in range(passes):
                start = time.process_time()
                answers[number] = _answer_all(contender, items)
                seconds[number, turn, once] = (time.process_time() - start) / len(items)
    return [Timing(own, answer) for own, answer in zip(seconds, answers, strict=True)]


def turns_protocol(n_items: int, rounds: int, passes: int) -> str:
    """Say what `alternate` does with queries when it warms up each round.

    Examples
    --------
    >>> turns_protocol(40, 7, 5)[:57]
    'median of 35 CPU times, each the mean over 40 queries, on'
    """
    return (
        f"median of {rounds * passes} CPU times, each the mean over {n_items} queries, one thread: in each of {rounds} "
        f"rounds every method in its turn answers all queries {passes} times in succession, after once to warm up; the "
        "ratio is the median over the rounds, low and high are its quartiles"
    )


def alternate_cold(
    contenders: Sequence[Callable[[Any], Any]], items: Sequence[Any], *, rounds: int, megabytes: int = 8
) -> list[Timing]:
    """Time contenders in turns on every single item, each after other memory was written, as for an occasional query.

    Parameters
    ----------
    contenders, items, rounds
        As in `alternate`; a time is that of one item.
    megabytes : int, default=8
        How much other memory is read and written before every call. More than the second-level cache empties that;
        a larger third level keeps what it has room for.
    """
    memory = np.zeros(megabytes * 125_000, dtype=np.int64)
    seconds = np.empty((len(contenders), rounds, len(items)))
    for turn in range(rounds):
        for place, item in enumerate(items):
            for number, contender in enumerate(contenders):
                write_over(memory)
                seconds[number, turn, place] = cpu_seconds(contender, item)
    return [Timing(own) for own in seconds]


def write_over(memory: NDArray[np.int64]) -> None:
    """Read and write every number; writing alone may pass the caches by."""
    np.add(memory, 1, out=memory)


def cpu_seconds(contender: Callable[..., Any], *arguments: Any) -> float:
    """Take the CPU time of one call."""
    start = time.process_time()
    contender(*arguments)
    return time.process_time() - start


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """What a method took in the seconds it was given."""

    milliseconds: float  # mean over items of the smallest CPU time seen
    items: int  # those of a block each counted
    rounds: int


def time_within(
    method: Callable[[Any], Any],
    items: Sequence[Any],
    seconds: float,
    *,
    least: int = 2,
    rounds: int = 5,
    block: int = 1,
) -> TimeSpent:
    """Time one method for about so many seconds: fewer items if they do not fit, several rounds if they do.

    Parameters
    ----------
    method : callable
        Takes an item.
    items : sequence
        What it is called with, from the first on.
    seconds : float
        When they are over, the first round ends and no other begins.
    least, rounds : int
        Fewest items of the first round, and most rounds; a round begins only if it will end in time.
    block : int, default=1
        How many each item stands for: the time is divided by it.

    Examples
    --------
    >>> spent = time_within(sorted, [[2, 1], [4, 3], [6, 5]], seconds=10.0)
    >>> spent.items, spent.rounds
    (3, 5)
    >>> time_within(sorted, [[2, 1], [4, 3], [6, 5]], seconds=0.0).items
    2
    """
    best: list[float] = []
    begin = time.perf_counter()
    for number, item in enumerate(items):
        if number >= least and time.perf_counter() - begin > seconds:
            break
        best.append(cpu_seconds(method, item))
    done = 1
    while done < rounds and (time.perf_counter() - begin) * (done + 1) / done < seconds:
        best = [min(known, cpu_seconds(method, item)) for known, item in zip(best, items, strict=False)]
        done += 1
    return TimeSpent(1e3 * sum(best) / len(best) / block, len(best) * block, done)


def alternate_processes(
    commands: Mapping[str, Sequence[str]],
    *,
    rounds: int,
    warm_up: bool = True,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Timing]:
    """Time whole processes in turns: the user and system time of each, with what it printed as answer.

    Parameters
    ----------
    commands : mapping of str to sequence of str
        Arguments of the Python that runs this, by name.
    rounds : int
        How often each is run.
    warm_up : bool, default=True
        Whether each is run once before.
    environment : mapping, optional
        Variables on top of those of this process.
    """
    variables = {**os.environ, **(environment or {})}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    printed: dict[str, str] = {}
    for turn in range(rounds + warm_up):
        for name, arguments in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            printed[name] = _run([sys.executable, *arguments], variables)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn >= warm_up:
                seconds[name].append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {name: Timing(np.array(own)[:, None], printed[name]) for name, own in seconds.items()}


def call_in_new_process(function: str, *arguments: Any) -> Any:
    """Call a function in a process that does nothing else, so that the memory it sees is its own.

    Parameters
    ----------
    function : str
        As ``"module:name"``.
    *arguments
        What JSON can hold, and so is what comes back.

    Examples
    --------
    >>> call_in_new_process("operator:add", 2, 3)
    5
    """
    code = "from treewass_bench.timing import _print_call; _print_call()"
    call = [sys.executable, "-c", code, function, json.dumps(arguments)]
    return json.loads(_run(call, os.environ).splitlines()[-1])


def _print_call() -> None:
    """Call the function that the arguments of this process name; print what it returns as JSON."""
    module, name = sys.argv[1].split(":")
    found = getattr(import_module(module), name)(*json.loads(sys.argv[2]))
    sys.stdout.write(f"\n{json.dumps(found)}\n")


def _run(command: Sequence[str], variables: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=variables, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise ValueError(f"Expected {' '.join(command)[:200]} to succeed, it failed: {done.stderr[-500:]}")
    return done.stdout


class Memory:
    """The peak of resident memory since `watch_memory` began and what is left of it, beyond what there was before."""

    def __init__(self) -> None:
        self.extra_bytes: int | None = None  # while watching, and where the system does not tell
        self.kept_bytes: int | None = None


@contextmanager
def watch_memory() -> Iterator[Memory]:
    """Watch the peak of the resident memory of this process, on Linux.

    Examples
    --------
    >>> with watch_memory() as memory:
    ...     _ = np.ones(10**7).sum()
    >>> memory.extra_bytes is None or memory.extra_bytes > 10**7
    True
    """
    memory = Memory()
    _give_back()
    try:
        _RESET.write_text("5")  # the peak starts from here
    except OSError:
        yield memory
        return
    before = _resident("VmRSS")
    yield memory
    memory.extra_bytes = max(0, _resident("VmHWM") - before)
    _give_back()
    memory.kept_bytes = max(0, _resident("VmRSS") - before)


def peak_bytes() -> int:
    """Return the largest resident memory that this process has had; that of its parent does not count."""
    if _STATUS.exists():
        return _resident("VmHWM")
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def model_bytes(model: Any) -> int:
    """Count the bytes that a fitted estimator takes when it is sent to another process; nothing is stored.

    Examples
    --------
    >>> 8000 <= model_bytes(np.zeros(1000)) < 9000
    True
    """
    counter = _Counter()
    pickle.dump(model, counter, protocol=5)
    return counter.written


class _Counter:
    """A file that keeps nothing but the number of bytes written to it."""

    def __init__(self) -> None:
        self.written = 0

    def write(self, part: Any) -> int:
        """Count the bytes of a part."""
        size = memoryview(part).nbytes
        self.written += size
        return size


@contextmanager
def one_thread(*libraries: Literal["faiss", "torch"]) -> Iterator[None]:
    """Keep every library to one thread meanwhile, and those named, which are loaded, by their own means."""
    from threadpoolctl import threadpool_limits

    with ExitStack() as stack:
        for name in libraries:
            ask, tell, package = _THREADS[name]
            module = require(name, purpose="python -m treewass_bench", package=package)
            stack.callback(getattr(module, tell), getattr(module, ask)())
            getattr(module, tell)(1)
        stack.enter_context(threadpool_limits(limits=1))
        yield


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean.

    Examples
    --------
    >>> round(geometric_mean([1, 100]), 6)
    10.0
    """
    return math.exp(sum(math.log(value) for value in values) / len(values))


def rounded(value: float) -> float:
    """Round to four digits that count: more are noise.

    Examples
    --------
    >>> rounded(123.456), rounded(0.00123456)
    (123.5, 0.001235)
    """
    return float(f"{value:.4g}")


def _answer_all(contender: Callable[[Any], Any], items: Sequence[Any]) -> Any:
    answer = None
    for item in items:
        answer = contender(item)
    return answer


def _give_back() -> None:
    """Let the C library return what is free, which would hide as much of what comes."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library
        return


def _resident(name: str) -> int:
    return 1024 * int(_STATUS.read_text(encoding="ascii").split(f"{name}:")[1].split()[0])
