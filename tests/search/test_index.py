import pickle
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from tests.search import integer_oracle as oracle
from tests.search.segment_kinds import KINDS, use_kind
from tests.strategies import documents, metrics
from treewass import ShardedIndex, Tree, TreeIndex, TreeMetric
from treewass.documents.histograms import EmptyDocumentWarning
from treewass.documents.synthetic import make_documents
from treewass.search import index as index_module
from treewass.trees import perfect_tree, star_tree


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """Run a test on every kind of segment, however few documents there are."""
    use_kind(monkeypatch, request.param)
    return request.param


def random_metric(n_words, seed, lengths=False, masses=False, n_trees=1):
    random = np.random.default_rng(seed)
    trees = []
    for _ in range(n_trees):
        shape = perfect_tree(3, 3)
        edges = random.exponential(size=shape.n_nodes) if lengths else None
        leaves = random.exponential(size=n_words) if lengths else None
        trees.append(Tree(shape.parents, edges, random.integers(0, shape.n_nodes, n_words), leaves))
    factors = random.exponential(size=(n_trees, n_words)) if masses else None
    return TreeMetric(trees, factors)


def assert_same(found, expected_units, expected_ids, metric):
    assert np.array_equal(found[1], expected_ids)
    assert np.array_equal(found[0], np.ldexp(expected_units, -metric.fraction_bits))


@st.composite
def collections(draw):
    metric = draw(metrics(max_components=3))
    held = draw(documents(metric.n_words, min_rows=1, max_rows=12))
    return metric, held, draw(documents(metric.n_words, max_rows=3)), draw(st.integers(1, 14))


@settings(max_examples=150)
@given(collections())
def test_search_is_the_oracle_on_small_collections(case):
    metric, held, queries, k = case
    index = TreeIndex(metric)
    index.add(held)
    distances, ids = index.search(queries, k)
    assert ids.shape == (len(queries), min(k, len(held)))
    for row, expected in enumerate(oracle.unit_distances(metric, queries, held)):
        assert_same((distances[row], ids[row]), *oracle.nearest(expected, np.arange(len(held)), k), metric)


@pytest.mark.parametrize("options", [{}, {"lengths": True}, {"lengths": True, "masses": True, "n_trees": 3}])
@pytest.mark.parametrize("n_documents", [1, 63, 64, 65, 700])
def test_search_is_the_oracle_for_every_kind(kind, options, n_documents):
    counts, _ = make_documents(n_documents + 20, n_words=300, words_per_document=15, random_state=n_documents)
    metric = random_metric(300, seed=1, **options)
    index = TreeIndex(metric)
    index.add(counts[:n_documents])
    queries = counts[n_documents:]
    expected = oracle.unit_distances(metric, queries, counts[:n_documents])
    for k in (1, 19, 40, 65, 129, 1000):
        distances, ids = index.search(queries, k)
        for row in range(20):
            best = oracle.nearest(expected[row], np.arange(n_documents), k)
            assert_same((distances[row], ids[row]), *best, metric)


def test_ties_and_duplicates_come_in_the_order_of_ids(kind):
    counts, _ = make_documents(30, n_words=50, words_per_document=4, random_state=0)
    copies = csr_array(np.tile(counts.toarray(), (9, 1)))
    ids = np.random.default_rng(0).permutation(1000)[: copies.shape[0]] - 500
    metric = random_metric(50, seed=0)
    index = TreeIndex(metric)
    index.add(copies, ids=ids)
    distances, found = index.search(counts, 25)
    expected = oracle.unit_distances(metric, counts, copies)
    for row in range(30):
        assert_same((distances[row], found[row]), *oracle.nearest(expected[row], ids, 25), metric)
    assert (distances[:, :9] == 0).all()


def test_results_do_not_depend_on_order_batches_threads_or_segments(kind):
    counts, _ = make_documents(400, n_words=200, words_per_document=10, random_state=3)
    metric = random_metric(200, seed=2, lengths=True)
    whole = TreeIndex(metric)
    whole.add(counts[:200])
    pieces = TreeIndex(metric, n_jobs=2)
    order = np.random.default_rng(0).permutation(200)
    for part in np.array_split(order, [140, 180, 195, 199]):
        pieces.add(counts[part], ids=part)
    assert len(pieces._snapshot.segments) == 5
    expected = whole.search(counts, 19)
    for found in (pieces.search(counts, 19), pieces.search(csr_matrix(counts).astype(np.int8), 19)):
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
    for row in range(0, 400, 7):
        distances, ids = pieces.search(counts[[row]], 19)
        assert np.array_equal(distances[0], expected[0][row])
        assert np.array_equal(ids[0], expected[1][row])


