import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import njit

from treewass.search.kernels.bits import first_bit, marked_at_most

INT32 = np.iinfo(np.int32)


@njit
def first(bits):
    return first_bit(bits)


@njit
def marked(address, limit):
    return marked_at_most(address, limit)


def marks(keys, limit):
    return int(marked(keys.ctypes.data, np.int32(limit)))


def slow_marks(keys, limit):
    return sum(1 << place for place, key in enumerate(keys.tolist()) if key <= limit)


@given(place=st.integers(0, 63), above=st.integers(0, 2**64 - 1))
def test_first_bit_is_the_lowest_one(place, above):
    bits = (above << (place + 1) | 1 << place) & (2**64 - 1)
    assert first(np.uint64(bits)) == place


@given(
    keys=hnp.arrays(np.int32, 64, elements=st.one_of(st.integers(INT32.min, INT32.max), st.integers(-3, 3))),
    limit=st.one_of(st.integers(INT32.min, INT32.max), st.integers(-3, 3)),
)
def test_marks_are_signed_comparisons(keys, limit):
    assert marks(keys, limit) == slow_marks(keys, limit)


@pytest.mark.parametrize("limit", [INT32.min, INT32.min + 1, -1, 0, 1, INT32.max - 1, INT32.max])
def test_marks_at_the_ends_of_the_range(limit):
    keys = np.resize(np.array([INT32.min, INT32.min + 1, -2, -1, 0, 1, INT32.max - 1, INT32.max], np.int32), 64)
    assert marks(keys, limit) == slow_marks(keys, limit)


@pytest.mark.parametrize("offset", range(1, 16, 2))
def test_marks_of_numbers_anywhere_in_memory(offset):
    numbers = np.arange(-40, 60, dtype=np.int32)
    assert marks(numbers[offset : offset + 64], 0) == slow_marks(numbers[offset : offset + 64], 0)
