import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from treewass.compute.compiling import array_at
from treewass.compute.records import describe
from treewass.trees.column_kernels import PLACES, add_lists, add_rows, look_up
from treewass.trees.columns import COLUMNS, COUNT_BITS, GROUP

LENGTHS = [1, 2, 31, 32, 33, 63, 64, 65, 5000]
VALUE = {"wide": np.int32, "narrow": np.uint16}
POSTING = {"wide": np.uint64, "narrow": np.uint32}
widths = pytest.mark.parametrize("width", ["wide", "narrow"])


@njit
def rows_added(dense, offsets, values, n_rows, sums, size):
    add_rows(dense, offsets, values, n_rows, sums, size)


@njit
def lists_added(postings, lists, values, n_lists, sums):
    add_lists(postings, lists, values, n_lists, sums)


def added_rows(width, dense, offsets, values, size):
    """What the compiled loop makes of sums that are not zero, with room behind them that must stay as it is."""
    sums = np.full(size + 64, 3, VALUE[width])
    rows_added(dense, offsets.astype(np.uint64), values, offsets.size, sums, size)
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


def added_lists(width, postings, lists, values):
    """What the compiled loop makes of postings with others behind them that it must not read."""
    sums = np.zeros(PLACES, VALUE[width])
    foreign = POSTING[width](2 ** (32 if width == "narrow" else 64) - 1)
    beyond = np.concatenate([postings, np.full(64, foreign)])
    lists_added(beyond[: postings.size], lists, values.astype(VALUE[width]), lists.size, sums)
    return sums