def test_within_and_distances_are_the_oracle(kind):
    counts, _ = make_documents(260, n_words=100, words_per_document=8, random_state=5)
    metric = random_metric(100, seed=3, lengths=True, masses=True, n_trees=2)
    index = TreeIndex(metric, n_jobs=2)
    index.add(counts[:100])
    index.add(counts[100:250], ids=np.arange(249, 99, -1))
    held = np.concatenate([counts[:100].toarray(), counts[100:250].toarray()[::-1]])
    expected = oracle.unit_distances(metric, counts[250:], held)
    ids = np.arange(250)
    radius_units = np.sort(expected, axis=1)[0, 40]
    distances, found = index.within(counts[250:], np.ldexp(float(radius_units), -metric.fraction_bits))
    assert found[0].size >= 41
    for row in range(10):
        inside = np.flatnonzero(expected[row] <= radius_units)
        assert_same((distances[row], found[row]), *oracle.nearest(expected[row][inside], ids[inside], None), metric)
        assert_same(index.distances(counts[[250 + row]]), expected[row], ids, metric)
        chosen = [249, 3, 3, 120]
        assert_same(index.distances(counts[[250 + row]], ids=chosen), expected[row][chosen], chosen, metric)
    nothing = index.within(counts[250:251], 0.0)
    assert nothing[1][0].size == (expected[0] == 0).sum()
    everything = index.within(counts[250:251], 1e300)
    assert everything[1][0].size == 250


def test_a_query_with_thousands_of_words(kind):
    random = np.random.default_rng(0)
    metric = random_metric(5000, seed=0)
    counts = random.poisson(1.0, (80, 5000))
    index = TreeIndex(metric)
    index.add(counts[:70])
    expected = oracle.unit_distances(metric, counts[70:], counts[:70])
    distances, ids = index.search(counts[70:], 5)
    for row in range(10):
        assert_same((distances[row], ids[row]), *oracle.nearest(expected[row], np.arange(70), 5), metric)


def test_removal_and_empty_index(kind):
    metric = random_metric(30, seed=0)
    counts, _ = make_documents(200, n_words=30, words_per_document=5, random_state=0)
    index = TreeIndex(metric)
    assert index.search(counts[:3], 5)[1].shape == (3, 0)
    assert index.within(counts[:1], 9.0)[1][0].size == 0
    assert index.distances(counts[:1])[0].size == 0
    index.add(counts)
    gone = np.arange(0, 200, 3)
    index.remove(gone)
    kept = np.setdiff1d(np.arange(200), gone)
    assert np.array_equal(index.ids, kept)
    expected = oracle.unit_distances(metric, counts[:9], counts[kept])
    distances, ids = index.search(counts[:9], 300)
    for row in range(9):
        assert_same((distances[row], ids[row]), *oracle.nearest(expected[row], kept, 300), metric)
    index.remove(kept)
    assert len(index) == 0
    assert index.search(counts[:3], 5)[1].shape == (3, 0)
    assert index.add(counts[:2]).tolist() == [200, 201]


