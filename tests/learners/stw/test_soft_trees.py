from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.learners.stw import literal
from tests.oracles import equation_one
from tests.strategies import metrics
from treewass import Tree, TreeMetric
from treewass.learners.stw import contrastive_loss, parent_probabilities, smooth_absolute, soft_distances
from treewass.learners.stw.soft_trees import PARENTS, pair_distances, smooth_sign
from treewass.trees import perfect_tree
from treewass.trees.torch_losses import SubtreeSums


@given(literal.soft_cases(), st.sampled_from([0.5, 2.0, 10.0]))
@settings(max_examples=40)
def test_values_and_gradients_are_those_of_equation_three(case, alpha):
    tree, scores, histograms, labels = case
    ours = torch.tensor(scores, requires_grad=True)
    theirs = torch.tensor(scores.T.copy(), requires_grad=True)
    rows = 5 * torch.tensor(histograms)
    distances = soft_distances(rows, rows, parent_probabilities(ours), tree, smoothness=alpha)
    loss = contrastive_loss(distances, torch.tensor(labels), margin=3.0)
    expected = literal.contrastive_loss(tree, theirs, rows, labels, alpha, 3.0)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-9)
    first = literal.soft_distance(tree, theirs.detach(), rows[0], rows[1], alpha)
    assert float(distances[0, 1].detach()) == pytest.approx(float(first), abs=1e-9)
    gradient, wanted = torch.autograd.grad(loss, ours)[0], torch.autograd.grad(expected, theirs)[0]
    assert torch.allclose(gradient, wanted.T, rtol=0, atol=1e-9)


@given(metrics(), st.data())
def test_theorem_two_the_soft_distance_of_a_given_tree_tends_to_the_tree_distance(metric, data):
    tree = metric.trees[0]
    plain = TreeMetric(tree.with_words(tree.word_nodes))
    x, y = np.random.default_rng(data.draw(st.integers(0, 99))).integers(1, 5, size=(2, tree.n_words))
    expected = equation_one(plain, x, y)
    rows = torch.tensor(np.stack([x / x.sum(), y / y.sum()]))
    parents = torch.eye(tree.n_nodes, dtype=torch.float64)[torch.tensor(tree.word_nodes.tolist())]
    gaps = []
    for alpha in (1.0, 10.0, 1e3, 1e8, float("inf")):
        soft = float(soft_distances(rows[:1], rows[1:], parents, tree, smoothness=alpha))
        gaps.append(expected - soft)
    assert all(gap >= -1e-9 for gap in gaps)
    assert all(later <= sooner + 1e-9 for sooner, later in pairwise(gaps))
    assert gaps[-1] == pytest.approx(0, abs=1e-9)
    assert gaps[-2] == pytest.approx(0, abs=1e-6)


@given(literal.soft_cases())
def test_every_node_is_below_the_root_and_below_itself(case):
    tree, scores, _, _ = case
    probabilities = literal.subtree_probabilities(tree, torch.tensor(scores.T.copy()))
    assert torch.allclose(probabilities[0], torch.ones_like(probabilities[0]))
    assert torch.allclose(probabilities.diagonal(), torch.ones_like(probabilities[0]))
    ours = SubtreeSums(tree)(parent_probabilities(torch.tensor(scores)))
    assert torch.allclose(ours.T, probabilities[: tree.n_nodes, tree.n_nodes :])
    assert torch.allclose(ours[:, 0], torch.ones_like(ours[:, 0]))


@given(literal.soft_cases())
def test_soft_distance_is_symmetric_and_zero_for_equal_documents_only(case):
    tree, scores, histograms, _ = case
    rows, parents = torch.tensor(histograms), parent_probabilities(torch.tensor(scores))
    distances = soft_distances(rows, rows, parents, tree).numpy()
    assert np.array_equal(distances, distances.T)
    equal = (histograms[:, None] == histograms[None]).all(axis=2)
    assert np.array_equal(distances == 0, equal)


def test_soft_distance_is_not_a_metric():
    parents = torch.ones(2, 1, dtype=torch.float64)
    rows = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], dtype=torch.float64)
    distances = soft_distances(rows, rows, parents, Tree([-1]))
    assert distances[0, 2] > distances[0, 1] + distances[1, 2] + 0.5


@pytest.mark.parametrize("shape", [perfect_tree(3, 3), Tree([-1, 0, 0, 1, 2, 2, 0, 3]), Tree([-1])])
def test_subtree_sums_are_those_of_the_tree(shape):
    values = np.random.default_rng(0).normal(size=(4, shape.n_nodes))
    assert np.allclose(SubtreeSums(shape)(torch.tensor(values)), shape.subtree_sums(values.T).T)


