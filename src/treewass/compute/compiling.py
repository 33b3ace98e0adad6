"""Compiling loops once for all processes.

numba keeps the compiled code of a function until the file of that function changes. It does not notice a change in
another file whose functions were compiled into it, so the test suite drops the code that is older than our sources.
Never let a compiled loop call itself: the kept code of such a loop crashes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

__all__ = ["array_at", "compiled", "inlined", "inner"]

_logger = logging.getLogger("treewass")


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function without the interpreter's lock, and keep the code for later processes.

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
    dispatcher: Any = njit(nogil=True, **options)(function)
    dispatcher._cache = _KeptCode(dispatcher.py_func)  # type: ignore[no-untyped-call]
    return dispatcher  # type: ignore[no-any-return]


class _KeptCode(FunctionCache):
    """Compiled code in files, as ``cache=True`` keeps it; but a disk that is full does not stop the work."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code of one signature, if there is room for it."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _logger.warning("compiled code cannot be kept for later processes: %s", error)


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


def inlined(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Do as `inner`, but compile the function as if it were written where it is called.

    A function that is called in one place is then optimised once, not again at each level of calls above it.
    """
    return inner(function, inline="always", **options)


@intrinsic
def _pointer(typing_context: Any, address: Any, kind: Any) -> Any:  # noqa: ARG001 (numba passes it)
    """Turn an integer into a pointer to numbers or records of a kind."""
    pointed = getattr(kind, "instance_type", None) or kind.dtype
    pointer: Any = types.CPointer(pointed)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return pointer(address, kind), generate


@inlined
def array_at(address: int, size: int, kind: Any) -> Any:
    """View `size` numbers or records of a kind at an address, in a compiled loop."""
    return carray(_pointer(address, kind), (size,))  # type: ignore[call-arg]
