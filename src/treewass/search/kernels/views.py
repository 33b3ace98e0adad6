"""Arrays handed to compiled loops as addresses: one row of integers instead of a dozen arguments.

Unpacking an array argument takes numba about as long as scanning a few hundred numbers. What does not change between
calls is therefore described once, and the loops read it from there. Whoever holds a description must hold the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numpy.typing import NDArray

from treewass.search.kernels.compiling import inner

__all__ = ["array_at", "describe"]


@intrinsic
def _pointer(typing_context: Any, address: Any, kind: Any) -> Any:  # noqa: ARG001 (numba passes it)
    """Turn an integer into a pointer to numbers of a kind."""
    pointer: Any = types.CPointer(kind.instance_type)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return pointer(address, kind), generate


@inner
def array_at(address: int, size: int, kind: Any) -> Any:
    """View `size` numbers of a kind at an address."""
    return carray(_pointer(address, kind), (size,))  # type: ignore[call-arg]


def describe(arrays: Iterable[NDArray[Any]], numbers: Iterable[int]) -> NDArray[np.int64]:
    """Write down the addresses of contiguous arrays, then numbers.

    Parameters
    ----------
    arrays : iterable of ndarray
        They must outlive the description.
    numbers : iterable of int
        Sizes and settings.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> array = np.arange(3)
    >>> bool(describe([array], [3])[0] == array.ctypes.data)
    True
    """
    addresses = []
    for array in arrays:
        if not array.flags.c_contiguous:
            raise ValueError("Expected contiguous arrays to describe.")
        addresses.append(array.ctypes.data)
    return np.array([*addresses, *numbers], dtype=np.int64)
