import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.distances.cases import comparisons, costs_between, full_wmd, topics
from treewass.distances import centroid_distance, wmd, wmd_neighbors
from treewass.distances import word_mover as module
from treewass.distances.word_mover import transport_cost, transport_problem
from treewass.documents.vector_files import read_word_vectors
from treewass.documents.word_vectors import AlignedVectors
from treewass_bench.datasets import load_set


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
    with pytest.raises(ValueError, match="Expected cost to be one of euclidean, squared, got 'cosine'"):
        wmd([[1, 1]], word_vectors=np.eye(2), cost="cosine")


def test_result_does_not_depend_on_processes_or_on_the_other_documents(monkeypatch):
    X, _, vectors = topics(n_documents=30)
    alone = wmd(X, word_vectors=vectors)
    assert wmd(X[[3]], X[[20]], word_vectors=vectors)[0, 0] == alone[3, 20]
    monkeypatch.setattr("treewass.distances.document_pairs._MOST_ROWS", 10)
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


def problem(query, document, shared_stays=True):
    points = np.arange(5.0)[:, None]
    places, others = np.flatnonzero(query).astype(np.int32), np.flatnonzero(document).astype(np.int32)
    masses, other_masses = query[places] / query.sum(), document[others] / document.sum()
    table = costs_between(points, points[places])
    return transport_problem(table, places, masses, others, other_masses, shared_stays)


def test_mass_at_a_shared_point_stays_there():
    sources, targets, costs = problem(np.array([2.0, 2, 0, 0, 0]), np.array([0.0, 1, 3, 0, 0]))
    assert sources.tolist() == [0.75]
    assert targets.tolist() == [0.5, 0.25]
    assert costs.tolist() == [[2.0, 1.0]] or costs.tolist() == [[2.0], [1.0]]


def test_without_the_triangle_inequality_all_mass_may_move():
    sources, targets, costs = problem(np.array([2.0, 2, 0, 0, 0]), np.array([0.0, 1, 3, 0, 0]), shared_stays=False)
    assert (sources.tolist(), targets.tolist()) == ([0.5, 0.5], [0.25, 0.75])
    assert costs.shape == (2, 2)


@pytest.mark.parametrize("shared_stays", [True, False])
def test_the_problem_is_the_same_both_ways(shared_stays):
    random_state = np.random.RandomState(0)
    for _ in range(200):
        query, document = random_state.randint(0, 3, (2, 5)).astype(float)
        query[0] += 1
        document[1] += 1
        for one, other in zip(
            problem(query, document, shared_stays), problem(document, query, shared_stays), strict=True
        ):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (1, 1)])
def test_a_single_source_or_target_needs_no_solver(shape, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    random_state = np.random.RandomState(0)
    sources, targets = (random_state.rand(length) for length in shape)
    costs = random_state.rand(*shape)
    sources, targets = sources / sources.sum(), targets / targets.sum()
    assert transport_cost(sources, targets, costs, caller="test") == pytest.approx(sources @ costs @ targets)


def test_nothing_to_move_costs_nothing():
    assert transport_cost(np.empty(0), np.empty(0), np.empty((0, 0)), caller="test") == 0.0
    assert transport_cost(np.ones(2) / 2, np.ones(3) / 3, np.zeros((2, 3)), caller="test") == 0.0


def test_without_pot_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    with pytest.raises(ImportError, match=r'wmd needs the module .ot.*"pot>='):
        transport_cost(np.ones(2) / 2, np.ones(2) / 2, np.eye(2), caller="wmd")


@pytest.mark.filterwarnings("ignore:numItermax reached")
def test_an_unsolved_problem_is_an_error(monkeypatch):
    monkeypatch.setattr("treewass.distances.word_mover._MOST_PIVOTS", 1)
    costs = np.random.RandomState(0).rand(30, 30)
    with pytest.raises(ValueError, match=r"POT can solve, but for 30 × 30 words"):
        transport_cost(np.ones(30) / 30, np.ones(30) / 30, costs, caller="test")


@pytest.mark.parametrize("cost", ["euclidean", "squared"])
@pytest.mark.parametrize("exponent", [-199, -60, -27, 27, 60, 199])
def test_distances_scale_with_the_vectors(cost, exponent):
    """From 1e-60 to 1e60; points stand in the order of their bits, so that sums may be rounded differently."""
    random_state = np.random.RandomState(0)
    X, vectors = random_state.poisson(1.0, size=(5, 12)) + np.eye(5, 12), random_state.normal(size=(12, 3))
    found = wmd(X, word_vectors=np.ldexp(vectors, exponent), cost=cost)
    expected = np.ldexp(wmd(X, word_vectors=vectors, cost=cost), exponent * (2 if cost == "squared" else 1))
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def sorted_rows(distances, k):
    """Sort all distances by value, then by row number."""
    rows = np.array([np.lexsort((np.arange(row.size), row))[:k] for row in distances])
    return np.take_along_axis(distances, rows, axis=1), rows


@given(
    comparisons(max_rows=7),
    st.integers(1, 7),
    st.sampled_from(["euclidean", "squared"]),
    st.tuples(st.integers(0, 3), st.integers(1, 3)),
)
@settings(max_examples=100)
def test_neighbours_equal_sorting_all_distances(case, k, cost, at_once):
    X, Y, vectors = case
    expected = sorted_rows(wmd(X, Y, word_vectors=vectors, cost=cost), k)
    for prune in (True, False):
        with pytest.MonkeyPatch.context() as patch:  # few documents reach the last bounds otherwise
            patch.setattr("treewass.distances.word_mover._FIRST", at_once[0])
            patch.setattr("treewass.distances.word_mover._TOGETHER", at_once[1])
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
    monkeypatch.setattr(module, "wmd_to", lambda *a, **o: computed.append(len(a[2])) or compute(*a, **o))
    wmd_neighbors(X[:10], X[10:], n_neighbors=3, word_vectors=vectors)
    assert sum(computed) < 0.5 * 10 * 190


@pytest.mark.slow
def test_neighbours_do_not_depend_on_processes(monkeypatch):
    X, _, vectors = topics(n_documents=30, length=6)
    alone = wmd_neighbors(X, n_neighbors=4, word_vectors=vectors)
    monkeypatch.setattr("treewass.distances.document_pairs._MOST_ROWS", 10)
    both = wmd_neighbors(X, n_neighbors=4, word_vectors=vectors, n_jobs=2)
    assert np.array_equal(alone[0], both[0])
    assert np.array_equal(alone[1], both[1])


@pytest.mark.parametrize("n_neighbors", [0, 1.5])
def test_numbers_of_neighbours_are_whole_and_positive(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors as an integer of at least 1"):
        wmd_neighbors([[1]], n_neighbors=n_neighbors, word_vectors=[[0.0]])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treewass.documents.UncoveredWordsWarning")
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