def test_distances_take_rows_of_any_form_and_refuse_those_without_a_distance():
    metric = TreeMetric(star_tree(3), masses=[1, 1, 0])
    index = TreeIndex(metric)
    index.add([[1, 0, 0], [1, 1, 0]])
    unsorted = csr_array((np.array([1.0, 1.0, 2.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 3))
    for query in (unsorted, [[1, 3, 0]], csr_array([[1, 3, 0]])):
        assert index.distances(query)[0].tolist() == [1.5, 0.5]
    for query, message in (
        (csr_array([[0, 0, 2]]), "known word"),
        (csr_array([[-1, 2, 0]]), "negative"),
        (csr_array([[1, 0]]), "2 features"),
        (csr_array([[1, 0, 0], [0, 1, 0]]), "one document, got 2 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            index.distances(query)
    with pytest.raises(ValueError, match="known word"):
        TreeIndex(metric).distances(csr_array([[0, 0, 2]]))


def test_documents_without_known_words_are_held_but_never_found():
    metric = TreeMetric(star_tree(3), masses=[1, 1, 0])
    index = TreeIndex(metric)
    with pytest.warns(EmptyDocumentWarning, match=r"2 document\(s\) hold no known word \(rows 1, 3\)"):
        index.add([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 2]])
    assert len(index) == 4
    assert index.search([[1, 0, 5]], 10)[1].tolist() == [[0, 2]]
    assert index.distances([[1, 0, 0]])[1].tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"those of ids 3 have none"):
        index.distances([[1, 0, 0]], ids=[0, 3])
    index.remove([1, 3])
    assert index.ids.tolist() == [0, 2]


@pytest.mark.parametrize("n_shards", [0, 2])
def test_rows_without_known_words_are_told_instead_of_warned_about(n_shards):
    index = TreeIndex(TreeMetric(star_tree(2), masses=[1, 0]))
    index = ShardedIndex.from_index(index, n_shards) if n_shards else index
    ids, unknown = index.hold([[1, 0, 0], [0, 1, 0], [0, 0, 7], [1, 0, 1]], ids=[3, 4, 5, 6])
    assert (ids.tolist(), unknown.tolist(), index.ids.tolist()) == ([3, 4, 5, 6], [1, 2], [3, 4, 5, 6])


def test_segments_in_which_no_document_holds_a_known_word(kind):
    index = TreeIndex(TreeMetric(star_tree(3), masses=[1, 1, 0]))
    with pytest.warns(EmptyDocumentWarning):
        index.add([[0, 0, 1]])
    assert index.distances([[1, 0, 0]])[1].size == 0
    assert index.search([[1, 0, 0]], 3)[1].shape == (1, 0)
    index.remove([0])
    index.add([[1, 0, 0], [1, 1, 0], [0, 1, 0]])
    with pytest.warns(EmptyDocumentWarning):
        index.add([[0, 0, 7]])
    assert [segment.n_searchable for segment in index._snapshot.segments] == [3, 0]
    for query in ([[1, 0, 0]], csr_array([[1, 0, 0]])):
        assert index.distances(query)[0].tolist() == [0.0, 1.0, 2.0]
        assert index.search(query, 9)[1].tolist() == [[1, 2, 3]]
        assert index.within(query, 1.0)[1][0].tolist() == [1, 2]


def test_a_known_word_at_the_root_has_a_distance():
    metric = TreeMetric(star_tree(2, [0, 1]))
    index = TreeIndex(metric)
    index.add([[1, 0], [0, 1]])
    assert index.search([[3, 0]], 2)[0].tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("X", [[[0, 0]], csr_array([[0, 0]]), csr_array([[0.0, 1.0]])])
def test_unknown_queries_are_refused_by_row(X):
    index = TreeIndex(TreeMetric(star_tree(2), masses=[1, 0]))
    index.add([[1, 0]])
    message = r"at least one known word, but 1 row\(s\) of X have none: 0"
    with pytest.raises(ValueError, match=message):
        index.search(X, 1)
    with pytest.raises(ValueError, match=message):
        index.within(X, 1.0)


def test_rows_that_are_not_canonical_are_mended_and_bad_values_refused():
    metric = random_metric(4, seed=0)
    index = TreeIndex(metric)
    index.add(np.eye(4))
    tidy = csr_array([[0.0, 3.0, 0.0, 1.0]])
    messy = csr_array(([1.0, 1.0, 0.0, 2.0], [3, 1, 0, 1], [0, 4]), shape=(1, 4))
    for X in (
        messy,
        messy.tocsc(),
        messy.toarray(),
        csr_array((messy.data, messy.indices.astype(np.int64), messy.indptr.astype(np.int64)), shape=(1, 4)),
    ):
        assert np.array_equal(index.search(X, 4)[0], index.search(tidy, 4)[0])
    frozen = tidy.copy()
    frozen.data.setflags(write=False)
    assert np.array_equal(index.search(frozen, 4)[0], index.search(tidy, 4)[0])
    for value, message in ((-1.0, "Negative values"), (np.nan, "NaN or infinity"), (np.inf, "NaN or infinity")):
        with pytest.raises(ValueError, match=message):
            index.search(csr_array([[1.0, value, 0, 0]]), 2)
    with pytest.raises(ValueError, match="overflow"):
        index.search(csr_array([[1.7e308] * 4]), 2)
    with pytest.raises(ValueError, match="overflow"):
        index.add(csr_array([[1.7e308] * 4]))
    with pytest.raises(ValueError, match="X has 3 features, but TreeMetric is expecting 4"):
        index.search(csr_array([[1, 0, 0]]), 2)
    with pytest.raises(TypeError, match="real numbers"):
        index.search(csr_array([[1j, 0, 0, 0]]), 2)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float32])
