import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from treewass.documents import make_documents
from treewass.votes.support_vectors import support_vectors


def machine(features, codes, weights, penalty, tolerance, max_iter, seed):
    """What scikit-learn learns with LIBLINEAR."""
    settings = {"tol": tolerance, "max_iter": max_iter, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = LinearSVC(C=penalty, dual=True, **settings).fit(features, codes, sample_weight=weights)
    return found.coef_, found.intercept_


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5),
    st.sampled_from([0.01, 1.0, 320.0]),
    st.sampled_from([(0.1, 10), (1e-4, 1000)]),
)
def test_weights_are_those_of_liblinear_to_the_bit(seed, n_classes, penalty, limits):
    random = np.random.default_rng(seed)
    n_documents = int(random.integers(n_classes, 60))
    features = csr_array(random.random((n_documents, 12)) * (random.random((n_documents, 12)) < 0.4))
    codes = np.append(np.arange(n_classes), random.integers(0, n_classes, n_documents - n_classes))
    weights = random.integers(1, 4, n_documents) / 2
    expected = machine(features, codes, weights, penalty, *limits, seed)
    found = support_vectors(features, codes, weights, penalty, tolerance=limits[0], max_iter=limits[1], seed=seed)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_documents_of_words_give_the_same_bits_too(n_classes):
    counts, codes = make_documents(1500, n_words=600, words_per_document=25, n_classes=n_classes, random_state=1)
    features, weights = csr_array(counts, dtype=np.float64), np.ones(codes.size)
    expected = machine(features, codes, weights, 0.1, 0.1, 10, 0)
    found = support_vectors(features, codes, weights, 0.1, tolerance=0.1, max_iter=10)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
