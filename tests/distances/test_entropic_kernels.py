import numpy as np
import pytest
from hypothesis import given

from tests.distances.cases import comparisons, topics
from treewass.distances import wmd
from treewass.distances.document_pairs import csr_arrays, pair_documents
from treewass.distances.entropic_kernels import dual_bounds


def bounds_of(X, Y, vectors, squared, iterations=50):
    pairs = pair_documents(X, Y, vectors, caller="test")
    found = np.empty(pairs.shape)
    right = csr_arrays(pairs.right)
    for row in range(len(found)):
        query = pairs.query(row, squared)
        dual_bounds(query.costs, query.masses, right, 0.02, iterations, found[row])
    return found


@given(comparisons())
def test_dual_bounds_are_bounds_from_the_first_iteration_on(case):
    X, Y, vectors = case
    for squared, cost in ((False, "euclidean"), (True, "squared")):
        exact = wmd(X, Y, word_vectors=vectors, cost=cost)
        for iterations in (1, 2, 50):
            found = bounds_of(X, Y, vectors, squared, iterations)
            assert np.isfinite(found).all()
            assert (found <= exact + 1e-9).all()


def test_dual_bounds_are_tight():
    X, _, vectors = topics(n_documents=20, n_words=200, length=60)
    exact = wmd(X[:5], X[5:], word_vectors=vectors)
    assert (bounds_of(X[:5], X[5:], vectors, squared=False) / exact).mean() == pytest.approx(1, abs=0.02)
