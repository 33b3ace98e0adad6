"""The memory of this machine, for refusing what would end in a killed process."""

from __future__ import annotations

import os

__all__ = ["refuse_beyond_memory"]


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
