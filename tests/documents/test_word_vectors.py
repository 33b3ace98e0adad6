import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from treewass.distances import act, centroid_distance, flowtree, rwmd, wmd
from treewass.documents.synthetic import make_documents
from treewass.documents.word_vectors import (
    AlignedVectors,
    UncoveredWordsWarning,
    WordVectors,
    check_vectors,
    covered_histograms,
    svd_vectors,
)

WORDS = ("the", "Köln", "naïve", "\x85", "\u2028", "\xa0", "猫", "5", "-")
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 7)).astype(np.float32)


def assert_same(read, words, vectors):
    assert read.words == tuple(words)
    assert read.vectors.dtype == np.float32
    assert read.vectors.tobytes() == np.asarray(vectors, dtype=np.float32).tobytes()
    assert read.vectors.shape == np.shape(vectors)


class TestWordVectors:
    def test_lengths(self):
        vectors = WordVectors(list(WORDS), VECTORS)
        assert len(vectors) == len(WORDS)
        assert vectors.n_dimensions == 7
        assert vectors.words == WORDS

    def test_what_is_held_cannot_change(self):
        given_array = VECTORS.copy()
        vectors = WordVectors(WORDS, given_array)
        given_array[:] = 0
        assert_same(vectors, WORDS, VECTORS)
        with pytest.raises(ValueError, match="read-only"):
            vectors.vectors[0, 0] = 1
        with pytest.raises(AttributeError):
            vectors.words = ()

    def test_a_read_only_array_is_not_copied(self):
        given_array = VECTORS.copy()
        given_array.setflags(write=False)
        assert WordVectors(WORDS, given_array).vectors is given_array

    def test_words_from_an_array_are_plain_strings(self):
        vectors = WordVectors(np.array(WORDS), VECTORS)
        assert all(type(word) is str for word in vectors.words)

    def test_pickle(self):
        vectors = pickle.loads(pickle.dumps(WordVectors(WORDS, VECTORS)))
        assert_same(vectors, WORDS, VECTORS)
        assert not vectors.vectors.flags.writeable

    @pytest.mark.parametrize("shape", [(2, 3, 1), (3,), (2, 3), (3, 0)])
    def test_wrong_shapes(self, shape):
        with pytest.raises(ValueError, match=r"shape \(n_words, n_dimensions\).* for 3 words; got the shape \("):
            WordVectors(("a", "b", "c"), np.zeros(shape))

    def test_no_words(self):
        with pytest.raises(ValueError, match="neither of them zero, for 0 words"):
            WordVectors((), np.zeros((0, 3)))

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
    def test_numbers_that_are_not_finite_name_their_words(self, bad):
        vectors = np.zeros((8, 3))
        vectors[1:8, 2] = bad
        vectors[2, 0] = -bad
        with pytest.raises(
            ValueError, match=r"finite in float32.*; 7 of 8 are not: 'b', 'c', 'd', 'e', 'f' and 2 more\."
        ):
            WordVectors(tuple("abcdefgh"), vectors)

    def test_the_largest_numbers_are_finite(self):
        largest = np.finfo(np.float32).max
        assert WordVectors(("a",), [[largest, largest]]).vectors[0, 0] == largest

    def test_repeated_words(self):
        with pytest.raises(ValueError, match="Expected each word once; 2 of 4 are not: 'a', 'a'"):
            WordVectors(("a", "b", "a", "a"), np.zeros((4, 2)))

    @pytest.mark.parametrize("words", ["ab", ("a", 1), (b"a", b"b")])
    def test_words_that_are_not_strings(self, words):
        with pytest.raises(TypeError, match="sequence of strings"):
            WordVectors(words, np.zeros((2, 2)))


class TestAlign:
    def test_full_cover_is_silent_and_follows_the_vocabulary(self):
        order = np.random.default_rng(1).permutation(len(WORDS))
        aligned = WordVectors(WORDS, VECTORS).align(np.array(WORDS, dtype=object)[order])
        np.testing.assert_array_equal(aligned.vectors, VECTORS[order])
        assert aligned.covered.all()
        assert aligned.missing == ()

    def test_missing_words_get_zero_rows_and_a_warning(self):
        vocabulary = np.array(["m1", "the", "m2", "m3", "5", "m4", "m5", "m6"])
        message = r"6 of 8 words \(75\.0%\) have no word vector.*: 'm1', 'm2', 'm3', 'm4', 'm5' and 1 more\."
        with pytest.warns(UncoveredWordsWarning, match=message) as caught:
            aligned = WordVectors(WORDS, VECTORS).align(vocabulary)
        assert caught[0].filename == __file__
        assert aligned.covered.tolist() == [False, True, False, False, True, False, False, False]
        assert aligned.missing == ("m1", "m2", "m3", "m4", "m5", "m6")
        assert aligned.vectors.dtype == np.float32
        np.testing.assert_array_equal(aligned.vectors[[1, 4]], VECTORS[[0, 7]])
        assert not aligned.vectors[~aligned.covered].any()

    def test_no_word_covered(self):
        with pytest.raises(ValueError, match=r"None of the 2 words .*\('THE', 'x'\).*start with 'the', 'Köln'.*case"):
            WordVectors(WORDS, VECTORS).align(["THE", "x"])

    def test_an_empty_vocabulary(self):
        with pytest.raises(ValueError, match=r"None of the 0 words of the vocabulary \(none\)"):
            WordVectors(WORDS, VECTORS).align([])

    @pytest.mark.parametrize("vocabulary", [{"the"}, {"the": 0}, frozenset({"the"})])
    def test_a_vocabulary_without_order(self, vocabulary):
        with pytest.raises(TypeError, match=r"order of their columns, got a .*get_feature_names_out"):
            WordVectors(WORDS, VECTORS).align(vocabulary)

    @pytest.mark.parametrize("vocabulary", ["the", [1, 2]])
    def test_a_vocabulary_of_other_things(self, vocabulary):
        with pytest.raises(TypeError, match="sequence of strings"):
            WordVectors(WORDS, VECTORS).align(vocabulary)

    def test_the_record_is_immutable_and_survives_pickle(self):
        aligned = WordVectors(WORDS, VECTORS).align(WORDS)
        for record in (aligned, pickle.loads(pickle.dumps(aligned))):
            assert isinstance(record, AlignedVectors)
            np.testing.assert_array_equal(record.vectors, VECTORS)
            assert record.covered.tolist() == [True] * len(WORDS)
            assert record.missing == ()
            assert not record.vectors.flags.writeable
            assert not record.covered.flags.writeable


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


def test_unit_vectors_have_length_one_and_words_without_a_vector_stay_so():
    aligned = AlignedVectors(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32), np.array([True, False]), ("yeti",))
    assert aligned.unit().vectors == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0]]))
    assert aligned.unit().covered.tolist() == [True, False]
    assert aligned.unit().missing == ("yeti",)