def test_rows_in_any_order_are_searched_without_checking_them_first(kind, dtype, monkeypatch):
    """`CountVectorizer` leaves the words of a document in the order of their first occurrence."""
    metric = random_metric(300, seed=1, lengths=True, masses=True, n_trees=2)
    counts, _ = make_documents(260, n_words=300, words_per_document=40, random_state=0)
    index = TreeIndex(metric)
    index.add(counts[:200])
    queries = csr_array(counts[200:]).astype(dtype)
    expected = index.search(queries, 9)
    shuffled = queries.copy()
    random = np.random.default_rng(0)
    for row in range(queries.shape[0]):
        own = slice(queries.indptr[row], queries.indptr[row + 1])
        order = random.permutation(own.stop - own.start)
        shuffled.indices[own], shuffled.data[own] = queries.indices[own][order], queries.data[own][order]
    monkeypatch.setattr(index_module, "known_rows", None)  # what is checked first would fail
    for found, same in zip(index.search(shuffled, 9), expected, strict=True):
        assert np.array_equal(found, same)
    for row in range(5):
        assert np.array_equal(index.search(shuffled[[row]], 9)[0][0], expected[0][row])
        near, ids = index.distances(shuffled[[row]])
        order = np.lexsort((ids, near))[:9]
        assert np.array_equal(near[order], expected[0][row])
        assert np.array_equal(ids[order], expected[1][row])
        within = index.within(shuffled[[row]], float(expected[0][row][-1]))
        assert np.array_equal(within[0][0][:9], expected[0][row])


def test_wrong_arguments_are_refused():
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add([[1, 0], [0, 1]], ids=[7, -3])
    for k in (0, -1):
        with pytest.raises(ValueError, match="k as an integer of at least 1"):
            index.search([[1, 0]], k)
    for radius in (-1.0, np.nan):
        with pytest.raises(ValueError, match="radius of at least 0"):
            index.within([[1, 0]], radius)
    with pytest.raises(ValueError, match=r"new ids, but 7 are in the index"):
        index.add([[1, 1]], ids=[7])
    with pytest.raises(ValueError, match=r"unique ids, got 4 more"):
        index.add([[1, 1], [1, 0]], ids=[4, 4])
    with pytest.raises(ValueError, match=r"one id per document \(1\), got 2"):
        index.add([[1, 1]], ids=[1, 2])
    with pytest.raises(TypeError, match="ids as a list of integers"):
        index.add([[1, 1]], ids=[0.5])
    with pytest.raises(ValueError, match=r"No documents in the index have the ids 0, 9\."):
        index.remove([7, 9, 0])
    with pytest.raises(ValueError, match="one document, got 2 rows"):
        index.distances([[1, 0], [0, 1]])
    with pytest.raises(TypeError, match="Expected a TreeMetric"):
        TreeIndex(star_tree(2))
    assert index.ids.tolist() == [-3, 7]
    assert index.add([[1, 1]]).tolist() == [8]


def test_pickle_keeps_documents_and_numbers():
    index = TreeIndex(random_metric(20, seed=0), n_jobs=2)
    counts, _ = make_documents(30, n_words=20, words_per_document=3, random_state=0)
    index.add(counts[:20])
    index.search(counts, 3)
    again = pickle.loads(pickle.dumps(index))
    assert np.array_equal(again.search(counts, 9)[1], index.search(counts, 9)[1])
    assert again.add(counts[20:]).tolist() == list(range(20, 30))
    assert len(index) == 20


def test_threads_search_while_documents_come_and_go():
    """Documents 0 to 99 stay, others come and go far away: every search must return the same neighbours."""
    random = np.random.default_rng(0)
    metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1] * 20 + [2] * 20, edge_lengths=[1, 5, 5]))
    near, far = np.zeros((100, 40)), np.zeros((50, 40))
    near[:, :20], far[:, 20:] = random.poisson(1, (100, 20)) + 0.1, random.poisson(1, (50, 20)) + 0.1
    index = TreeIndex(metric)
    index.add(near, ids=np.arange(100))
    expected = index.search(near, 19)
    failures, done = [], threading.Event()

    def search():
        while not done.is_set():
            found = index.search(csr_array(near), 19)
            if not (np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])):
                failures.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        index.remove(index.add(far))
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert np.array_equal(index.ids, np.arange(100))


def test_threads_that_add_at_once_lose_nothing():
    index = TreeIndex(TreeMetric(star_tree(3)))
    given_ids = []
    threads = [
        threading.Thread(target=lambda: given_ids.extend(int(index.add([[1, 0, 2]])[0]) for _ in range(25)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given_ids) == list(range(100))
    assert np.array_equal(index.ids, np.arange(100))


def test_few_segments_however_documents_come():
    index = TreeIndex(TreeMetric(star_tree(3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(300):
            index.add([[1, 2, 0]])
    assert len(index._snapshot.segments) <= 9
    assert len(index) == 300


def test_ids_cannot_be_written_to():
    index = TreeIndex(TreeMetric(star_tree(3)))
    index.add([[1, 2, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match="read-only"):
        index.ids[0] = 7
    index.remove(index.ids[:1])
    assert index.ids.tolist() == [1]
