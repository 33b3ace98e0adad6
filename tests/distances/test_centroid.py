import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.distance import cdist

from tests.distances.cases import comparisons
from treewass.distances import centroid_distance


@given(comparisons())
def test_equals_the_distance_of_means(case):
    X, Y, vectors = case
    means = [(rows / rows.sum(axis=1, keepdims=True)) @ vectors for rows in (X, Y)]
    assert centroid_distance(X, Y, word_vectors=vectors) == pytest.approx(cdist(*means), abs=1e-9)
    found = centroid_distance(X, Y, word_vectors=vectors, cost="squared")
    assert found == pytest.approx(cdist(*means, "sqeuclidean"), abs=1e-9)


@given(comparisons())
def test_is_symmetric_and_zero_for_equal_documents(case):
    X, _, vectors = case
    found = centroid_distance(X, word_vectors=vectors)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
