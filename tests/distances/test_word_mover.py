import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from tests.distances.cases import comparisons, full_wmd, topics
from treewass.distances import centroid_distance, wmd
from treewass.documents.word_vectors import AlignedVectors


@given(comparisons())
def test_equals_pot_on_the_full_problem(case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        found = wmd(X, Y, word_vectors=vectors, cost=cost)
        assert found == pytest.approx(full_wmd(X, Y, vectors, cost), abs=1e-9)


def test_equals_pot_on_longer_documents():
    X, _, vectors = topics(n_words=300, length=80, n_documents=12)
    for cost in ("euclidean", "squared"):
        assert wmd(X, word_vectors=vectors, cost=cost) == pytest.approx(full_wmd(X, X, vectors, cost), abs=1e-9)


@given(comparisons())
@settings(max_examples=50)
def test_is_symmetric_to_the_bit_and_zero_for_equal_documents(case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        found = wmd(X, word_vectors=vectors, cost=cost)
        assert np.array_equal(found, found.T)
        assert not found.diagonal().any()
        assert np.array_equal(wmd(X, Y, word_vectors=vectors, cost=cost), wmd(Y, X, word_vectors=vectors, cost=cost).T)
        assert not wmd(X, 7 * X, word_vectors=vectors, cost=cost).diagonal().any()


def test_equal_documents_are_at_distance_zero_not_nearly_zero():
    counts = np.random.RandomState(0).rand(30, 40).astype(np.float32)
    vectors = np.random.RandomState(1).randn(40, 10)
    for scale in (1, 3, 0.1):
        for cost in ("euclidean", "squared"):
            found = wmd(counts, counts.astype(np.float64) * scale, word_vectors=vectors, cost=cost)
            assert not found.diagonal().any()


def test_different_words_with_the_same_vector_are_at_distance_zero():
    vectors = [[1.0, 2.0], [1.0, 2.0], [5.0, 5.0], [0.0, 1.0], [-0.0, 1.0]]
    found = wmd([[1, 0, 1, 3, 0]], [[0, 1, 1, 0, 3], [1, 1, 2, 4, 2]], word_vectors=vectors)
    assert found.tolist() == [[0.0, 0.0]]


def test_repeated_entries_of_a_sparse_matrix_are_added_up():
    repeated = sparse.coo_array(([1, 1, 1, 1], ([0, 0, 0, 0], [0, 0, 1, 0])), shape=(1, 3))
    vectors = np.eye(3)
    expected = wmd([[3, 1, 0]], [[0, 1, 1]], word_vectors=vectors)
    assert np.array_equal(wmd(repeated, [[0, 1, 1]], word_vectors=vectors), expected)


def test_float32_histograms_are_normalised_in_float64():
    X, _, vectors = topics(n_documents=10)
    single = (X / X.sum(axis=1, keepdims=True)).astype(np.float32)
    assert wmd(single, word_vectors=vectors.astype(np.float32)) == pytest.approx(
        full_wmd(X, X, vectors.astype(np.float32)), rel=1e-6
    )


def test_words_without_a_vector_are_left_out():
    aligned = AlignedVectors([[0.0], [9.0], [1.0]], [True, False, True], ("yeti",))
    assert wmd([[1, 5, 0]], [[0, 1, 2]], word_vectors=aligned).tolist() == [[1.0]]


def test_a_document_without_any_vector_is_refused():
    aligned = AlignedVectors(np.zeros((2, 1)), [True, False], ("yeti",))
    with pytest.raises(ValueError, match=r"wmd expects each document to hold a word with a vector.*rows 1"):
        wmd([[1, 0], [0, 3]], word_vectors=aligned)


def test_vectors_with_nan_are_refused():
    with pytest.raises(ValueError, match=r"wmd expects finite word_vectors, got NaN.*\(rows 1\)"):
        wmd([[1, 1]], word_vectors=[[0.0], [np.nan]])


def test_an_unknown_cost_is_refused():
    with pytest.raises(ValueError, match="wmd expects cost to be one of euclidean, squared, got 'cosine'"):
        wmd([[1, 1]], word_vectors=np.eye(2), cost="cosine")


def test_result_does_not_depend_on_processes_or_on_the_other_documents(monkeypatch):
    X, _, vectors = topics(n_documents=30)
    alone = wmd(X, word_vectors=vectors)
    assert wmd(X[[3]], X[[20]], word_vectors=vectors)[0, 0] == alone[3, 20]
    monkeypatch.setattr("treewass.distances.matrices._MOST_ROWS", 10)
    assert np.array_equal(wmd(X, word_vectors=vectors, n_jobs=2), alone)


def test_no_documents_give_no_distances():
    assert wmd(np.zeros((0, 2)), [[1, 1]], word_vectors=np.eye(2)).shape == (0, 1)


@given(comparisons())
@settings(max_examples=50)
def test_centroids_are_a_lower_bound(case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        centroids = centroid_distance(X, Y, word_vectors=vectors, cost=cost)
        assert (centroids <= wmd(X, Y, word_vectors=vectors, cost=cost) + 1e-9).all()
