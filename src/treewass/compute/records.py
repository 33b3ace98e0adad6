"""Memory handed to compiled loops: one row of integers instead of a dozen arrays.

Unpacking an array argument takes numba about as long as scanning a few hundred numbers. So you describe what does not
change between calls once, as a record of addresses and sizes with named fields, and the loops view the arrays from
there. Whoever holds a description must hold the arrays too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["aligned_zeros", "describe", "record_of"]

_LINE = 64  # bytes of a cache line


def record_of(*names: str) -> np.dtype[np.void]:
    """Make the kind of a description: whole numbers of 64 bits with names.

    Examples
    --------
    >>> record_of("values", "size").names
    ('values', 'size')
    """
    return np.dtype([(name, np.int64) for name in names])


def describe(kind: np.dtype[np.void], **fields: NDArray[Any] | int) -> NDArray[np.int64]:
    """Write down the addresses of contiguous arrays and numbers, in the order of a record's fields.

    Parameters
    ----------
    kind : dtype
        As `record_of` makes it.
    **fields : ndarray or int
        One for each field. The arrays must outlive the description.

    Returns
    -------
    ndarray of int64, shape (n_fields,)
        Compiled loops see the fields again with ``array_at(description.ctypes.data, 1, kind)[0]``.

    Examples
    --------
    >>> array = np.arange(3)
    >>> description = describe(record_of("values", "size"), values=array, size=3)
    >>> bool(description[0] == array.ctypes.data), int(description[1])
    (True, 3)
    """
    if set(fields) != set(kind.names or ()):
        raise ValueError(f"Expected the fields {kind.names}, got {tuple(fields)}.")
    description = np.empty(len(fields), dtype=np.int64)
    for place, name in enumerate(kind.names or ()):
        field = fields[name]
        if isinstance(field, np.ndarray):
            if not field.flags.c_contiguous:
                raise ValueError(f"Expected contiguous arrays to describe, but {name} is not.")
            field = field.ctypes.data
        description[place] = field
    return description


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array of zeros that begins at the start of a cache line, so that no vector is read across two.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype-like
        Its kind of numbers.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> aligned_zeros((2, 3), np.int32).ctypes.data % 64
    0
    """
    kind = np.dtype(dtype)
    n_bytes = math.prod(shape) * kind.itemsize
    raw = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _LINE
    return raw[start : start + n_bytes].view(kind).reshape(shape)
