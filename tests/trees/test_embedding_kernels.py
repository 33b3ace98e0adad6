import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from treewass.trees.embedding_kernels import first_bit, in_order


@njit
def first(bits):
    return first_bit(bits)


@njit
def ordered(words, weights, n_words):
    return in_order(words, weights, n_words)


@given(place=st.integers(0, 63), above=st.integers(0, 2**64 - 1))
def test_first_bit_is_the_lowest_one(place, above):
    bits = (above << (place + 1) | 1 << place) & (2**64 - 1)
    assert first(np.uint64(bits)) == place


@given(words=st.lists(st.integers(0, 400), unique=True, max_size=300), seed=st.integers(0, 100))
def test_words_in_any_order_are_put_in_order(words, seed):
    words = np.array(words, np.int32)
    weights = np.random.default_rng(seed).random(words.size)
    given_words, given_weights = words.copy(), weights.copy()
    is_sound, found, found_weights = ordered(words, weights, 401)
    assert is_sound
    order = np.argsort(words)
    assert np.array_equal(found, words[order])
    assert np.array_equal(found_weights, weights[order])
    assert np.array_equal(words, given_words)
    assert np.array_equal(weights, given_weights)


def test_words_in_order_are_not_copied():
    words, weights = np.array([1, 4, 7], np.int32), np.array([1.0, 0.0, 2.0])
    _, found, found_weights = ordered(words, weights, 8)
    assert np.shares_memory(found, words)
    assert np.shares_memory(found_weights, weights)


@pytest.mark.parametrize(
    ("words", "weights"),
    [
        ([3, 3], [1, 1]),
        ([3, 1, 3], [1, 1, 1]),
        ([3, -1], [1, 1]),
        ([1, 5], [1, 1]),
        ([5, 1], [1, 1]),
        ([1, 2], [1, -1]),
        ([2, 1], [1, np.nan]),
        ([1, 2], [np.inf, 1]),
    ],
)
def test_words_twice_or_outside_and_bad_weights_are_reported(words, weights):
    assert not ordered(np.array(words, np.int32), np.array(weights, np.float64), 5)[0]
