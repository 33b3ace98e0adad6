import numpy as np
from hypothesis import given

from tests.distances.cases import comparisons
from treewass.distances import pairs as module
from treewass.distances.pairs import pair_documents


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