def slow_lists(width, postings, lists, values):
    sums, bits = np.zeros(PLACES, np.int64), 32 if width == "wide" else 16
    for entry, value in zip(lists.tolist(), values.tolist(), strict=True):
        start, count = entry >> COUNT_BITS, entry & (2**COUNT_BITS - 1)
        for posting in postings[start : start + count].tolist():
            sums[(posting >> bits) & (PLACES - 1)] += min(posting & (2**bits - 1), value)
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
    counts=st.lists(st.one_of(st.integers(0, 3), st.integers(0, 68), st.integers(60, 300)), max_size=20),
    seed=st.integers(0, 2**32),
)
def test_lists_are_added_up(width, counts, seed):
    postings, lists = make_lists(width, counts, seed, 2**16 // 20)
    random = np.random.default_rng(seed + 1)
    values = random.integers(1, 2**16 // 20, lists.size)
    chosen = random.permutation(lists.size)[: random.integers(0, lists.size + 1)]
    found = added_lists(width, postings, lists[chosen], values[chosen])
    assert np.array_equal(found, slow_lists(width, postings, lists[chosen], values[chosen]))


@widths
@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("behind", [0, 1, 31, 32, 33])
def test_lists_near_the_end_of_the_postings(width, count, behind):
    postings, lists = make_lists(width, [7, count, behind], seed=count, highest=1000)
    values = np.array([30, 400])
    found = added_lists(width, postings, lists[:2], values)
    assert np.array_equal(found, slow_lists(width, postings, lists[:2], values))


@widths
@pytest.mark.parametrize("count", [1, 50, 64])
def test_many_lists(width, count):
    postings, lists = make_lists(width, [count] * (5000 // count), seed=count, highest=12, n_places=640)
    values = np.random.default_rng(count).integers(1, 12, lists.size)
    found = added_lists(width, postings, lists, values)
    assert found.sum(dtype=np.int64) > 5000
    assert np.array_equal(found, slow_lists(width, postings, lists, values))


@widths
def test_a_tile_in_which_every_document_has_the_feature(width):
    postings, lists = make_lists(width, [8192, 3, 8192], seed=0, highest=30000)
    values = np.array([20000, 7, 9999])
    assert np.array_equal(added_lists(width, postings, lists, values), slow_lists(width, postings, lists, values))


@widths
def test_values_of_all_bits_are_compared_without_a_sign(width):
    bits, largest = (32, 2**31 - 1) if width == "wide" else (16, 65535)
    postings = np.arange(6, dtype=POSTING[width]) << POSTING[width](bits)
    postings |= np.array([0, 1, 32767, 32768, 65534, largest], POSTING[width])
    for value in (0, 1, 32767, 32768, 65535, largest):
        found = added_lists(width, postings, np.array([6]), np.array([value]))
        assert np.array_equal(found, slow_lists(width, postings, np.array([6]), np.array([value])))


@widths
def test_places_beyond_a_tile_lead_nowhere_else(width):
    bits = 32 if width == "wide" else 16
    postings = np.full(3, (PLACES + 5) << bits | 9, POSTING[width])
    assert added_lists(width, postings, np.array([3]), np.array([4]))[5] == 12


@njit
def looked_up(plan, tile, features, values, rows, row_values, lists, list_values):
    return look_up(
        array_at(plan.ctypes.data, 1, COLUMNS)[0], tile, features, values, rows, row_values, lists, list_values
    )


def found_entries(width, directory, values, *, shift=0, n_rows=3, n_postings=100):
    """The rows and lists of a query that has every feature of a directory of one tile."""
    directory = np.array(directory, np.int64)
    numbers = {
        "n_documents": 64, "tile": 64, "n_tiles": 1, "n_rows": n_rows, "n_postings": n_postings,
        "n_directory": directory.size, "n_places": 0, "shift": shift,
    }  # fmt: skip
    nothing = np.empty(0)
    empty = dict.fromkeys(("norms", "dense", "postings", "tiles", "starts"), nothing)
    plan = describe(COLUMNS, directory=directory, **empty, **numbers)
    room = directory.size + GROUP
    rows, lists = np.empty(room, np.uint64), np.empty(room, np.int64)
    row_values, list_values = np.empty(room, VALUE[width]), np.empty(room, VALUE[width])
    features = np.arange(directory.size, dtype=np.int32)
    used, listed = looked_up(plan, 0, features, np.array(values, np.int32), rows, row_values, lists, list_values)
    assert used % GROUP == 0
    assert not row_values[used - used % GROUP : used].any()
    kept = list(zip(rows[:used].tolist(), row_values[:used].tolist(), strict=True))
    return [row for row in kept if row[1]], list(
        zip(lists[:listed].tolist(), list_values[:listed].tolist(), strict=True)
    )


@widths
def test_rows_and_lists_are_looked_up(width):
    rows, lists = found_entries(width, [~2, 5 << COUNT_BITS | 7, ~0, 3 << COUNT_BITS, 0], [9, 8, 7, 6, 5])
    assert rows == [(128, 9), (0, 7)]
    assert lists == [(5 << COUNT_BITS | 7, 8)]


def test_values_lose_bits_and_are_cut_to_what_16_bits_hold():
    """A query's value may exceed every document's; its last bits alone would mean something else."""
    for value, shift in ((65536, 0), (2**31 - 1, 0), (2**31 - 1, 3), (65535 << 2, 2), ((65536 << 2) + 1, 2), (9, 3)):
        expected = min(value >> shift, 65535)
        rows, lists = found_entries("narrow", [~0, 1], [value, value], shift=shift)
        assert (rows, lists) == ([(0, expected)], [(1, expected)])
    assert found_entries("wide", [~0, 1], [2**31 - 1, 2**31 - 1]) == ([(0, 2**31 - 1)], [(1, 2**31 - 1)])


@widths
def test_what_a_damaged_file_places_outside_its_arrays_is_left_out(width):
    directory = [~3, ~(2**40), 99 << COUNT_BITS | 2, 98 << COUNT_BITS | 2, 2**62 | 1]
    assert found_entries(width, directory, [1] * 5) == ([], [(98 << COUNT_BITS | 2, 1)])
