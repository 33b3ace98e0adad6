"""Memory that begins at the start of a cache line, so that vectors are not read across two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["aligned_zeros"]

_LINE = 64  # bytes


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array of zeros that begins at the start of a cache line.

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
