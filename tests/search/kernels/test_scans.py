import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from treewass.search.kernels.scans import (
    BUFFER,
    CHUNK,
    GROUP,
    PLACES,
    add_narrow_lists,
    add_narrow_rows,
    add_wide_lists,
    add_wide_rows,
)
from treewass.search.segments import COUNT_BITS

MOST = {"wide": 2**31, "narrow": 65535}
VALUE = {"wide": np.int32, "narrow": np.uint16}
POSTING = {"wide": np.uint64, "narrow": np.uint32}
widths = pytest.mark.parametrize("width", ["wide", "narrow"])


@njit
def wide_rows(dense, offsets, values, n_rows, sums, size):
    add_wide_rows(dense.ctypes.data, offsets.ctypes.data, values.ctypes.data, n_rows, sums.ctypes.data, size)


@njit
def narrow_rows(dense, offsets, values, n_rows, sums, size):
    add_narrow_rows(dense.ctypes.data, offsets.ctypes.data, values.ctypes.data, n_rows, sums.ctypes.data, size)


@njit
def wide_lists(postings, lists, values, shift, most, buffer, sums):
    add_wide_lists(
        postings.ctypes.data, postings.size, lists, values, shift, most, buffer.ctypes.data, sums.ctypes.data
    )


@njit
def narrow_lists(postings, lists, values, shift, most, buffer, sums):
    add_narrow_lists(
        postings.ctypes.data, postings.size, lists, values, shift, most, buffer.ctypes.data, sums.ctypes.data
    )


def added_rows(width, dense, offsets, values, size):
    """What the compiled loop makes of sums that are not zero, with room behind them that must stay as it is."""
    sums = np.full(size + 64, 3, VALUE[width])
    (wide_rows if width == "wide" else narrow_rows)(dense, offsets, values, offsets.size, sums, size)
    assert (sums[size:] == 3).all()
    return sums[:size]


def slow_rows(width, dense, offsets, values, size):
    sums = np.full(size, 3, np.int64)
    for offset, value in zip(offsets.tolist(), values.tolist(), strict=True):
        sums += np.minimum(dense[offset : offset + size].astype(np.int64), value)
    return sums


@widths
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), n_groups=st.integers(0, 3), blocks=st.integers(1, 5), used=st.integers(1, 5))
def test_rows_are_added_up(width, seed, n_groups, blocks, used):
    random = np.random.default_rng(seed)
    row, n_rows = 64 * max(blocks, used), 6
    highest = 2**16 // 32 if width == "narrow" else 2**30 // 32
    dense = random.integers(0, highest, n_rows * row).astype(VALUE[width])
    offsets = random.integers(0, n_rows, n_groups * GROUP) * row
    values = random.integers(0, highest, n_groups * GROUP).astype(VALUE[width])
    size = 64 * min(blocks, used)
    found = added_rows(width, dense, offsets, values, size)
    assert np.array_equal(found, slow_rows(width, dense, offsets, values, size))


def test_values_of_all_16_bits_are_compared_without_a_sign():
    dense = np.array([0, 1, 32767, 32768, 65532, 65535] + [0] * 58, np.uint16)
    for value in (0, 1, 32767, 32768, 65532):
        values = np.zeros(GROUP, np.uint16)
        values[3] = value
        offsets = np.zeros(GROUP, np.int64)
        assert np.array_equal(
            added_rows("narrow", dense, offsets, values, 64), slow_rows("narrow", dense, offsets, values, 64)
        )


def added_lists(width, postings, lists, values, shift):
    """What the compiled loop makes of postings with others behind them that it must not read."""
    sums = np.zeros(PLACES, VALUE[width])
    foreign = POSTING[width](2 ** (32 if width == "narrow" else 64) - 1)
    beyond = np.concatenate([postings, np.full(2 * CHUNK, foreign)])
    buffer = np.zeros(BUFFER, POSTING[width])
    add = wide_lists if width == "wide" else narrow_lists
    add(beyond[: postings.size], lists, values, shift, MOST[width], buffer, sums)
    bits = POSTING[width](32 if width == "wide" else 16)
    assert not (buffer >> bits == foreign >> bits).any()
    return sums


