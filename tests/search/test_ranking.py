from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.search import ranking_oracle as oracle
from tests.search.segment_kinds import KINDS, use_kind
from tests.search.test_index import random_metric
from tests.strategies import documents, metrics
from treewass import TreeIndex, TreeMetric
from treewass.documents.histograms import EmptyDocumentWarning
from treewass.documents.synthetic import make_documents
from treewass.search import ranking
from treewass.search.held_documents import documents_of
from treewass.search.index_folder import save_index
from treewass.search.numpy_ranking import rarity, statistics_of, whole_logarithm
from treewass.search.ranking import ranked_rows
from treewass.search.segments import BEYOND, Segment
from treewass.search.snapshot import Snapshot
from treewass.search.word_lists import LIST_ARRAYS, ListsOnce
from treewass.trees import star_tree
from treewass.trees.rows import canonical_rows


def hits(scores, ids):
    """The hits of one query, as the oracle lists them."""
    assert ((ids == -1) == (scores == 0)).all()
    assert (np.diff(scores) <= 0).all()
    return [(score, number) for score, number in zip(scores.tolist(), ids.tolist(), strict=True) if score]


def assert_ranked(index, queries, counts, ids, k, **filters):
    found = index.rank(queries, k, **filters)
    among = None if not filters else {*ids} & {*np.asarray(filters["where"]).tolist()}
    assert found[0].shape == (len(queries), min(k, len(ids if among is None else among)))
    expected = oracle.rank(index.metric, queries, counts, ids, k, among=among)
    assert [hits(*row) for row in zip(*found, strict=True)] == expected


@pytest.fixture(params=KINDS)
def collection(request, monkeypatch):
    """An index of two segments with words beyond its metric, documents removed; and what it holds."""
    use_kind(monkeypatch, request.param)
    counts = make_documents(150, n_words=70, words_per_document=8, random_state=0)[0].toarray()
    index = TreeIndex(random_metric(60, seed=0, lengths=True, masses=True, n_trees=2))
    index.add(counts[:110])
    index.add(counts[110:])
    index.remove([3, 7, 120])
    assert len(index._snapshot.segments) == 2
    return index, counts[index.ids]


def queries():
    return make_documents(12, n_words=70, words_per_document=3, random_state=1)[0].toarray()


def test_every_kind_of_segment_ranks_as_the_definition_says(collection):
    index, counts = collection
    assert_ranked(index, queries(), counts, index.ids, 200)
    assert_ranked(index, queries(), counts, index.ids, 5)


def test_numpy_alone_ranks_as_the_definition_says(collection, monkeypatch):
    index, counts = collection
    monkeypatch.setattr(ranking, "MOST_SORTED", 0)
    assert_ranked(index, queries(), counts, index.ids, 200)
    assert_ranked(index, queries(), counts, index.ids, 5, where=index.ids[::3])


def test_a_number_is_no_query(collection):
    with pytest.raises(ValueError, match=r"Expected.*2"):
        collection[0].rank(np.array(5))


def test_counted_rows_rank_as_a_matrix_does(collection):
    index, _ = collection
    rows = [(np.flatnonzero(query).tolist(), query[query > 0].tolist()) for query in queries()]
    assert np.array_equal(ranked_rows(index, rows, 7), index.rank(queries(), 7))
    with pytest.raises(ValueError, match="ascending words"):
        ranked_rows(index, [([2, 2], [1, 1])], 7)
    with pytest.raises(ValueError, match=r"row\(s\) 0 of X hold other weights"):
        ranked_rows(index, [([1, 2], [1, 2**31])], 7)


def test_rows_out_of_order_and_repeated_words_are_mended(collection):
    index, _ = collection
    mixed = csr_array((np.array([1.0, 2.0, 1.0, 1.0]), np.array([9, 65, 9, 3]), np.array([0, 4])), shape=(1, 70))
    plain = np.zeros((1, 70))
    plain[0, [3, 9, 65]] = 1, 2, 2
    assert np.array_equal(index.rank(mixed, 7), index.rank(plain, 7))


