"""An index in shards answers as one index of all documents does, to the bit."""

import pickle
import threading
import warnings
from copy import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.search.segment_kinds import KINDS, use_kind
from tests.strategies import documents, metrics
from treewass import EmptyDocumentWarning, ShardedIndex, TreeIndex, TreeMetric
from treewass.documents.synthetic import make_documents
from treewass.search.held_documents import documents_of, moved_index, rows_of
from treewass.search.numpy_nearest import nearest_documents
from treewass.search.ranking import ranked_rows
from treewass.trees import perfect_tree, star_tree


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, list):
            assert_same(one, other)
        else:
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


def assert_answers_as(index, one, queries, k, where):
    """Compare every answer of an index in shards with those of a single index."""
    assert np.array_equal(index.ids, one.ids)
    assert len(index) == len(one)
    assert index.next_id == one.next_id
    for restricted in (None, where):
        assert_same(index.search(queries, k, where=restricted), one.search(queries, k, where=restricted))
        assert_same(index.rank(queries, k, where=restricted), one.rank(queries, k, where=restricted))
    distances, ids = one.distances(queries[:1])
    assert_same(index.distances(queries[:1]), (distances, ids))
    assert_same(index.distances(queries[:1], ids[::-2]), one.distances(queries[:1], ids[::-2]))
    radius = float(np.median(distances)) if ids.size else 1.0
    assert_same(index.within(queries, radius), one.within(queries, radius))


def random_case(random):
    """Draw a metric of few words, so that ties abound, documents with empty ones among them, and some to remove."""
    n_words = int(random.integers(1, 7))
    shape = perfect_tree(2, int(random.integers(1, 4)))
    nodes = random.integers(0, shape.n_nodes, n_words)
    metric = TreeMetric(type(shape)(shape.parents, None, nodes, random.integers(0, 3, n_words).astype(float)))
    held = random.integers(0, 3, (int(random.integers(0, 40)), n_words)) * random.integers(0, 2, (1, n_words))
    queries = random.integers(0, 3, (int(random.integers(1, 4)), n_words))
    queries[:, 0] += queries.sum(axis=1) == 0
    return metric, held, queries


def check_random_case(seed):
    random = np.random.default_rng(seed)
    metric, held, queries = random_case(random)
    ids = random.permutation(3 * len(held))[: len(held)] - len(held)
    index = ShardedIndex([TreeIndex(metric) for _ in range(int(random.integers(1, 5)))], n_jobs=1 + seed % 2)
    one = TreeIndex(metric)
    gone = ids[random.random(ids.size) < 0.3]
    for part in np.array_split(np.arange(len(held)), 3):
        for both in (index, one):
            both.add(held[part], ids[part])
    for both in (index, one):
        both.remove(gone)
    where = one.ids[random.random(len(one)) < 0.5] if seed % 3 else random.random(len(one)) < 0.5
    assert_answers_as(index, one, queries, int(random.integers(1, 50)), where)
    again = ShardedIndex.from_index(index, int(random.integers(1, 6)), n_jobs=2)
    assert_answers_as(again, one, queries, int(random.integers(1, 50)), where)


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_random_cases(kind, monkeypatch, quiet):
    use_kind(monkeypatch, kind)
    for seed in range(40):
        check_random_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_random_cases(kind, monkeypatch, quiet):
    use_kind(monkeypatch, kind)
    for seed in range(40, 2540):
        check_random_case(seed)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 14), st.sampled_from([1, 2]))
def test_any_metric(data, n_shards, k, n_jobs):
    metric = data.draw(metrics(max_components=3))
    held = data.draw(documents(metric.n_words, max_rows=12))
    one = TreeIndex(metric)
    one.add(held)
    index = ShardedIndex.from_index(one, n_shards, n_jobs=n_jobs)
    queries = data.draw(documents(metric.n_words, max_rows=3))
    assert_answers_as(index, one, queries, k, one.ids[::2])


@pytest.fixture(scope="module")
def collection():
    """A metric, one index of 900 documents, queries."""
    counts, _ = make_documents(1000, n_words=200, words_per_document=12, random_state=4)
    shape, random = perfect_tree(3, 3), np.random.default_rng(0)
    tree = type(shape)(shape.parents, None, random.integers(0, shape.n_nodes, 200), random.exponential(size=200))
    one = TreeIndex(TreeMetric(tree))
    one.add(counts[:900])
    return one, counts[900:]


