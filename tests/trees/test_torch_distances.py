import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.trees import TorchTreeDistance, perfect_tree


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


@pytest.mark.parametrize("sparse", [True, False])
def test_documents_are_dense_a_few_at_a_time(monkeypatch, sparse):
    memory, n_words = 2**18, 4000
    metric = TreeMetric(perfect_tree(5, 2).with_words(np.arange(n_words) % 31))
    X = csr_array((np.ones(600), (np.repeat(np.arange(300), 2), np.arange(600))), shape=(300, n_words))
    module = TorchTreeDistance(metric, memory=memory)
    given = X if sparse else torch.tensor(X.toarray()).to_sparse()
    sizes, counts = [], module._counts

    def noted(*some):
        rows = counts(*some)
        sizes.append(rows.nbytes)
        return rows

    monkeypatch.setattr(module, "_counts", noted)
    tracemalloc.start()
    distances = module(given, X[:50])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * memory  # of NumPy; all documents dense would be 18 times as much
    assert max(sizes) <= memory // 2
    assert np.allclose(distances, metric.pairwise(X, X[:50]), atol=1e-4)


def test_wrong_rows_are_counted_from_the_first_document():
    module = TorchTreeDistance(TreeMetric(Tree([-1], word_nodes=[0, 0])), memory=1)
    with pytest.raises(ValueError, match="zero or more in documents, got others in rows 2"):
        module(torch.eye(2), csr_array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]))


def test_memory_must_be_positive():
    with pytest.raises(ValueError, match="memory as a positive number"):
        TorchTreeDistance(TreeMetric(Tree([-1], word_nodes=[0])), memory=0)
