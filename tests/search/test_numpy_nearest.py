import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.segment_kinds import KINDS, use_kind
from treewass import Tree, TreeIndex, TreeMetric
from treewass.documents import make_documents
from treewass.search import segments
from treewass.search.held_documents import documents_of, moved_index
from treewass.search.numpy_nearest import nearest_documents, nearest_of_rows
from treewass.trees import star_tree


def random_metric(n_words, n_components, seed, flat=False):
    """A metric whose first word has no mass; flat, half of the words lie at the root, at no distance from it."""
    random = np.random.default_rng(seed)
    trees = []
    for _ in range(n_components):
        parents = [-1] + [int(random.integers(0, node)) for node in range(1, 9)]
        lengths = random.random(9), random.random(n_words)
        nodes = random.integers(0, 9, n_words)
        if flat:
            nodes[: n_words // 2] = lengths[1][: n_words // 2] = 0
        trees.append(Tree(parents, lengths[0], nodes, lengths[1]))
    masses = random.random((n_components, n_words))
    masses[:, 0] = 0
    return TreeMetric(trees, masses)


def arrays(row):
    words = np.flatnonzero(row)
    return words.tolist(), np.asarray(row, dtype=float)[words].tolist()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_components=st.integers(1, 2),
    k=st.integers(1, 30),
    kind=st.sampled_from(list(KINDS)),
    flat=st.booleans(),
)
def test_answers_are_those_of_the_compiled_search(seed, n_components, k, kind, flat):
    random = np.random.default_rng(seed)
    index = TreeIndex(random_metric(12, n_components, seed, flat))
    with pytest.MonkeyPatch.context() as patch:
        use_kind(patch, kind)
        documents = random.integers(0, 3, (170, 12)) * random.choice([1.0, 0.37], (170, 12))
        documents[:, 1] += 0.5
        index.add(documents[:130])
        index.add(documents[130:])
        index.remove(random.choice(170, 40, replace=False))
        for query in [*random.integers(0, 3, (3, 12)) + np.eye(12)[1], np.eye(12)[1]]:
            expected = index.search(query[None], 170)
            assert_answers(nearest_documents(index, *arrays(query), k), index.search(query[None], k))
            among = random.choice(170, 20, replace=False)
            kept = np.isin(expected[1][0], among)
            found = nearest_documents(index, *arrays(query), k, among=among)
            assert_answers(found, (expected[0][:, kept][:, :k], expected[1][:, kept][:, :k]))


def assert_answers(found, expected):
    for one, rows in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, rows[0])


@pytest.mark.parametrize(("tile", "n_tiles"), [(1024, 5), (8192, 1)])
def test_answers_agree_in_sixteen_bits(monkeypatch, tile, n_tiles):
    monkeypatch.setattr(segments, "WIDE_LIMIT", 0)
    monkeypatch.setattr(segments, "TILE", tile)
    counts, _ = make_documents(5000, n_words=300, words_per_document=12, n_classes=4, random_state=0)
    index = TreeIndex(random_metric(300, 1, 0))
    index.add(counts)
    (segment,) = index._snapshot.segments
    assert segment.is_narrow
    assert segment.dense.shape[0] == n_tiles
    queries = counts[:20].toarray()
    expected = index.search(queries, 19)
    for row, query in enumerate(queries):
        found = nearest_documents(index, *arrays(query), 19)
        assert_answers(found, (expected[0][[row]], expected[1][[row]]))


@pytest.mark.parametrize("n_queries", [0, 1, 7, 60])
@pytest.mark.parametrize("k", [1, 5, 300])
def test_rows_are_answered_alike_with_numba_and_without(n_queries, k, monkeypatch):
    counts, _ = make_documents(200 + n_queries, n_words=60, words_per_document=9, random_state=0)
    index = TreeIndex(random_metric(60, 2, 0))
    index.add(counts[:200])
    queries = counts[200:].toarray()
    queries[:, 1] += 1
    rows = [arrays(query) for query in queries]
    expected = index.search(queries, k)
    for has_numba in (True, False):
        if not has_numba:
            monkeypatch.delitem(sys.modules, "numba")
        found = nearest_of_rows(index, rows, k)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
        assert found[1].dtype == np.int64


def test_few_rows_do_not_start_numba():
    code = (
        "import sys, numpy as np; from treewass import TreeIndex, TreeMetric; from treewass.trees import star_tree; "
        "from treewass.search.numpy_nearest import nearest_of_rows; index = TreeIndex(TreeMetric(star_tree(2))); "
        "found = nearest_of_rows(index, [([0], [1.0])] * 1999, 3); sys.stdout.write(str('numba' in sys.modules)); "
        "nearest_of_rows(index, [([0], [1.0])] * 2000, 3); sys.stdout.write(str('numba' in sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "FalseTrue"
    )


def test_a_query_without_a_known_word_has_no_neighbours():
    index = TreeIndex(TreeMetric(star_tree(3), masses=[1, 1, 0]))
    index.add([[1, 0, 0]])
    distances, ids = nearest_documents(index, [2], [1.0], 5)
    assert distances.size == ids.size == 0


def test_a_known_word_at_the_root_has_neighbours():
    index = TreeIndex(TreeMetric(Tree([-1, 0, 0], [0, 1, 1], [0, 1, 2], [0, 0, 0])))
    index.add([[0, 1, 0], [1, 0, 0]])
    distances, ids = nearest_documents(index, [0], [1.0], 2)
    assert (distances.tolist(), ids.tolist()) == ([0.0, 1.0], [1, 0])
    expected = index.search([[1, 0, 0]], 2)
    assert (expected[0][0].tolist(), expected[1][0].tolist()) == ([0.0, 1.0], [1, 0])


def test_documents_come_out_as_they_went_in():
    random = np.random.default_rng(0)
    index = TreeIndex(TreeMetric(star_tree(5)))
    documents = random.integers(0, 4, (60, 5)).astype(float) + np.eye(60, 5)
    documents[:, 0] += 1
    index.add(documents[:50])
    index.add(documents[50:], ids=np.arange(100, 110))
    index.remove([3, 4, 105])
    kept = np.setdiff1d(np.arange(60), [3, 4, 55])
    np.testing.assert_array_equal(documents_of(index).toarray(), documents[kept])
    np.testing.assert_array_equal(documents_of(index, [104, 0, 7]).toarray(), documents[[54, 0, 7]])
    assert documents_of(index, []).shape == (0, 5)
    with pytest.raises(ValueError, match="105"):
        documents_of(index, [105])
    assert 104 in index
    assert not {105, 3, 60, "104", 104.0} & {number for number in (105, 3, 60, "104", 104.0) if number in index}


def test_a_moved_index_gives_no_id_again():
    index = TreeIndex(TreeMetric(star_tree(2)))
    index.add([[1, 0], [0, 1], [1, 1]])
    index.remove([2])
    moved = moved_index(index, TreeMetric(star_tree(3)))
    np.testing.assert_array_equal(moved.ids, [0, 1])
    assert moved.add([[0, 0, 1]]).tolist() == [3]
    index.remove([0, 1])
    assert moved_index(index, TreeMetric(star_tree(3))).add([[0, 0, 1]]).tolist() == [3]
