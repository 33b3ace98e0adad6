import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import equation_one
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.learners.stw import soft_distances
from treewass.trees import TreeWassersteinLoss, perfect_tree, tree_wasserstein

LEARNED = ("edge_lengths", "leaf_lengths", "masses", "parents")


@given(metrics(max_components=2), st.data())
@settings(max_examples=30)
def test_distances_are_those_of_equation_one(metric, data):
    X, Y = (data.draw(documents(metric.n_words)) for _ in range(2))
    loss = TreeWassersteinLoss(metric, learn=["masses", "edge_lengths"], dtype=torch.float64)
    found = loss(torch.tensor(X, dtype=torch.float64)[:, None], torch.tensor(Y, dtype=torch.float64)[None])
    expected = np.array([[equation_one(metric, x, y) for y in Y] for x in X])
    assert found.detach().numpy() == pytest.approx(expected, abs=1e-9 * max(1.0, expected.max()))
    again = loss.metric()
    assert again.masses == pytest.approx(metric.masses)
    assert all(np.array_equal(a.word_nodes, b.word_nodes) for a, b in zip(again.trees, metric.trees, strict=True))


def drawn(*shape):
    values = torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)
    return (values + 0.1).requires_grad_()


def test_gradients_by_documents_lengths_masses_and_parents_are_right():
    tree = Tree([-1, 0, 0, 1], [1.0, 0.5, 2.0, 1.5], [1, 3, 3, 2, 0])
    tensors = drawn(3, 5), drawn(2, 3, 5), drawn(4), drawn(5), drawn(5), drawn(5, 4)

    def distances(first, second, edges, leaves, masses, scores):
        given = {"edge_lengths": edges, "leaf_lengths": leaves, "masses": masses}
        hard = tree_wasserstein(first, second, tree, **given)
        return hard, tree_wasserstein(first, second, tree, **given, parents=torch.softmax(scores, dim=-1))

    assert distances(*tensors)[1].shape == (2, 3)
    assert torch.autograd.gradcheck(distances, tensors)
    assert torch.autograd.gradgradcheck(distances, tensors)


def test_gradients_by_the_parameters_of_the_module_are_right():
    metric = TreeMetric([Tree([-1, 0, 0], word_nodes=[1, 1, 2]), Tree([-1, 0], word_nodes=[0, 1, 1])])
    loss = TreeWassersteinLoss(metric, learn=LEARNED, dtype=torch.float64)
    names, values = zip(*loss.named_parameters(), strict=True)
    assert len(names) == 8

    def distances(*values):
        return torch.func.functional_call(loss, dict(zip(names, values, strict=True)), (drawn(2, 3), drawn(3)))

    assert torch.autograd.gradcheck(distances, tuple(value.detach().requires_grad_() for value in values))


def test_probable_parents_are_those_of_equation_three():
    tree, scores = perfect_tree(2, 2), drawn(6, 7)
    parents = torch.softmax(scores, dim=-1)
    X = torch.nn.functional.normalize(drawn(4, 6), p=1, dim=-1)
    expected = soft_distances(X, X, parents, tree, smoothness=float("inf"))
    found = tree_wasserstein(X[:, None], X[None], tree.with_words([0] * 6), parents=parents)
    assert torch.allclose(found, expected)


def test_a_network_learns_a_tree_that_tells_documents_apart():
    metric = TreeMetric(perfect_tree(2, 1).with_words([1, 1, 2, 1]))
    loss = TreeWassersteinLoss(metric, learn=["parents"])
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.5)
    words = torch.eye(4)
    for _ in range(40):
        optimizer.zero_grad()
        distances = loss(words[:, None], words[None])
        near, far = distances[0, 1] + distances[2, 3], distances[:2, 2:].mean()
        (near - far).backward()
        optimizer.step()
    nodes = loss.metric().trees[0].word_nodes
    assert nodes[0] == nodes[1]
    assert nodes[2] == nodes[3]
    assert nodes[0] != nodes[2]


def test_what_cannot_be_compared_is_refused():
    metric = TreeMetric(Tree([-1], word_nodes=[0, 0]))
    with pytest.raises(ValueError, match=r"learn to hold names among edge_lengths, .* got lengths"):
        TreeWassersteinLoss(metric, learn="lengths")
    loss = TreeWassersteinLoss(metric)
    with pytest.raises(ValueError, match=r"second of shape \(..., 2\), got \(3,\)"):
        loss(torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="a word with mass in every document of first"):
        loss(torch.zeros(1, 2), torch.ones(2))
    for bad in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="finite weights of zero or more in second"):
            loss(torch.ones(2), torch.tensor([2.0, bad]))


@pytest.mark.parametrize("first", [torch.int64, torch.bool, torch.float32, torch.float64])
@pytest.mark.parametrize("second", [torch.int32, torch.float32, torch.float64])
def test_counts_of_any_kind_are_taken(first, second):
    tree = Tree([-1, 0, 0], word_nodes=[1, 1, 2])
    X, Y = torch.tensor([[1, 0, 0], [1, 1, 0]], dtype=first), torch.tensor([[0, 0, 3]], dtype=second)
    kind = torch.float64 if torch.float64 in (first, second) else torch.float32
    assert torch.equal(tree_wasserstein(X, Y, tree), torch.tensor([4.0, 4.0], dtype=kind))
    for own in (torch.float32, torch.float64):
        loss = TreeWassersteinLoss(TreeMetric(tree), learn=LEARNED[:3], dtype=own)
        assert torch.equal(loss(X, Y), torch.tensor([4.0, 4.0], dtype=own))
        assert loss.double()(X, Y).dtype == torch.float64