@pytest.mark.parametrize("kind", ["tanh", "huber"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_smooth_absolute_values_are_finite_and_tend_to_the_true_one(kind, dtype):
    x = torch.tensor([-1e6, -1.0, -1e-3, 0.0, 1e-3, 1.0, 1e6], dtype=dtype)
    for alpha in (2.0, 10.0, 1e6):
        assert smooth_absolute(x, alpha, kind).isfinite().all()
        assert smooth_sign(x, alpha, kind).isfinite().all()
    assert torch.allclose(smooth_absolute(x, 1e9, kind), x.abs(), atol=1e-6)
    assert smooth_absolute(x, 2.0, kind)[3] == 0


@pytest.mark.parametrize("kind", ["tanh", "huber"])
def test_smooth_sign_is_the_derivative(kind):
    x = torch.linspace(-4, 4, 41, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(smooth_absolute(x, 2.0, kind).sum(), x)
    assert torch.allclose(slope, smooth_sign(x, 2.0, kind))


def test_tanh_form_equals_the_exponential_form():
    x = torch.linspace(-20, 20, 101, dtype=torch.float64)
    assert torch.allclose(smooth_absolute(x, 2.0), literal.smooth_absolute(x, 2.0), atol=1e-12)


@given(literal.soft_cases())
@settings(max_examples=25)
def test_mass_and_smoothness_trade_places(case):
    """Mass × 5 with α = 2 and margin m is mass × 1 with α = 10 and margin m / 5, times five."""
    tree, scores, histograms, labels = case
    rows, parents = torch.tensor(histograms), parent_probabilities(torch.tensor(scores))
    heavy = contrastive_loss(soft_distances(5 * rows, 5 * rows, parents, tree), torch.tensor(labels), 4.0)
    light = soft_distances(rows, rows, parents, tree, smoothness=10.0)
    assert float(heavy) == pytest.approx(5 * float(contrastive_loss(light, torch.tensor(labels), 0.8)), abs=1e-9)


@given(literal.soft_cases())
@settings(max_examples=25)
def test_tree_of_the_most_probable_parents_gives_algorithm_one(case):
    tree, scores, histograms, _ = case
    unit = Tree(tree.parents, word_nodes=scores.argmax(axis=1))
    rows = torch.tensor(histograms)
    expected = literal.algorithm_one(unit, torch.tensor(scores.T.copy()), rows[0], rows[1])
    distance = TreeMetric(unit).pairwise(csr_array(histograms[:1]), csr_array(histograms[1:2]))[0, 0]
    assert distance == pytest.approx(float(expected), abs=1e-6)


def test_gradients_by_both_sides():
    random = torch.Generator().manual_seed(0)
    X, Y, lengths = (torch.rand(*shape, generator=random, dtype=torch.float64) for shape in ((3, 4), (2, 4), (4,)))
    X.requires_grad_()
    Y.requires_grad_()
    for kind in ("tanh", "huber"):
        assert torch.autograd.gradcheck(lambda *given: pair_distances(*given, lengths, 2.0, kind), (X, Y))  # noqa: B023


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="absolute to be one of tanh, huber"):
        smooth_absolute(torch.zeros(1), 2.0, "round")
    with pytest.raises(ValueError, match="parents to be one of softmax"):
        parent_probabilities(torch.zeros(1, 2), "hardmax")


def by_bisection(scores, raised):
    """Find the threshold τ at which the entries raised(z − τ) add up to one."""
    low, high = scores.min() - 10, scores.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if raised(scores - middle).sum() > 1 else (low, middle)
    return raised(scores - low)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.sampled_from(sorted(PARENTS)))
def test_probabilities_add_up_to_one_and_keep_the_order(values, kind):
    scores = torch.tensor([values], dtype=torch.float64)
    found = parent_probabilities(scores, kind)[0].numpy()
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found[int(np.argmax(values))] == found.max()
    assert np.allclose(parent_probabilities(scores + 7, kind)[0], found)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_sparsemax_solves_its_equation(values):
    found = parent_probabilities(torch.tensor(values, dtype=torch.float64), "sparsemax")
    assert np.allclose(found, by_bisection(np.array(values), lambda x: np.maximum(x, 0)), atol=1e-9)


def test_rankmax_by_hand():
    found = parent_probabilities(torch.tensor([[2.0, 1.5, 0.9, -4.0]]), "rankmax")
    assert torch.allclose(found, torch.tensor([[1 / 1.5, 0.5 / 1.5, 0.0, 0.0]]))


@pytest.mark.parametrize("kind", sorted(PARENTS))
def test_gradients_of_probabilities(kind):
    scores = torch.tensor([[0.1, 0.45, -0.3, 0.8], [2.0, 0.0, 1.7, -1.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: parent_probabilities(given, kind), (scores,))


@pytest.mark.parametrize("kind", PARENTS)
@pytest.mark.parametrize("absolute", ["tanh", "huber"])
def test_second_order_gradients_are_those_of_the_equations(kind, absolute):
    random = torch.Generator().manual_seed(0)
    scores = (2 * torch.rand(5, 7, generator=random, dtype=torch.float64)).requires_grad_()
    documents = torch.rand(3, 5, generator=random, dtype=torch.float64, requires_grad=True)

    def distances(scores, documents):
        probabilities = parent_probabilities(scores, kind)
        return soft_distances(documents, documents, probabilities, perfect_tree(2, 2), absolute=absolute)

    assert torch.autograd.gradgradcheck(distances, (scores, documents))


def test_weights_count_as_repetition_in_the_contrastive_loss():
    random = np.random.default_rng(0)
    points, labels, times = random.normal(size=(6, 2)), np.array([0, 0, 1, 1, 2, 0]), np.array([1, 2, 1, 3, 1, 2])
    distances = torch.tensor(abs(points[:, None] - points[None]).sum(axis=2))
    found = contrastive_loss(distances, torch.tensor(labels), 1.5, torch.tensor(times, dtype=torch.float64))
    near = far = near_weight = far_weight = 0.0
    for one in range(6):
        for other in range(one + 1, 6):
            weight, distance = times[one] * times[other], float(distances[one, other])
            if labels[one] == labels[other]:
                near, near_weight = near + weight * distance, near_weight + weight
            else:
                far, far_weight = far + weight * min(distance, 1.5), far_weight + weight
    assert float(found) == pytest.approx(near / near_weight - far / far_weight)
