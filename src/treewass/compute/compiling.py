"""Compiling loops once for all processes.

numba keeps the compiled code of a function until the file of that function changes. It does not notice a change in
another file whose functions were compiled into it, so the test suite drops the code that is older than our sources.
Never let a compiled loop call itself: the kept code of such a loop crashes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.core.caching import FunctionCache
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["array_at", "compiled", "inlined", "inner", "prefetch"]

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


@intrinsic
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:  # noqa: ARG001 (numba passes it)
    """Ask for the memory at a place of an array, in a compiled loop that will read it soon; changes nothing else."""
    bits, byte = ir.IntType(32), ir.IntType(8).as_pointer()

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
        kind = ir.FunctionType(ir.VoidType(), [byte, bits, bits, bits])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(ask, [address, bits(0), bits(3), bits(1)])  # to read, into the nearest cache, data
        return context.get_dummy_value()

    return types.void(array, place), generate


@inlined
def array_at(address: int, size: int, kind: Any) -> Any:
    """View `size` numbers or records of a kind at an address, in a compiled loop."""
    return carray(_pointer(address, kind), (size,))  # type: ignore[call-arg]
