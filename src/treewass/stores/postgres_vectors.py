"""Sparse vectors of whole numbers in the two forms that pgvector reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["binary_vectors", "text_vectors"]


def binary_vectors(units: csr_array) -> Iterator[bytes]:
    """Write each row as its numbers of dimensions and entries, a zero, features and values, all big-endian.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> [len(row) for row in binary_vectors(csr_array([[0, 5, 0], [0, 0, 0]]))]
    [20, 12]
    """
    features, values = units.indices.astype(">i4"), units.data.astype(">f4")
    bounds = units.indptr.tolist()
    for start, stop in pairwise(bounds):
        head = struct.pack(">iii", units.shape[1], stop - start, 0)
        yield head + features[start:stop].tobytes() + values[start:stop].tobytes()


def text_vectors(units: csr_array) -> list[str]:
    """Write each row as pgvector prints it, features counted from one.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> text_vectors(csr_array([[0, 5, 7]]))
    ['{2:5,3:7}/3']
    """
    features, values = (units.indices + 1).tolist(), np.asarray(units.data).tolist()
    bounds = units.indptr.tolist()
    rows = [range(start, stop) for start, stop in pairwise(bounds)]
    return [f"{{{','.join(f'{features[place]}:{values[place]}' for place in row)}}}/{units.shape[1]}" for row in rows]