def test_a_filter_restricts_hits_but_not_the_statistics(collection):
    index, counts = collection
    chosen = index.ids[::3]
    assert_ranked(index, queries(), counts, index.ids, 7, where=chosen)
    by_mask = index.rank(queries(), 7, where=np.isin(index.ids, chosen))
    for one, other in zip(by_mask, index.rank(queries(), 7, where=chosen), strict=True):
        assert np.array_equal(one, other)


def test_a_filter_restricts_neighbours(collection):
    index, _ = collection
    chosen, known = index.ids[::3], queries()[:, :60] + np.eye(12, 60)
    distances, ids = index.search(known, len(index))
    near, found = index.search(known, 9, where=chosen)
    for row in range(len(known)):
        kept = np.isin(ids[row], chosen)
        assert np.array_equal(found[row], ids[row][kept][:9])
        assert np.array_equal(near[row], distances[row][kept][:9])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_order_of_insertion_batches_and_threads_do_not_matter(collection, n_jobs):
    index, counts = collection
    other, order = TreeIndex(index.metric, n_jobs=n_jobs), np.random.default_rng(0).permutation(len(index))
    for part in np.array_split(order, 5):
        other.add(counts[part], ids=index.ids[part])
    many = np.concatenate([queries()] * 12)
    scores, ids = other.rank(many, 10)
    for row, query in enumerate(queries()):
        alone = index.rank([query], 10)
        for copy in range(row, len(many), 12):
            assert np.array_equal(alone[0][0], scores[copy])
            assert np.array_equal(alone[1][0], ids[copy])


def test_parts_with_the_statistics_of_the_whole_rank_as_the_whole(collection):
    index, counts = collection
    parts = [TreeIndex(index.metric), TreeIndex(index.metric)]
    for number, part in enumerate(parts):
        part.add(counts[number::2], ids=index.ids[number::2])
    whole = statistics_of(index.metric, parts[0]._snapshot) + statistics_of(index.metric, parts[1]._snapshot)
    asked = canonical_rows(queries(), 70)
    found = [part._ranker.rank(asked, part._snapshot, whole, 9, None) for part in parts]
    for row, query in enumerate(queries()):
        merged = sorted((-score, number) for scores, ids in found for score, number in hits(scores[row], ids[row]))
        assert [(-score, number) for score, number in merged[:9]] == hits(*(one[0] for one in index.rank([query], 9)))


@pytest.mark.parametrize("way", [{"mmap": True}, {"mmap": True, "verify": True}, {"mmap": False}])
def test_files_hold_lists_of_words_and_words_beyond_the_metric(collection, way, tmp_path, monkeypatch):
    index, counts = collection
    index.save(tmp_path / "new")
    again = TreeIndex.load(tmp_path / "new", **way)
    with monkeypatch.context() as patch:
        patch.setattr(Segment, "has_counts", False)
        index.save(tmp_path / "old")
    old = TreeIndex.load(tmp_path / "old", **way)
    expected = index.rank(queries(), 9)
    for read, known in ((again, True), (old, False)):
        assert all((one.lists.n_bytes > 0) is known for one in read._snapshot.segments)
        assert np.array_equal(read.rank(queries(), 9), expected)
        assert np.array_equal(documents_of(read, beyond=True).toarray(), counts)
        read.remove(read.ids[::2])
        read.add(queries())
        assert_ranked(read, queries(), np.concatenate([counts[1::2], queries()]), read.ids, 5)


