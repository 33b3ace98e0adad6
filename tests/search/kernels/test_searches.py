"""All queries at once, one after the other, and the definition of the distance: the same answers."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.search import integer_oracle as oracle
from tests.search.segment_kinds import KINDS, assert_kind, use_kind
from tests.search.test_index import random_metric
from treewass import Tree, TreeIndex, TreeMetric
from treewass.documents.synthetic import make_documents
from treewass.trees import PrecisionWarning, star_tree

NEIGHBOURS = (1, 19, 64, 65, 300, 1000)


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """Run a test on every kind of segment, however few documents there are."""
    use_kind(monkeypatch, request.param)
    return request.param


def assert_oracle(index, queries, held, ids=None, neighbours=NEIGHBOURS):
    """Compare batches and single queries with the oracle."""
    ids = np.arange(held.shape[0]) if ids is None else ids
    queries = csr_array(queries)
    units = oracle.unit_distances(index.metric, queries, held)
    for k in neighbours:
        batch = index.search(queries, k)
        assert batch[0].shape == batch[1].shape == (queries.shape[0], min(k, ids.size))
        for row in range(queries.shape[0]):
            alone = index.search(queries[[row]], k)
            distances, nearest = oracle.nearest(units[row], ids, k)
            distances = np.ldexp(distances, -index.metric.fraction_bits)
            for found in ((batch[0][row], batch[1][row]), (alone[0][0], alone[1][0])):
                assert np.array_equal(found[1], nearest)
                assert np.array_equal(found[0], distances)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_batches_single_queries_and_the_oracle_agree(kind, n_trees):
    counts, _ = make_documents(470, n_words=150, words_per_document=9, random_state=0)
    index = TreeIndex(random_metric(150, seed=4, lengths=True, masses=True, n_trees=n_trees))
    index.add(counts[:400])
    assert_kind(index, kind)
    assert_oracle(index, counts[395:], counts[:400])


@pytest.mark.parametrize("n_tied", [255, 256, 257, 400])
def test_more_tied_documents_than_are_ranked_against_each_other(kind, n_tied):
    """Nearer ones and farther ones stand between them."""
    tied, others = np.tile([0, 4, 4, 0, 0], (n_tied, 1)), np.eye(5)[np.arange(60) % 5] * 3
    held = np.concatenate([tied, others])[np.random.default_rng(n_tied).permutation(n_tied + 60)]
    index = TreeIndex(TreeMetric(star_tree(5)))
    index.add(held)
    assert_oracle(index, [[0, 1, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 2], [1, 1, 1, 1, 1]], held)


def test_copies_under_shuffled_ids_in_several_segments(kind):
    counts, _ = make_documents(12, n_words=40, words_per_document=4, random_state=1)
    held = np.tile(counts.toarray(), (40, 1))
    ids = np.random.default_rng(0).permutation(2000)[: len(held)] - 1000
    index = TreeIndex(random_metric(40, seed=0))
    index.add(held, ids=ids)
    assert_oracle(index, counts, held, ids)
    index.add(held[:100], ids=ids[:100] + 5000)
    index.remove(ids[30:50])
    kept = np.delete(np.arange(len(held)), np.arange(30, 50))
    everything = np.concatenate([held[kept], held[:100]])
    assert len(index._snapshot.segments) == 2
    assert_oracle(index, counts, everything, np.concatenate([ids[kept], ids[:100] + 5000]), (1, 65, 300))


def test_documents_and_queries_at_the_root_have_no_units(kind):
    """Words at the root, at no distance from it: every unit of such a document is zero."""
    metric = TreeMetric(Tree([-1, 0, 0], [0, 1, 2], [0, 0, 1, 2], [0, 0, 0.5, 0]))
    random = np.random.default_rng(0)
    held = random.integers(0, 3, (300, 4))
    held[:, 0] += 1
    held[::2, 2:] = 0
    index = TreeIndex(metric)
    index.add(held)
    queries = [[1, 0, 0, 0], [3, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert_oracle(index, queries, held)
    assert_oracle(index, queries[:2], held, neighbours=(1, 200))


def test_an_index_of_nothing_but_documents_without_units(kind):
    metric = TreeMetric(Tree([-1, 0], [0, 1], [0, 0, 1], [0, 0, 0]))
    held = np.tile([[1, 0, 0], [2, 5, 0]], (150, 1))
    index = TreeIndex(metric)
    index.add(held)
    assert_oracle(index, [[1, 1, 0], [0, 1, 3], [0, 0, 1]], held)


@pytest.mark.parametrize("far", [5, 2000])
def test_queries_with_larger_values_than_any_document(kind, far):
    """In 16 bits such values are cut, to what no document exceeds.

    Documents have words near the root, queries one far away from it, on whose path documents have little mass.
    """
    n_words = 30
    nodes = np.arange(n_words) % 3 + 1
    leaves = np.full(n_words, 0.01)
    leaves[-1] = far
    tree = Tree([-1, 0, 0, 0], [0, 0.01, 0.02, far], nodes, leaves)
    with pytest.warns(PrecisionWarning) if far > 1000 else nullcontext():
        metric = TreeMetric(tree)
    random = np.random.default_rng(far)
    held = random.poisson(1.0, (200, n_words)) * np.where(nodes == 3, 0, 1) + np.eye(n_words)[np.zeros(200, int)]
    held[::7, -1] = 1e-5
    index = TreeIndex(metric)
    index.add(held)
    queries = np.concatenate([np.eye(n_words)[[-1, 2, 5]], held[:4] + 100 * np.eye(n_words)[-1]])
    segment = index._snapshot.segments[0]
    if kind != "wide":
        assert int(oracle.units(metric, queries).data.max()) >> segment.shift > 65535
    assert_oracle(index, queries, held)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n_documents=st.integers(1, 330), n_words=st.integers(1, 12), data=st.data())
@pytest.mark.parametrize("name", KINDS)
def test_collections_with_many_ties(name, seed, n_documents, n_words, data):
    random = np.random.default_rng(seed)
    metric = random_metric(n_words, seed, lengths=data.draw(st.booleans()), n_trees=data.draw(st.integers(1, 2)))
    held = random.integers(0, 2, (n_documents, n_words))
    held[np.arange(n_documents), random.integers(0, n_words, n_documents)] = 1
    queries = random.integers(0, 3, (3, n_words))
    queries[:, random.integers(0, n_words)] += 1
    with pytest.MonkeyPatch.context() as patch:
        use_kind(patch, name)
        index = TreeIndex(metric)
        index.add(held)
        assert_oracle(index, queries, held, neighbours=(1, data.draw(st.integers(2, 70)), 300))


def test_no_queries_and_more_than_a_thread_takes_at_a_time(kind):
    counts, _ = make_documents(330, n_words=60, words_per_document=6, random_state=2)
    index = TreeIndex(random_metric(60, seed=1), n_jobs=2)
    index.add(counts[:200])
    assert index.search(counts[:0], 5)[1].shape == (0, 5)
    for stop in (263, 264, 265, 330):
        assert_oracle(index, counts[200:stop], counts[:200], neighbours=(7,))


def test_answers_are_the_same_after_travelling(kind, tmp_path):
    counts, _ = make_documents(300, n_words=60, words_per_document=6, random_state=3)
    index = TreeIndex(random_metric(60, seed=2, lengths=True))
    index.add(counts[:250])
    index.search(counts[:3], 3)
    index.remove([2, 77])
    index.save(tmp_path / "index")
    assert_kind(index, kind)
    kept = np.setdiff1d(np.arange(250), [2, 77])
    for again in (
        pickle.loads(pickle.dumps(index)),
        TreeIndex.load(tmp_path / "index", mmap=True),
        TreeIndex.load(tmp_path / "index", mmap=False),
        pickle.loads(pickle.dumps(TreeIndex.load(tmp_path / "index", mmap=True))),
    ):
        assert_kind(again, kind)
        assert_oracle(again, counts[245:260], counts[kept], kept, (1, 19, 300))
        for found, expected in zip(again.within(counts[250:260], 3.0), index.within(counts[250:260], 3.0), strict=True):
            assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
        assert np.array_equal(again.distances(counts[[260]])[0], index.distances(counts[[260]])[0])
