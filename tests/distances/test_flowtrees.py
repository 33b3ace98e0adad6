import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from tests.distances.cases import topics
from tests.strategies import documents, trees
from treewass import TreeMetric
from treewass.distances import flowtree, flowtree_flows, flowtrees
from treewass.documents import AlignedVectors
from treewass.trees import quadtree


@st.composite
def problems(draw):
    """Vectors, some of them equal, and documents over their words."""
    shape = draw(st.tuples(st.integers(2, 9), st.integers(1, 6)))
    vectors = draw(hnp.arrays(np.float64, shape, elements=st.integers(-5, 5).map(float)))
    return vectors, draw(documents(shape[0], min_rows=2, max_rows=4))


def plan_matrix(flows, n_words):
    plan = np.zeros((n_words, n_words))
    np.add.at(plan, (flows.sources, flows.targets), flows.masses)
    return plan


@given(problems())
def test_no_less_than_exact_transport_and_symmetric(problem):
    vectors, counts = problem
    histograms = counts / counts.sum(axis=1, keepdims=True)
    apart = cdist(vectors, vectors)
    exact = np.array([[ot.emd2(one, other, apart) for other in histograms] for one in histograms])
    found = flowtree(counts, word_vectors=vectors)
    assert (found >= exact - 1e-9).all()
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    assert np.array_equal(flowtree(counts, counts, word_vectors=vectors), found)


@given(problems(), st.data())
def test_flow_has_the_marginals_and_is_optimal_along_the_tree(problem, data):
    """Along any tree, the words' own quadtree among them; the marginals are right to the last bit of a mass."""
    vectors, counts = problem
    n_words = len(vectors)
    tree = data.draw(st.one_of(st.none(), trees(min_words=n_words, max_words=n_words)))
    along = quadtree(vectors) if tree is None else tree
    x, y = counts[[0]], counts[[1]]
    flows = flowtree_flows(x, y, word_vectors=vectors, tree=tree)
    plan = plan_matrix(flows, n_words)
    assert plan.sum() == 1
    assert plan.sum(axis=1) == pytest.approx(x[0] / x.sum(), abs=1e-14)
    assert plan.sum(axis=0) == pytest.approx(y[0] / y.sum(), abs=1e-14)
    along_tree = (flows.masses * along.word_distances(flows.sources, flows.targets)).sum()
    assert along_tree == pytest.approx(TreeMetric(along).pairwise(x, y)[0, 0], abs=1e-5)
    assert flows.cost == pytest.approx(flowtree(x, y, word_vectors=vectors, tree=tree)[0, 0], abs=1e-12)
    assert flows.distances == pytest.approx(cdist(vectors, vectors)[flows.sources, flows.targets])


def test_agrees_with_the_flow_on_larger_documents():
    random = np.random.RandomState(0)
    vectors = random.normal(size=(300, 3))
    counts = random.poisson(0.2, size=(6, 300))
    found = flowtree(counts[:3], counts[3:], word_vectors=vectors)
    for one in range(3):
        for other in range(3):
            flows = flowtree_flows(counts[[one]], counts[[3 + other]], word_vectors=vectors)
            assert found[one, other] == pytest.approx(flows.cost, rel=1e-12)


def test_result_does_not_depend_on_threads():
    random = np.random.RandomState(0)
    vectors, counts = random.normal(size=(50, 2)), random.poisson(0.3, size=(70, 50)) + np.eye(70, 50, dtype=int)
    counts[50:, 0] += 1
    assert np.array_equal(flowtree(counts, word_vectors=vectors), flowtree(counts, word_vectors=vectors, n_jobs=2))


def test_words_without_a_vector_are_left_out_and_a_document_without_any_other_is_refused():
    aligned = AlignedVectors(np.array([[0.0], [3.0], [0.0]]), [True, True, False], ("yeti",))
    assert flowtree([[1, 0, 7]], [[0, 2, 1]], word_vectors=aligned)[0, 0] == 3
    flows = flowtree_flows([[1, 0, 7]], [[0, 2, 1]], word_vectors=aligned)
    assert (flows.sources.tolist(), flows.targets.tolist()) == ([0], [1])
    with pytest.raises(ValueError, match="rows of Y hold none"):
        flowtree([[1, 0, 0]], [[0, 0, 2]], word_vectors=aligned)


def test_one_word_and_equal_words():
    assert flowtree([[1]], [[5]], word_vectors=[[2.0]]).tolist() == [[0]]
    assert flowtree([[1, 0]], [[0, 3]], word_vectors=[[2.0, 1.0], [2.0, 1.0]]).tolist() == [[0]]
    assert flowtree(np.zeros((0, 2)), [[1, 1]], word_vectors=[[0.0], [1.0]]).shape == (0, 1)


def test_wrong_numbers_of_rows_and_words_are_refused():
    with pytest.raises(ValueError, match=r"first to be one document.*got 2 rows"):
        flowtree_flows([[1, 0], [0, 1]], [[1, 0]], word_vectors=[[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"tree over 2 words.*got 3"):
        flowtree([[1, 0]], word_vectors=[[0.0], [1.0]], tree=quadtree([[0.0], [1.0], [2.0]]))


def test_stored_parts_are_resumed_and_those_of_other_work_refused(tmp_path, capsys, monkeypatch):
    X, _, vectors = topics(n_documents=40)
    expected = flowtree(X, word_vectors=vectors)
    assert np.array_equal(flowtree(X, word_vectors=vectors, checkpoint=tmp_path, verbose=True), expected)
    assert "flowtree, documents" in capsys.readouterr().err
    parts = sorted(tmp_path.glob("*.safetensors"))
    assert len(parts) == 3
    parts[1].unlink()
    computed = []

    def watched(arrays, same, start, stop):
        computed.append((start, stop))
        return compute(arrays, same, start, stop)

    compute = flowtrees._costs_of_rows
    monkeypatch.setattr(flowtrees, "_costs_of_rows", watched)
    assert np.array_equal(flowtree(X, word_vectors=vectors, checkpoint=tmp_path, n_jobs=2), expected)
    assert computed == [(16, 32)]
    with pytest.raises(ValueError, match="parts of the same work"):
        flowtree(X, X, word_vectors=vectors, checkpoint=tmp_path)


def test_long_row_numbers_of_sparse_documents_are_accepted():
    X, _, vectors = topics(n_documents=6)
    sparse = csr_array(X)
    sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
    assert np.array_equal(flowtree(sparse, word_vectors=vectors), flowtree(X, word_vectors=vectors))
