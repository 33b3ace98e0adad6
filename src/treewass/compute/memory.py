"""The memory of this machine: refusing what would end in a killed process, and giving back what nobody needs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

__all__ = ["give_back_arrays", "refuse_beyond_memory"]

_MMAP_THRESHOLD = -3  # as glibc numbers its settings
_ARRAY = 1 << 22  # bytes
_GROUPS_OF_PROCESS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")  # Linux alone has them


def give_back_arrays() -> None:
    """Let the system have the memory of every array of 4 MB or more back as soon as nobody needs it.

    This is for the process of a command, since it is a setting of the C library. Without it, glibc soon puts arrays of
    up to 32 MB among smaller things, and keeps the gaps that they leave. Other C libraries have no such setting.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _ARRAY)


def refuse_beyond_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse work whose arrays do not fit the memory that this process may use; if nothing says how much, let it pass.

    That is the least of the machine's memory, the process's limit of addresses and those of its control groups.

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
    memory = min(_limits(), default=needed)
    if needed > memory:
        raise ValueError(
            f"Expected arrays that fit the memory that this process may use, {memory / 1e9:.1f} GB, got "
            f"{needed / 1e9:.1f} GB for {what}. {remedy}"
        )


def _limits() -> Iterator[int]:
    """Tell the bytes that the process may use, by each thing that limits them."""
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            yield soft
    with suppress(ValueError, OSError):
        for line in _GROUPS_OF_PROCESS.read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if not controllers:  # version 2
                yield from _group_limits(_GROUPS, group, "memory.max")
            elif "memory" in controllers.split(","):
                yield from _group_limits(_GROUPS / "memory", group, "memory.limit_in_bytes")


def _group_limits(root: Path, group: str, name: str) -> Iterator[int]:
    """Read the limits of a control group and of those above it."""
    path = PurePosixPath(group)
    for above in (path, *path.parents):
        with suppress(ValueError, OSError):  # "max" is no limit
            yield int(Path(root, *above.parts[1:], name).read_text())
