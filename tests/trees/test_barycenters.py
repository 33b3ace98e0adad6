import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.oracles import equation_one, histogram, tree_distances
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.trees import barycenter


def least_mean_cost(metric, X, shares):
    """Solve the plain program: masses of words, and for each document a plan from them to its own."""
    n_words, costs = metric.n_words, sum(tree_distances(tree) for tree in metric.trees)
    targets = [histogram(metric.masses[0], row) for row in X]
    c = np.concatenate([np.zeros(n_words), *(share * costs.ravel() for share in shares)])
    rows, limits = [], []
    for number, target in enumerate(targets):
        start = n_words + number * n_words**2
        for word in range(n_words):
            leaves, arrives = np.zeros(c.size), np.zeros(c.size)
            leaves[start + word * n_words : start + (word + 1) * n_words] = 1
            leaves[word] = -1
            arrives[start + word : start + n_words**2 : n_words] = 1
            rows += [leaves, arrives]
            limits += [0.0, target[word]]
    return linprog(c, A_eq=np.array(rows), b_eq=limits, method="highs").fun


@given(metrics(max_words=5, max_nodes=6), st.data())
@settings(max_examples=30)
def test_mean_distance_is_that_of_the_plain_transport_program(metric, data):
    X = data.draw(documents(metric.n_words, max_rows=3))
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))), dtype=float)
    found = barycenter(metric, X, weights=weights)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    shares = weights / weights.sum()
    mean = sum(share * equation_one(metric, found, row) for share, row in zip(shares, X, strict=True))
    expected = least_mean_cost(metric, X, shares)
    assert mean == pytest.approx(expected, abs=1e-5 * max(1.0, expected))


def test_several_trees_share_one_barycenter_and_unknown_words_get_nothing():
    first, second = Tree([-1, 0, 0], word_nodes=[1, 1, 2, 0]), Tree([-1, 0], word_nodes=[0, 1, 1, 0])
    metric = TreeMetric([first, second], [1.0, 1.0, 2.0, 0.0])
    X = np.array([[1, 0, 1, 5], [0, 1, 1, 0], [1, 1, 0, 0]])
    found = barycenter(metric, X)
    assert found[3] == 0
    known = TreeMetric([Tree(t.parents, None, t.word_nodes[:3]) for t in metric.trees], [1.0, 1.0, 2.0])
    mean = np.mean([equation_one(known, found[:3], row[:3]) for row in X])
    assert mean == pytest.approx(least_mean_cost(known, X[:, :3], np.full(3, 1 / 3)), abs=1e-6)


def test_a_word_of_no_document_can_be_the_median():
    star = TreeMetric(Tree([-1], word_nodes=[0, 0, 0, 0], leaf_lengths=[1, 1, 1, 0]))
    assert barycenter(star, np.eye(4)[:3]) == pytest.approx([0, 0, 0, 1])


def test_wrong_arguments_are_refused():
    metric = TreeMetric(Tree([-1], word_nodes=[0, 0]))
    for weights in ([1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="Expected 2 weights of zero or more"):
            barycenter(metric, np.eye(2), weights=weights)
    with pytest.raises(ValueError, match="at least one known word"):
        barycenter(metric, [[0, 0]])
    two = TreeMetric([metric.trees[0]] * 2, [[1.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="the same masses in all components"):
        barycenter(two, np.eye(2))
