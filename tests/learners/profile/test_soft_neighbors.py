import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.oracles import equation_one
from treewass import Tree
from treewass.learners.profile.soft_neighbors import LogMultipliers, NeighborBatch, loss_and_gradient

N_WORDS, N_NODES = 9, 6


@pytest.fixture(params=range(4))
def problem(request):
    random = np.random.RandomState(request.param)
    tree = Tree(
        [-1, 0, 0, 1, 1, 2],
        edge_lengths=random.rand(N_NODES) + 0.5,
        word_nodes=random.randint(0, N_NODES, N_WORDS),
        leaf_lengths=random.rand(N_WORDS) + 1,
    )
    dense = (random.rand(14, N_WORDS) < 0.4) * random.randint(1, 4, (14, N_WORDS))
    dense[:, 0] += dense.sum(axis=1) == 0
    labels = random.randint(0, 3, 14)
    labels[0] = 7  # alone in its class: no neighbour of its own
    groups = np.append(np.arange(13), 4)  # the last is a copy of document 4, whatever its label
    dense[13] = dense[4]
    batch = NeighborBatch(csr_array(dense.astype(float)), labels, groups, random.rand(14) + 0.5)
    multipliers = LogMultipliers(*(0.3 * random.randn(size) for size in (N_WORDS, N_WORDS, N_NODES, 1)))
    return batch, tree, random.rand(N_WORDS) + 0.1, multipliers


def slow_loss(batch, tree, masses, multipliers):
    metric = multipliers.applied(tree, masses)
    counts, scale = batch.counts.toarray(), np.exp(multipliers.scale[0])
    total = 0.0
    for first in range(len(counts)):
        likeness = [
            weight * np.exp(-scale * equation_one(metric, counts[first], counts[second])) if apart else 0.0
            for second, (weight, apart) in enumerate(
                zip(batch.weights, batch.groups != batch.groups[first], strict=True)
            )
        ]
        own = sum(np.array(likeness)[batch.labels == batch.labels[first]])
        if own > 0:
            total -= batch.weights[first] * np.log(own / sum(likeness))
    return total / batch.weights.sum()


def test_loss_is_that_of_soft_neighbours_under_the_tree_wasserstein_distance(problem):
    assert loss_and_gradient(*problem)[0] == pytest.approx(slow_loss(*problem), rel=1e-10)


@pytest.mark.parametrize("name", ["masses", "leaves", "edges", "scale"])
def test_gradient_agrees_with_finite_differences(problem, name):
    batch, tree, masses, multipliers = problem
    values = getattr(multipliers, name)
    gradient = getattr(loss_and_gradient(batch, tree, masses, multipliers)[1], name)
    step = 1e-6
    for place in range(values.size):
        middle = values[place]
        losses = []
        for value in (middle + step, middle - step):
            values[place] = value
            losses.append(loss_and_gradient(batch, tree, masses, multipliers)[0])
        values[place] = middle
        assert gradient[place] == pytest.approx((losses[0] - losses[1]) / (2 * step), abs=1e-8)


def test_single_precision_is_close_to_double(problem):
    batch, tree, masses, multipliers = problem
    single = LogMultipliers(*(array.astype(np.float32) for array in multipliers))
    loss, gradient = loss_and_gradient(batch, tree, masses, multipliers)
    other_loss, other = loss_and_gradient(batch, tree, masses, single)
    assert other_loss == pytest.approx(loss, rel=1e-4)
    for one, two in zip(gradient, other, strict=True):
        assert two.dtype == np.float32
        np.testing.assert_allclose(two, one, atol=1e-5)


def test_far_documents_do_not_underflow():
    tree = Tree([-1], word_nodes=[0, 0, 0, 0], leaf_lengths=np.full(4, 1e4))
    batch = NeighborBatch(csr_array(np.eye(4)), np.array([0, 0, 1, 1]), np.arange(4), np.ones(4))
    start = LogMultipliers.start(4, 1, 3.0)
    loss, gradient = loss_and_gradient(batch, tree, np.ones(4), start)
    assert loss == pytest.approx(np.log(3), rel=1e-5)
    assert all(np.isfinite(array).all() for array in gradient)