def slow_lists(width, postings, lists, values, shift):
    sums, bits = np.zeros(PLACES, np.int64), 32 if width == "wide" else 16
    for entry, value in zip(lists.tolist(), values.tolist(), strict=True):
        start, count = entry >> COUNT_BITS, entry & (2**COUNT_BITS - 1)
        cut = min(value >> shift, MOST[width])
        for posting in postings[start : start + count].tolist():
            sums[(posting >> bits) & (PLACES - 1)] += min(posting & (2**bits - 1), cut)
    return sums


def make_lists(width, counts, seed, highest, n_places=8192):
    """Lists of postings one after the other, each of distinct places, that fill an array to its end."""
    random = np.random.default_rng(seed)
    counts = np.array(counts, np.int64)
    bits = 32 if width == "wide" else 16
    places = [np.sort(random.choice(n_places, count, replace=False)) for count in counts]
    places = np.concatenate([*places, np.empty(0, np.int64)]).astype(POSTING[width])
    held = random.integers(1, highest, places.size).astype(POSTING[width])
    lists = (np.cumsum(counts) - counts) << COUNT_BITS | counts
    return (places << POSTING[width](bits)) | held, lists


@widths
@settings(max_examples=60)
@given(
    counts=st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2 * CHUNK + 4), st.integers(60, 300)), max_size=20),
    seed=st.integers(0, 2**32),
    shift=st.integers(0, 5),
)
def test_lists_are_added_up(width, counts, seed, shift):
    shift = shift if width == "narrow" else 0
    postings, lists = make_lists(width, counts, seed, 2**16 // 20)
    random = np.random.default_rng(seed + 1)
    values = random.integers(1, 2**16 // 20 << shift, lists.size).astype(np.int32)
    chosen = random.permutation(lists.size)[: random.integers(0, lists.size + 1)]
    found = added_lists(width, postings, lists[chosen], values[chosen], shift)
    assert np.array_equal(found, slow_lists(width, postings, lists[chosen], values[chosen], shift))


@widths
@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1, 5000])
@pytest.mark.parametrize("behind", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1])
def test_lists_near_the_end_of_the_postings(width, count, behind):
    postings, lists = make_lists(width, [7, count, behind], seed=count, highest=1000)
    values = np.array([30, 400, 500], np.int32)
    found = added_lists(width, postings, lists[:2], values[:2], 0)
    assert np.array_equal(found, slow_lists(width, postings, lists[:2], values[:2], 0))


@widths
@pytest.mark.parametrize("count", [1, 50, 2 * CHUNK])
def test_more_lists_than_are_copied_at_a_time(width, count):
    postings, lists = make_lists(width, [count] * (5000 // count), seed=count, highest=12, n_places=640)
    values = np.random.default_rng(count).integers(1, 12, lists.size).astype(np.int32)
    found = added_lists(width, postings, lists, values, 0)
    assert found.sum(dtype=np.int64) > 5000
    assert np.array_equal(found, slow_lists(width, postings, lists, values, 0))


@widths
def test_a_tile_in_which_every_document_has_the_feature(width):
    postings, lists = make_lists(width, [8192, 3, 8192], seed=0, highest=30000)
    values = np.array([20000, 7, 9999], np.int32)
    assert np.array_equal(added_lists(width, postings, lists, values, 0), slow_lists(width, postings, lists, values, 0))


@pytest.mark.parametrize("count", [3, 2 * CHUNK, 2 * CHUNK + 1])
@pytest.mark.parametrize("behind", [0, CHUNK])
def test_values_above_16_bits_are_cut_to_the_largest(count, behind):
    """A query's value may exceed every document's; its last bits alone would mean something else."""
    postings = np.arange(count + behind, dtype=np.uint32) << np.uint32(16) | np.uint32(65535)
    postings[1] = 1 << 16 | 40000
    lists = np.array([count], np.int64)
    for value, shift in ((65536, 0), (2**31 - 1, 0), (2**31 - 1, 3), (65535 << 2, 2), ((65536 << 2) + 1, 2), (5, 3)):
        values = np.array([value], np.int32)
        found = added_lists("narrow", postings, lists, values, shift)
        assert np.array_equal(found, slow_lists("narrow", postings, lists, values, shift))


def test_places_beyond_16_bits_lead_nowhere_else():
    postings = np.full(3 + CHUNK, (PLACES + 5) << 32 | 9, np.uint64)
    lists, values = np.array([3], np.int64), np.array([4], np.int32)
    assert added_lists("wide", postings, lists, values, 0)[5] == 12
