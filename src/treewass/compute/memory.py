"""The memory of this machine: refusing what would end in a killed process, and giving back what nobody needs."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

__all__ = ["give_back_arrays", "refuse_beyond_memory"]

_MMAP_THRESHOLD = -3  # as glibc numbers its settings
_ARRAY = 1 << 22  # bytes


def give_back_arrays() -> None:
    """Let the system have the memory of every array of 4 MB or more back as soon as nobody needs it.

    This is for the process of a command, since it is a setting of the C library. Without it, glibc soon puts arrays of
    up to 32 MB among smaller things, and keeps the gaps that they leave. Other C libraries have no such setting.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _ARRAY)


def refuse_beyond_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse work whose arrays do not fit the machine's memory; where the system does not say its size, let it pass.

    Parameters
    ----------
    needed : int
        Bytes.
    what : str
        What needs them, such as ``"the clustering of 9 words"``.
    remedy : str
        A sentence that says what to do.

    Examples
    --------
    >>> refuse_beyond_memory(1000, "a short list", "Shorten it.")
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return
    if needed > memory:
        raise ValueError(
            f"Expected arrays that fit the memory of this machine, {memory / 1e9:.0f} GB, got {needed / 1e9:.0f} GB "
            f"for {what}. {remedy}"
        )
