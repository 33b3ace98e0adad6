import numpy as np
import pytest
from hypothesis import given, settings

from tests.distances.cases import comparisons, full_act, topics
from treewass.distances import rwmd


@pytest.mark.parametrize("direction", ["forward", "backward", "max"])
@given(comparisons())
@settings(max_examples=40)
def test_equals_the_definition(direction, case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        found = rwmd(X, Y, word_vectors=vectors, cost=cost, direction=direction)
        assert found == pytest.approx(full_act(X, Y, vectors, 0, direction, cost), abs=1e-9)


@given(comparisons())
def test_directions_mirror_each_other_to_the_bit(case):
    X, Y, vectors = case
    forward = rwmd(X, Y, word_vectors=vectors, direction="forward")
    assert np.array_equal(forward, rwmd(Y, X, word_vectors=vectors, direction="backward").T)
    largest = rwmd(X, word_vectors=vectors)
    assert np.array_equal(largest, largest.T)
    assert not largest.diagonal().any()


def test_result_does_not_depend_on_threads():
    X, _, vectors = topics(n_documents=400, length=5)
    assert np.array_equal(rwmd(X, word_vectors=vectors), rwmd(X, word_vectors=vectors, n_jobs=3))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="rwmd expects direction to be one of max, forward, backward, got 'left'"):
        rwmd([[1]], word_vectors=[[0.0]], direction="left")
    with pytest.raises(ValueError, match="rwmd expects cost"):
        rwmd([[1]], word_vectors=[[0.0]], cost="cosine")
    with pytest.raises(ValueError, match=r"rwmd expects each document .*rows of Y"):
        rwmd([[1]], [[0]], word_vectors=[[0.0]])