@pytest.mark.parametrize("name", [*LIST_ARRAYS, *BEYOND])
def test_damaged_lists_are_refused(collection, name, tmp_path):
    index, _ = collection
    first, segment = index._snapshot.segments
    lists = segment.lists.get(index.metric, segment)
    array = getattr(segment if name in BEYOND else lists, name)
    wrong = np.where(np.arange(array.size) == 0, 70, array).astype(array.dtype)
    for changed, verify in ((array[:-1], False), (wrong, True)):
        if name in BEYOND:
            damaged = replace(segment, **{name: changed})
        else:
            damaged = replace(segment, lists=ListsOnce(lists._replace(**{name: changed})))
        save_index(tmp_path / "damaged", index.metric, Snapshot((first, damaged), 150))
        with pytest.raises(ValueError, match=f"{name} of|beyond_places of|Expected (a list|lists|words beyond)"):
            TreeIndex.load(tmp_path / "damaged", verify=verify)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_small_collections_rank_as_the_definition_says(data):
    metric = data.draw(metrics(max_components=2, max_words=5))
    held = np.rint(data.draw(documents(metric.n_words, max_rows=6)))
    asked = np.rint(data.draw(documents(metric.n_words, max_rows=3)))
    index = TreeIndex(metric)
    index.add(held + (held.sum(axis=1) == 0)[:, None])
    assert_ranked(index, asked, held + (held.sum(axis=1) == 0)[:, None], index.ids, 4)


def test_words_beyond_the_metric_are_ranked_but_have_no_mass():
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add([[1, 0], [1, 1]])
    with pytest.warns(EmptyDocumentWarning):
        index.add([[0, 0, 0, 2]])
    index.add([[3, 0, 1, 0]])
    assert index.rank([[0, 0, 0, 1]], 2)[1].tolist() == [[2, -1]]
    assert index.rank([[0, 0, 1]], 2)[1].tolist() == [[3, -1]]
    assert index.rank([[0, 0, 0, 0, 0, 5]], 2)[1].tolist() == [[-1, -1]]
    distances, ids = index.search([[1, 0]], 4)
    assert ids.tolist() == [[0, 3, 1]]
    assert distances.tolist() == [[0, 0, 1]]


def test_a_word_that_every_document_holds_is_still_found():
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add(np.ones((5000, 2)))
    assert (index.rank([[1, 0]], 3)[0] > 0).all()


def test_weights_that_are_no_counts_are_refused():
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add([[1, 0]])
    with pytest.raises(ValueError, match=r"row\(s\) 1 of X hold other weights"):
        index.rank([[1, 0], [0.5, 0]])
    index.add([[0.5, 0]])
    with pytest.raises(ValueError, match="ids 1 were added with other weights"):
        index.rank([[1, 0]])


@pytest.mark.parametrize(("where", "problem"), [([True], "mask over the 2 ids"), ([5], "has id 5")])
def test_filters_that_do_not_fit_are_refused(where, problem):
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add([[1, 0], [0, 1]])
    for ask in (index.rank, index.search):
        with pytest.raises(ValueError, match=problem):
            ask([[1, 0]], where=where)


def test_nothing_passes_an_empty_filter():
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add([[1, 0], [0, 1]])
    for ask in (index.rank, index.search):
        assert ask([[1, 0]], where=[])[1].shape == (1, 0)


def test_an_index_without_documents_has_no_hits():
    assert TreeIndex(TreeMetric(star_tree(2))).rank([[1, 0]])[0].shape == (1, 0)


@given(number=st.integers(1, 2**62))
def test_the_whole_logarithm_is_near_the_real_one(number):
    assert abs(whole_logarithm(number) / 2**16 - np.log2(float(number))) < 2**-13


@given(counts=st.lists(st.integers(1, 2**40), min_size=2, max_size=2).map(sorted))
def test_a_word_of_fewer_documents_is_rarer(counts):
    assert rarity(counts[0], 2**40) >= rarity(counts[1], 2**40) > 0


def test_room_for_words_depends_on_the_longest_query_and_not_on_the_batch():
    X, _ = make_documents(5000, n_words=500, words_per_document=8, random_state=0)
    metric = random_metric(n_words=500, seed=0)
    index = TreeIndex(metric)
    index.add(X)
    index.rank(X, 3)
    assert index._ranker._local.desk.n_words == ranking._LEAST_WORDS
