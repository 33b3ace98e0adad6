from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.distance import cdist

from tests.distances.cases import comparisons, each_pair, feasible_cost, full_act, topics, word_costs
from treewass.distances import act, centroid_distance, rwmd, wmd

DIRECTIONS = ("forward", "backward", "max")


@given(comparisons())
def test_centroid_distance_equals_the_distance_of_means(case):
    X, Y, vectors = case
    means = [(rows / rows.sum(axis=1, keepdims=True)) @ vectors for rows in (X, Y)]
    assert centroid_distance(X, Y, word_vectors=vectors) == pytest.approx(cdist(*means), abs=1e-9)
    found = centroid_distance(X, Y, word_vectors=vectors, cost="squared")
    assert found == pytest.approx(cdist(*means, "sqeuclidean"), abs=1e-9)


@given(comparisons())
def test_centroid_distance_is_symmetric_and_zero_for_equal_documents(case):
    X, _, vectors = case
    found = centroid_distance(X, word_vectors=vectors)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(comparisons())
@settings(max_examples=40)
def test_rwmd_equals_the_definition(direction, case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        found = rwmd(X, Y, word_vectors=vectors, cost=cost, direction=direction)
        assert found == pytest.approx(full_act(X, Y, vectors, 0, direction, cost), abs=1e-9)


@given(comparisons())
def test_directions_of_rwmd_mirror_each_other_to_the_bit(case):
    X, Y, vectors = case
    forward = rwmd(X, Y, word_vectors=vectors, direction="forward")
    assert np.array_equal(forward, rwmd(Y, X, word_vectors=vectors, direction="backward").T)
    largest = rwmd(X, word_vectors=vectors)
    assert np.array_equal(largest, largest.T)
    assert not largest.diagonal().any()


def test_rwmd_does_not_depend_on_threads():
    X, _, vectors = topics(n_documents=400, length=5)
    assert np.array_equal(rwmd(X, word_vectors=vectors), rwmd(X, word_vectors=vectors, n_jobs=3))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="Expected direction to be one of max, forward, backward, got 'left'"):
        rwmd([[1]], word_vectors=[[0.0]], direction="left")
    with pytest.raises(ValueError, match="Expected cost"):
        rwmd([[1]], word_vectors=[[0.0]], cost="cosine")
    with pytest.raises(ValueError, match=r"rwmd expects each document .*rows of Y"):
        rwmd([[1]], [[0]], word_vectors=[[0.0]])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("iterations", [1, 2])
@given(comparisons())
@settings(max_examples=40)
def test_act_equals_the_definition(direction, iterations, case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        found = act(X, Y, word_vectors=vectors, cost=cost, direction=direction, iterations=iterations)
        assert found == pytest.approx(full_act(X, Y, vectors, iterations, direction, cost), abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(comparisons())
@settings(max_examples=30)
def test_bounds_stand_in_their_order(direction, case):
    """Relaxed = ACT-0 ≤ ACT-k ≤ ACT-(k + 1) ≤ exact ≤ any feasible plan, with either cost."""
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        options = {"word_vectors": vectors, "cost": cost}
        steps = [act(X, Y, iterations=k, direction=direction, **options) for k in range(8)]
        exact = wmd(X, Y, **options)
        assert np.array_equal(steps[0], rwmd(X, Y, direction=direction, **options))
        for lower, upper in zip(steps, [*steps[1:], exact], strict=True):
            assert (lower <= upper + 1e-9).all()
        feasible = each_pair(partial(feasible_cost, costs=word_costs(vectors, cost)), X, Y)
        assert (exact <= feasible + 1e-9).all()


def test_bounds_stand_in_their_order_on_longer_documents():
    X, _, vectors = topics(n_words=200, length=60, n_documents=20)
    steps = [act(X, word_vectors=vectors, iterations=k) for k in (0, 1, 2, 3, 7)]
    for lower, upper in zip(steps, [*steps[1:], wmd(X, word_vectors=vectors)], strict=True):
        assert (lower <= upper + 1e-12).all()
        assert lower.sum() < upper.sum()


@given(comparisons())
@settings(max_examples=40)
def test_directions_of_act_mirror_each_other_to_the_bit(case):
    X, Y, vectors = case
    forward = act(X, Y, word_vectors=vectors, direction="forward", iterations=2)
    assert np.array_equal(forward, act(Y, X, word_vectors=vectors, direction="backward", iterations=2).T)
    largest = act(X, word_vectors=vectors, iterations=3)
    assert np.array_equal(largest, largest.T)
    assert not largest.diagonal().any()


def test_act_does_not_depend_on_threads():
    X, _, vectors = topics(n_documents=200, length=5)
    assert np.array_equal(act(X, word_vectors=vectors), act(X, word_vectors=vectors, n_jobs=3))


@pytest.mark.parametrize("iterations", [-1, 1.5, None])
def test_iterations_are_whole_numbers(iterations):
    with pytest.raises(ValueError, match="Expected iterations as an integer of at least 0"):
        act([[1]], word_vectors=[[0.0]], iterations=iterations)
