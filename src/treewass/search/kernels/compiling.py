"""Compiling loops once for all processes.

numba keeps compiled code until the file of the function changes. Our loops call each other across files and agree on
the layout of memory, so that code kept from before a change in any of those files must not be used. Nor may a loop call
itself: code of such a one crashes once it has been kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.extending import intrinsic

__all__ = ["compiled", "inner", "written_out"]


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function without the interpreter's lock, and keep the code until a file beside it or of search changes.

    Parameters
    ----------
    function : callable
        A loop over arrays.
    **options
        Passed on to numba, such as ``fastmath``.

    Returns
    -------
    callable
    """
    dispatcher: Any = njit(cache=True, nogil=True, **options)(function)
    try:
        cache_file = dispatcher._cache._cache_file
        own, shared = Path(function.__code__.co_filename).parent, Path(__file__).parents[1]
        cache_file._source_stamp = (cache_file._source_stamp, _stamp(own), _stamp(shared))
    except AttributeError:  # a numba that keeps code in another way: compile anew in every process
        return inner(function, **options)
    return dispatcher  # type: ignore[no-any-return]


def inner(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function that only compiled ones call; division by zero is not checked.

    Parameters
    ----------
    function : callable
        Part of a loop.
    **options
        Passed on to numba, such as ``fastmath``.

    Returns
    -------
    callable
    """
    dispatcher: Callable[..., Any] = njit(nogil=True, **{"error_model": "numpy", **options})(function)
    return dispatcher


def written_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for compiled ones whose code is written in LLVM's own language.

    Parameters
    ----------
    function : callable
        Takes numba's typing context and the types of the arguments; returns a signature and what writes the code.

    Returns
    -------
    callable
        Takes the arguments.
    """
    made: Callable[..., Any] = intrinsic(function)
    return made


@cache
def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Describe the files of a folder: name, time of change, size."""
    files = sorted(folder.rglob("*.py"))
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
