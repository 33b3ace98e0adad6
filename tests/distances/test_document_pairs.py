import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.distance import cdist

from tests.distances.cases import comparisons, costs_between
from treewass.distances import document_pairs as module
from treewass.distances.document_pairs import pair_documents


@given(comparisons())
def test_points_are_distinct_and_carry_the_masses_of_their_words(case):
    X, Y, vectors = case
    pairs = pair_documents(X, Y, vectors, caller="test")
    assert len(np.unique(pairs.points, axis=0)) == len(pairs.points)
    for counts, side in ((X, pairs.left), (Y, pairs.right)):
        masses = counts / counts.sum(axis=1, keepdims=True)
        equal = (vectors[:, None] == pairs.points[None]).all(axis=2)
        np.testing.assert_allclose(side.toarray(), masses @ equal, atol=1e-15)
        assert side.has_canonical_format


def test_points_that_share_a_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_MULTIPLIER", 0)
    points = pair_documents([[1, 1, 1]], None, [[0.0], [1.0], [1.0]], caller="test").points
    assert points.tolist() == [[0.0], [1.0]]


def test_no_second_set_is_the_first_one_again():
    pairs = pair_documents([[1, 1]], None, np.eye(2), caller="test")
    assert pairs.same
    assert pairs.right is pairs.left


@pytest.mark.parametrize("n_dimensions", [1, 3, 4, 7, 100])
def test_costs_are_distances(n_dimensions):
    points = np.random.RandomState(0).randn(9, n_dimensions)
    assert costs_between(points, points[:5]) == pytest.approx(cdist(points, points[:5]))
    assert costs_between(points, points[:5], True) == pytest.approx(cdist(points, points[:5], "sqeuclidean"))


def test_costs_are_the_same_both_ways_and_zero_for_equal_points():
    points = 1e3 + np.random.RandomState(0).randn(40, 50)
    found = costs_between(points, points)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    assert np.array_equal(costs_between(points[[7]], points[[3]]), found[7:8, 3:4])


def test_too_few_vectors_are_counted():
    with pytest.raises(ValueError, match="one word vector for each of the 3 columns of X, got 2"):
        pair_documents([[1, 1, 1]], None, np.eye(2), caller="test")
    with pytest.raises(ValueError, match="one word vector for each of the 3 columns of Y, got 2"):
        pair_documents([[1, 1]], [[1, 1, 1]], np.eye(2), caller="test")
