import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from treewass.documents import svd_vectors
from treewass.documents.synthetic import make_documents


def test_vectors_have_the_angles_of_the_columns_and_length_one():
    counts, _ = make_documents(40, n_words=15, words_per_document=8, random_state=0)
    histograms = counts.toarray() / counts.toarray().sum(axis=1, keepdims=True)
    columns = histograms / np.linalg.norm(histograms, axis=0)
    vectors = svd_vectors(counts, n_dimensions=15).vectors
    assert vectors @ vectors.T == pytest.approx(columns.T @ columns, abs=1e-5)
    assert np.linalg.norm(svd_vectors(counts, n_dimensions=4).vectors, axis=1) == pytest.approx(np.ones(15), abs=1e-6)


def test_dimensions_are_clipped_and_words_of_no_document_have_no_vector():
    vectors = svd_vectors(sp.csr_array([[1, 2, 0, 1], [0, 1, 0, 0]]))
    assert vectors.vectors.shape == (4, 2)
    assert vectors.covered.tolist() == [True, True, False, True]
    assert vectors.missing == ("2",)


def test_words_that_the_approximation_leaves_out_have_no_vector():
    """One dimension holds the first topic; of the second only rounding is left, which has no direction."""
    counts = np.array([[1, 1, 0, 0]] * 9 + [[0, 0, 1, 2]])
    vectors = svd_vectors(counts, n_dimensions=1)
    assert vectors.covered.tolist() == [True, True, False, False]
    assert not vectors.vectors[2:].any()
    assert svd_vectors(counts, n_dimensions=2).covered.all()


@pytest.mark.parametrize("threads", [1, 2])
def test_result_does_not_depend_on_threads(threads):
    counts, _ = make_documents(300, n_words=400, words_per_document=20, random_state=0)
    expected = svd_vectors(counts, n_dimensions=30).vectors
    with threadpool_limits(limits=threads):
        assert np.array_equal(svd_vectors(counts, n_dimensions=30).vectors, expected)


@pytest.mark.parametrize("dimensions", [0, 1.5])
def test_bad_dimensions_are_refused(dimensions):
    with pytest.raises(ValueError, match="n_dimensions as an integer of at least 1"):
        svd_vectors([[1, 2]], n_dimensions=dimensions)


def test_only_empty_documents_are_refused():
    with pytest.raises(ValueError, match="at least one document with a word"):
        svd_vectors([[0, 0]])
