import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.search import TorchTreeDistance


@given(metrics(max_components=2), st.data(), st.sampled_from([1, 200, 2**28]))
@settings(max_examples=30)
def test_distances_are_those_of_the_metric_for_every_memory_budget(metric, data, memory):
    X, Y = (data.draw(documents(metric.n_words)) for _ in range(2))
    module = TorchTreeDistance(metric, memory=memory, dtype=torch.float64)
    expected = metric.pairwise(X, Y)
    assert np.allclose(module(torch.tensor(X), torch.tensor(Y)), expected, atol=1e-4 * max(1.0, expected.max()))
    assert np.allclose(module(csr_array(X), csr_array(Y)), module(X, Y))
    assert np.allclose(module(torch.tensor(X).to_sparse(), Y), module(X, Y))


def test_module_moves_between_types_and_has_state():
    module = TorchTreeDistance(TreeMetric(Tree([-1, 0], word_nodes=[0, 1])))
    assert module.double()(torch.eye(2), torch.eye(2)).dtype == torch.float64
    assert set(module.state_dict()) == {"features_0", "masses_0"}


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1.0, 0.0, 1.0]], r"queries of shape \(n, 2\), got \(1, 3\)"),
        ([[1.0, 0.0], [0.0, 0.0]], "known word in every row of queries, got none in rows 1"),
        ([[1.0, -1.0]], "zero or more in queries, got others in rows 0"),
        ([[1.0, float("nan")]], "finite counts"),
    ],
)
def test_bad_documents_are_refused(counts, message):
    module = TorchTreeDistance(TreeMetric(Tree([-1], word_nodes=[0, 0])))
    with pytest.raises(ValueError, match=message):
        module(torch.tensor(counts), torch.eye(2))


def test_memory_must_be_positive():
    with pytest.raises(ValueError, match="memory as a positive number"):
        TorchTreeDistance(TreeMetric(Tree([-1], word_nodes=[0])), memory=0)
