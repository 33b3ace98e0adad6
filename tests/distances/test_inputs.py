import numpy as np
import pytest
from scipy.sparse import csr_array

from treewass.distances import act, centroid_distance, flowtree, rwmd, wmd
from treewass.distances.inputs import check_vectors, covered_histograms
from treewass.documents.word_vectors import AlignedVectors, WordVectors


def test_an_array_covers_every_word():
    vectors, covered = check_vectors(np.float32([[1, 2], [3, 4], [0, 0]]), caller="wmd")
    assert vectors.dtype == np.float64
    assert covered.tolist() == [True, True, True]


def test_aligned_vectors_say_which_words_are_covered():
    aligned = AlignedVectors(np.zeros((3, 2)), [True, False, True], ("yeti",))
    assert check_vectors(aligned, caller="wmd")[1].tolist() == [True, False, True]


def test_vectors_in_an_order_of_their_own_are_refused():
    with pytest.raises(TypeError, match=r"wmd .*align\(vocabulary\)"):
        check_vectors(WordVectors(("a",), [[1.0]]), caller="wmd")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_rows(bad):
    with pytest.raises(ValueError, match=r"2 of 4 words \(rows 1, 3\).*align"):
        check_vectors([[0.0], [bad], [1.0], [bad]], caller="wmd")


@pytest.mark.parametrize("huge", [1e150, -1e160, 1e300])
def test_numbers_whose_squares_overflow_are_refused_with_their_rows(huge):
    with pytest.raises(ValueError, match=r"larger ones for 1 of 3 words \(rows 1\)\. Scale them down"):
        check_vectors([[0.0, 0.0], [0.0, huge], [1.0, 1.0]], caller="wmd")


@pytest.mark.parametrize("cost", ["euclidean", "squared"])
@pytest.mark.parametrize("distance", [wmd, rwmd, act, centroid_distance])
def test_the_largest_vectors_have_finite_distances(distance, cost):
    vectors = np.random.RandomState(0).choice([-1.0, 1.0], size=(6, 4)) * 1e150 / 2
    X = np.random.RandomState(1).poisson(1.0, size=(5, 6)) + np.eye(5, 6)
    assert np.isfinite(distance(X, word_vectors=vectors, cost=cost)).all()
    assert np.isfinite(flowtree(X, word_vectors=vectors)).all()


@pytest.mark.parametrize("shape", [(3,), (0, 2), (3, 0), (1, 2, 3)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="n_words, n_dimensions"):
        check_vectors(np.zeros(shape), caller="wmd")


def test_values_that_are_not_numbers_are_refused():
    with pytest.raises(TypeError, match="real numbers"):
        check_vectors([["a", "b"]], caller="wmd")


def test_words_without_a_vector_are_left_out_before_normalising():
    found = covered_histograms(csr_array([[1, 2, 5], [0, 4, 0]]), np.array([True, True, False]), caller="wmd")
    np.testing.assert_allclose(found.toarray(), [[1 / 3, 2 / 3, 0], [0, 1, 0]])


def test_float32_counts_are_normalised_in_float64():
    counts = np.random.RandomState(0).rand(20, 50).astype(np.float32)
    found = covered_histograms(counts, np.ones(50, bool), caller="wmd")
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_documents_without_any_vector_are_refused_with_their_rows():
    with pytest.raises(ValueError, match=r"2 of the 3 rows of Y hold none \(rows 0, 2\)"):
        covered_histograms([[0, 3], [1, 0], [0, 0]], np.array([True, False]), caller="wmd", name="Y")


def test_texts_are_refused():
    with pytest.raises(TypeError, match="CountVectorizer"):
        covered_histograms(["a text"], np.ones(2, bool), caller="wmd")