@pytest.mark.parametrize("n_jobs", [None, 2, -1])
@pytest.mark.parametrize("n_shards", [1, 3, 7])
def test_many_queries_and_documents(collection, n_shards, n_jobs):
    one, queries = collection
    index = ShardedIndex.from_index(one, n_shards, n_jobs=n_jobs)
    assert_answers_as(index, one, queries, 19, np.arange(one.ids.size) % 5 == 1)
    assert_same(index.search(queries, 2000), one.search(queries, 2000))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_errors_are_those_of_one_index(collection, n_jobs):
    one, queries = collection
    index = ShardedIndex.from_index(one, 3, n_jobs=n_jobs)
    calls = [
        lambda both: both.search(queries, 0),
        lambda both: both.search(queries[:, :5]),
        lambda both: both.search(np.zeros((2, 200))),
        lambda both: both.search(np.zeros((1, 200)), where=[]),
        lambda both: both.search(queries, where=[3, 10_000]),
        lambda both: both.search(queries, where=[True]),
        lambda both: both.rank(queries * 0.5),
        lambda both: both.within(queries, -1),
        lambda both: both.distances(queries),
        lambda both: both.distances(queries[:1], [-4]),
        lambda both: both.add(queries, np.zeros(100, dtype=int)),
        lambda both: both.add(queries, np.arange(850, 950)),
        lambda both: both.add(queries[:, :7]),
        lambda both: both.remove([5, 2000]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\w") as expected:
            call(one)
        with pytest.raises(ValueError, match=r"\w") as found:
            call(index)
        assert str(found.value) == str(expected.value)
    assert_answers_as(index, one, queries, 3, one.ids[:1])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_where_without_documents(collection, n_jobs):
    one, queries = collection
    index = ShardedIndex.from_index(one, 3, n_jobs=n_jobs)
    assert_same(index.search(queries, where=[]), one.search(queries, where=[]))
    assert_same(index.rank(queries, where=[]), one.rank(queries, where=[]))


def test_new_documents_level_the_shards_and_indexes_given_stay_as_they_are():
    metric = TreeMetric(star_tree(2))
    given_shard = TreeIndex(metric)
    given_shard.add([[1, 0]] * 5)
    index = ShardedIndex([given_shard, TreeIndex(metric)])
    before = copy(index)
    assert index.add([[0, 1]] * 4).tolist() == [5, 6, 7, 8]
    assert [len(shard) for shard in index.shards] == [5, 4]
    index.remove([0, 8])
    index.compact()
    assert len(given_shard) == len(before) == 5
    assert 8 not in index
    assert 7 in index
    assert "7" not in index
    assert index.add([[1, 1]]).tolist() == [9]  # ids are never used twice
    assert repr(index).startswith("ShardedIndex(TreeMetric(")


def test_one_warning_names_the_empty_rows():
    index = ShardedIndex([TreeIndex(TreeMetric(star_tree(2))) for _ in range(3)])
    with pytest.warns(EmptyDocumentWarning, match=r"1, 4\b") as caught:
        index.add([[1, 0], [0, 0], [1, 0], [0, 2], [0, 0], [1, 1]])
    assert len(caught) == 1


def test_what_takes_documents_out_sees_all_shards(collection):
    one, queries = collection
    index = ShardedIndex.from_index(one, 4)
    assert (documents_of(index) != documents_of(one)).nnz == 0
    assert rows_of(index, [800, 3]) == rows_of(one, [800, 3])
    words, weights = queries[0].nonzero()[-1].tolist(), queries[[0]].data.tolist()
    assert_same(nearest_documents(index, words, weights, 7), nearest_documents(one, words, weights, 7))
    assert_same(ranked_rows(index, [(words, weights)], 7), ranked_rows(one, [(words, weights)], 7))
    metric = TreeMetric(star_tree(200))
    moved = moved_index(index, metric)
    assert len(moved.shards) == 4
    assert_same(moved.search(queries), moved_index(one, metric).search(queries))


def test_shards_of_shards_are_shards(tmp_path):
    metric, counts = TreeMetric(star_tree(3)), np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    one, other = TreeIndex(metric), TreeIndex(metric)
    one.add(counts)
    other.add(counts[:1], ids=[9])
    index = ShardedIndex([ShardedIndex.from_index(one, 2), other])
    assert [shard.ids.tolist() for shard in index.shards] == [[0, 1], [2, 3], [9]]
    index.save(tmp_path / "index")
    one.add(counts[:1], ids=[9])
    for found in (index, ShardedIndex.load(tmp_path / "index")):
        assert_answers_as(found, one, counts, 3, [0, 3, 9])


def test_pickled(collection):
    one, queries = collection
    index = pickle.loads(pickle.dumps(ShardedIndex.from_index(one, 2, n_jobs=2)))
    assert_same(index.search(queries), one.search(queries))
    assert index.shards[0].metric is index.shards[1].metric


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_sees_the_index_as_it_was_when_it_began(collection, n_jobs):
    one, queries = collection
    index = ShardedIndex.from_index(one, 3, n_jobs=n_jobs)
    numbers, stop, wrong = np.arange(2000, 2060), threading.Event(), []
    copies = documents_of(one, [0] * 60)

    def look():
        while not stop.is_set():
            held = np.isin(index.search(documents_of(one, [0]), 2000)[1], numbers).sum()
            if held not in (0, 60):
                wrong.append(held)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        index.add(copies, numbers)
        index.remove(numbers)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert_same(index.search(queries), one.search(queries))
