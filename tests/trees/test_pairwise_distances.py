import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import linear_program
from tests.search import integer_oracle
from tests.strategies import documents, metrics
from treewass import TreeMetric
from treewass.documents import make_documents
from treewass.trees import embed, pairwise, perfect_tree, star_tree


@st.composite
def metric_and_documents(draw):
    metric = draw(metrics(max_components=2))
    return metric, draw(documents(metric.n_words, min_rows=3, max_rows=5))


@settings(max_examples=200)
@given(metric_and_documents())
def test_distances_are_the_l1_distances_of_the_embedding(case):
    metric, counts = case
    rows = embed(metric, counts).toarray()
    assert np.array_equal(pairwise(metric, counts), abs(rows[:, None] - rows[None]).sum(axis=2))


@settings(max_examples=200)
@given(metric_and_documents())
def test_distance_is_a_metric(case):
    metric, counts = case
    table = pairwise(metric, counts)
    assert np.array_equal(table, table.T)
    assert (np.diag(table) == 0).all()
    assert (table >= 0).all()
    assert (table[:, :, None] <= table[:, None, :] + table.T[None, :, :]).all()


@settings(max_examples=200)
@given(metric_and_documents())
def test_distance_is_the_linear_program_within_the_bound_of_fixed_point(case):
    metric, counts = case
    features = np.count_nonzero(embed(metric, counts[:2], fixed_point=False).toarray().any(axis=0))
    deviation = abs(pairwise(metric, counts[:1], counts[1:2])[0, 0] - linear_program(metric, counts[0], counts[1]))
    assert deviation <= features * metric.resolution + 1e-9


@given(metric_and_documents())
def test_distances_are_the_oracle_s_and_symmetric(case):
    metric, counts = case
    expected = np.ldexp(integer_oracle.unit_distances(metric, counts[:2], counts[2:]), -metric.fraction_bits)
    assert np.array_equal(metric.pairwise(counts[:2], counts[2:], n_jobs=2), expected)
    assert np.array_equal(metric.pairwise(counts[2:], counts[:2]), expected.T)


@pytest.mark.parametrize("n_documents", [1, 40, 300, 9000])
def test_large_collections_and_few_documents_of_many_words(n_documents):
    """Features are numbered anew where documents are few; 9000 documents are two tiles."""
    n_words = 3000
    counts, _ = make_documents(n_documents + 3, n_words=n_words, words_per_document=12, random_state=n_documents)
    shape = perfect_tree(3, 4)
    metric = TreeMetric(shape.with_words(np.random.default_rng(0).integers(0, shape.n_nodes, n_words)))
    queries, documents = counts[:3], counts[3:]
    units = list(integer_oracle.shared_distances(metric, queries, documents))
    assert np.array_equal(metric.pairwise(queries, documents), np.ldexp(units, -metric.fraction_bits))
    assert np.array_equal(metric.pairwise(documents, queries), np.ldexp(units, -metric.fraction_bits).T)


def test_equal_histograms_are_at_distance_zero_and_others_are_not():
    metric = TreeMetric(star_tree(3), [0.3, 1.7, 2.9])
    table = pairwise(metric, [[1, 2, 3], [3, 6, 9], [1, 2, 4]])
    assert table[0, 1] == 0
    assert table[0, 2] > 0


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_threads_do_not_change_the_result(n_jobs):
    counts = np.random.default_rng(0).poisson(0.5, (200, 30)) + np.eye(200, 30, dtype=int)
    counts[:, 0] += 1
    metric = TreeMetric(star_tree(30))
    assert np.array_equal(pairwise(metric, counts, n_jobs=n_jobs), pairwise(metric, counts))


def test_empty_documents_are_refused():
    metric = TreeMetric(star_tree(2))
    with pytest.raises(ValueError, match=r"1 row\(s\) of X have none: 1"):
        pairwise(metric, [[1, 0], [0, 0]])
    with pytest.raises(ValueError, match=r"2 row\(s\) of Y have none: 0, 2"):
        pairwise(metric, [[1, 0]], [[0, 0], [0, 1], [0, 0]])


def test_no_documents_on_either_side():
    metric = TreeMetric(star_tree(3))
    some, none = [[1, 0, 2]], np.zeros((0, 3))
    assert pairwise(metric, some, none).shape == (1, 0)
    assert pairwise(metric, none, some).shape == (0, 1)
    assert pairwise(metric, none).shape == (0, 0)


def test_only_the_kernel_sees_which_words_occur_together():
    a, a2, b, b2 = np.eye(4)
    metric, (first, second) = TreeMetric(star_tree(4)), ([a + b, a2 + b2], [a + b2, a2 + b])
    within, without, between = pairwise(metric, first), pairwise(metric, second), pairwise(metric, first, second)
    assert 2 * between.mean() - within.mean() - without.mean() == 0  # every word has the same masses in both
    kernels = [np.exp(-distances).mean() for distances in (within, without, between)]
    assert kernels[0] + kernels[1] - 2 * kernels[2] == pytest.approx(0.4, abs=0.001)
