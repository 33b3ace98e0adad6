import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import linear_program
from tests.strategies import documents, metrics
from treewass import TreeMetric
from treewass.search import embed, pairwise
from treewass.trees import star_tree


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
