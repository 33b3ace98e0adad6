"""How much memory a fitted model takes, and how much fitting and asking it took beyond what was there before."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["PeakMemory", "model_bytes", "watch_memory"]

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


class _Counter:
    """A file that keeps nothing but the number of bytes written to it."""

    def __init__(self) -> None:
        self.written = 0

    def write(self, part: Any) -> int:
        """Count the bytes of a part."""
        size = memoryview(part).nbytes
        self.written += size
        return size


def model_bytes(model: Any) -> int:
    """Count the bytes that a fitted estimator takes when it is sent to another process.

    Parameters
    ----------
    model : estimator
        Anything that joblib can send; nothing is stored.

    Examples
    --------
    >>> import numpy as np
    >>> 8000 <= model_bytes(np.zeros(1000)) < 9000
    True
    """
    counter = _Counter()
    pickle.dump(model, counter, protocol=5)
    return counter.written


class PeakMemory:
    """The most resident memory since `watch_memory` began, beyond what there was then.

    Attributes
    ----------
    extra_bytes : int or None
        None while watching, and where the system does not tell.
    """

    def __init__(self) -> None:
        self.extra_bytes: int | None = None


@contextmanager
def watch_memory() -> Iterator[PeakMemory]:
    """Watch the peak of the resident memory of this process, on Linux.

    Examples
    --------
    >>> import numpy as np
    >>> with watch_memory() as memory:
    ...     _ = np.ones(10**7).sum()
    >>> memory.extra_bytes is None or memory.extra_bytes > 10**7
    True
    """
    memory = PeakMemory()
    _give_back()
    try:
        _RESET.write_text("5")  # the peak starts anew
    except OSError:
        yield memory
        return
    before = _kilobytes("VmRSS")
    yield memory
    memory.extra_bytes = 1024 * max(0, _kilobytes("VmHWM") - before)


def _give_back() -> None:
    """Let the C library return what is free, which would hide as much of what comes."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library
        return


def _kilobytes(name: str) -> int:
    return int(_STATUS.read_text(encoding="ascii").split(f"{name}:")[1].split()[0])
