import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from treewass.search.kernels.selection import gather, key_bound, key_limit, merge, order
from treewass.search.scratch import BLOCK, CLASSES

ABSENT = 2**31 - 1


@njit
def bound_of(keys, size, k):
    return key_bound(keys, size, k, np.empty(CLASSES, np.int32))


@njit
def gathered(keys, start, size, limit, found):
    return gather(keys, start, size, limit, found)


@njit
def ordered(found, count, k, ranked):
    return order(found, count, k, ranked)


@njit
def merged(ranked, count, ids, norm, resolution, out_distances, out_ids, size):
    return merge(ranked, count, ids, norm, resolution, out_distances, out_ids, size)


@njit
def limit_of(bound, distances, size, norm, resolution):
    return key_limit(bound, distances, size, norm, resolution)


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


@given(keys=key_arrays(), limit=st.sampled_from([-(2**31), -50, -1, 0, 1, 50, ABSENT]), room=st.integers(64, 300))
def test_gather_writes_keys_and_places_as_far_as_there_is_room(keys, limit, room):
    found = np.full(room + 1, -1, np.int64)
    start, written = 0, []
    while start < keys.size:
        before = start
        start, count = gathered(keys, start, keys.size, limit, found[:room])
        assert start > before
        assert start % BLOCK == 0
        assert start == keys.size or count + BLOCK > room
        written += found[:count].tolist()
    places = np.flatnonzero(keys <= min(limit, ABSENT - 1))
    assert written == [(int(keys[place]) << 32) + int(place) for place in places]
    assert found[room] == -1


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40, unique=True), st.integers(1, 50))
def test_the_smallest_numbers_come_in_order(numbers, k):
    ranked = np.full(k + 1, -7, np.int64)
    count = ordered(np.array(numbers, np.int64), len(numbers), k, ranked)
    assert ranked[:count].tolist() == sorted(numbers)[:k]
    assert ranked[k] == -7


@given(
    distances=st.lists(st.lists(st.integers(-3, 6), min_size=1, max_size=30), max_size=5),
    k=st.integers(1, 70),
    norm=st.integers(3, 9),
    seed=st.integers(0, 1000),
)
def test_the_nearest_of_several_lists_come_by_distance_then_id(distances, k, norm, seed):
    random = np.random.default_rng(seed)
    free = random.permutation(1000) - 500
    out_distances, out_ids, size, expected = np.full(k, -1.0), np.full(k, -1), 0, []
    for keys in distances:
        ids, free = np.sort(free[: len(keys)]), free[len(keys) :]
        packed = sorted((key << 32) + place for place, key in enumerate(keys))
        size = merged(np.array(packed), len(keys), ids, norm, 0.5, out_distances, out_ids, size)
        expected += [((key + norm) / 2, int(ids[place])) for place, key in enumerate(keys)]
    best = sorted(expected)[:k]
    assert size == len(best)
    assert list(zip(out_distances[:size].tolist(), out_ids[:size].tolist(), strict=True)) == best


def test_the_limit_is_the_bound_until_there_are_enough_documents():
    distances = np.array([1.0, 2.5])
    assert limit_of(np.int32(7), distances, 1, 3, 0.5) == 7
    assert limit_of(np.int32(7), distances, 2, 3, 0.5) == 2
    assert limit_of(np.int32(-4), distances, 2, 3, 0.5) == -4
