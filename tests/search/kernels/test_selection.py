import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from treewass.search.kernels.selection import CLASSES, drain, gather, key_bound, offer, pack, rank

ABSENT = 2**31 - 1


@njit
def bound_of(keys, size, k):
    return key_bound(keys, size, k, np.empty(CLASSES, np.int32))


@njit
def gathered(keys, size, limit, found):
    return gather(keys, size, limit, found)


@njit
def ranks_of(found, count):
    return [rank(found, count, one) for one in range(count)]


@njit
def nearest_of(distances, numbers, k):
    units, ids = np.empty(k, np.int64), np.empty(k, np.int64)
    size = 0
    for place in range(distances.size):
        size = offer(units, ids, size, distances[place], numbers[place])
    drain(units, ids, size)
    return units[:size], ids[:size]


@njit
def packed(key, place):
    return pack(key, place)


@st.composite
def key_arrays(draw):
    """Keys of whole blocks; few different ones, or many; some of documents that are no neighbours."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = 64 * draw(st.integers(1, 9))
    spread = draw(st.sampled_from([1, 3, 100, 2**30]))
    keys = random.integers(-spread, spread, size).astype(np.int32)
    keys[random.random(size) < draw(st.sampled_from([0.0, 0.1, 0.9, 1.0]))] = ABSENT
    return keys


@given(keys=key_arrays(), k=st.sampled_from([1, 2, 19, 31, 32, 33, 63, 64, 65, 300]))
def test_the_bound_is_reached_by_k_keys(keys, k):
    bound = bound_of(keys, keys.size, k)
    assert bound == ABSENT or (keys <= bound).sum() >= k
    if k <= keys.size:
        assert bound >= np.sort(keys)[k - 1]


@pytest.mark.parametrize("k", [1, 19, 32, 33, 64])
def test_the_bound_is_close_where_keys_are_many(k):
    """One that lets everything through would be correct, and slow."""
    keys = np.random.default_rng(k).permutation(8192).astype(np.int32)
    assert (keys <= bound_of(keys, keys.size, k)).sum() <= 4 * k


def test_the_bound_looks_at_the_first_keys_only():
    keys = np.repeat(np.array([5, -9], np.int32), 64)
    assert bound_of(keys, 64, 3) == 5
    assert bound_of(keys, 128, 3) == -9


@given(keys=key_arrays(), limit=st.sampled_from([-(2**31), -50, -1, 0, 1, 50, ABSENT - 1]), room=st.integers(1, 300))
def test_gather_writes_keys_and_places_or_says_that_there_are_more(keys, limit, room):
    found = np.full(room + 1, -1, np.int64)
    count = gathered(keys, keys.size, np.int32(limit), found[:room])
    places = np.flatnonzero(keys <= limit)
    expected = [(int(keys[place]) << 32) + int(place) for place in places]
    assert count == min(len(expected), room + 1)
    assert found[: min(count, room)].tolist() == expected[:room]
    assert found[room] == -1


@given(st.lists(st.tuples(st.integers(-(2**30), 2**30), st.integers(0, 8191)), min_size=2, max_size=30))
def test_packed_keys_sort_by_key_then_place(pairs):
    numbers = [packed(key, place) for key, place in pairs]
    assert [pairs[one] for one in np.argsort(numbers, kind="stable")] == sorted(pairs)
    assert [(number >> 32, number & 0xFFFFFFFF) for number in numbers] == pairs


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40, unique=True))
def test_ranks_are_places_in_the_sorted_list(numbers):
    ranks = ranks_of(np.array(numbers, np.int64), len(numbers))
    assert list(ranks) == [sorted(numbers).index(number) for number in numbers]


@given(
    distances=st.lists(st.integers(0, 6), max_size=60),
    k=st.integers(1, 70),
    seed=st.integers(0, 1000),
)
def test_a_heap_keeps_the_nearest_by_distance_then_id(distances, k, seed):
    ids = np.random.default_rng(seed).permutation(len(distances)) - len(distances) // 2
    units, numbers = nearest_of(np.array(distances, np.int64), ids.astype(np.int64), k)
    expected = sorted(zip(distances, ids.tolist(), strict=True))[:k]
    assert list(zip(units.tolist(), numbers.tolist(), strict=True)) == expected
