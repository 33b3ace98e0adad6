import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.distances.cases import comparisons, topics
from treewass.bench.datasets import load_set
from treewass.distances import wmd, wmd_neighbors
from treewass.distances import word_mover_search as module
from treewass.documents.word_vectors import read_word_vectors


def sorted_rows(distances, k):
    """Sort all distances by value, then by row number."""
    rows = np.array([np.lexsort((np.arange(row.size), row))[:k] for row in distances])
    return np.take_along_axis(distances, rows, axis=1), rows


@given(comparisons(max_rows=7), st.integers(1, 7), st.sampled_from(["euclidean", "squared"]))
@settings(max_examples=60)
def test_equals_sorting_all_distances(case, k, cost):
    X, Y, vectors = case
    expected = sorted_rows(wmd(X, Y, word_vectors=vectors, cost=cost), k)
    for prune in (True, False):
        found = wmd_neighbors(X, Y, n_neighbors=k, word_vectors=vectors, cost=cost, prune=prune)
        assert np.array_equal(found[1], expected[1])
        assert np.array_equal(found[0], expected[0])


@given(comparisons(max_rows=9), st.integers(1, 9))
@settings(max_examples=50)
def test_a_row_is_not_its_own_neighbour(case, k):
    X, _, vectors = case
    distances = wmd(X, word_vectors=vectors)
    np.fill_diagonal(distances, np.inf)
    expected = sorted_rows(distances, min(k, len(X) - 1))
    found = wmd_neighbors(X, n_neighbors=k, word_vectors=vectors)
    assert found[1].shape == (len(X), min(k, len(X) - 1))
    assert np.array_equal(found[1], expected[1].reshape(found[1].shape))
    assert np.array_equal(found[0], expected[0].reshape(found[0].shape))


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_far_from_the_origin_the_margin_covers_the_rounding_of_centroids(shift):
    X, _, vectors = topics(n_documents=60, length=3, n_dimensions=1)
    options = {"n_neighbors": 5, "word_vectors": np.round(vectors, 2) + shift}
    for cost in ("euclidean", "squared"):
        pruned, full = (wmd_neighbors(X, cost=cost, prune=prune, **options) for prune in (True, False))
        assert np.array_equal(pruned[1], full[1])
        assert np.array_equal(pruned[0], full[0])


def test_bounds_spare_most_distances(monkeypatch):
    X, _, vectors = topics(n_documents=200, length=20)
    computed = []
    compute = module.wmd_to
    monkeypatch.setattr(module, "wmd_to", lambda *a, **o: computed.append(len(a[3])) or compute(*a, **o))
    wmd_neighbors(X[:10], X[10:], n_neighbors=3, word_vectors=vectors)
    assert sum(computed) < 0.5 * 10 * 190


@pytest.mark.slow
def test_result_does_not_depend_on_processes(monkeypatch):
    X, _, vectors = topics(n_documents=30, length=6)
    alone = wmd_neighbors(X, n_neighbors=4, word_vectors=vectors)
    monkeypatch.setattr("treewass.distances.matrices._MOST_ROWS", 10)
    both = wmd_neighbors(X, n_neighbors=4, word_vectors=vectors, n_jobs=2)
    assert np.array_equal(alone[0], both[0])
    assert np.array_equal(alone[1], both[1])


@pytest.mark.parametrize("n_neighbors", [0, 1.5])
def test_numbers_of_neighbours_are_whole_and_positive(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors as an integer of at least 1"):
        wmd_neighbors([[1]], n_neighbors=n_neighbors, word_vectors=[[0.0]])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treewass.exceptions.UncoveredWordsWarning")
@pytest.mark.parametrize("name", ["twitter", "reuters"])
def test_pruned_equals_unpruned_on_real_documents(name, data_folder):
    split = load_set(name, data_folder).split(0)
    vectors = read_word_vectors(data_folder / "word_vectors.npz").align(split.words)
    train, test = (X[(X @ vectors.covered) > 0] for X in (split.X_train, split.X_test))
    options = {"n_neighbors": 19, "word_vectors": vectors}
    pruned, full = (wmd_neighbors(test[:8], train[:1500], prune=prune, **options) for prune in (True, False))
    assert np.array_equal(pruned[1], full[1])
    assert np.array_equal(pruned[0], full[0])


def test_no_queries_have_no_neighbours_in_as_many_columns():
    Y, _, vectors = topics(n_documents=6)
    distances, rows = wmd_neighbors(Y[:0], Y, n_neighbors=3, word_vectors=vectors)
    assert distances.shape == rows.shape == (0, 3)
    assert wmd_neighbors(Y[:1], n_neighbors=3, word_vectors=vectors)[1].shape == (1, 0)
