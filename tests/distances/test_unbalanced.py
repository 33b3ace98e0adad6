import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

from tests.oracles import tree_distances
from tests.strategies import documents, metrics, trees
from treewass import Tree, TreeMetric
from treewass.distances import unbalanced_distance
from treewass.trees import star_tree

prices = st.floats(0, 30, width=32)


def linear_program(tree, given_mass, needed, creation, destruction):
    """The least cost over all plans that move no more than there is and no more than is needed."""
    n_words = tree.n_words
    savings = tree_distances(tree) - destruction[:, None] - creation[None]
    rows = np.kron(np.eye(n_words), np.ones(n_words))
    columns = np.kron(np.ones(n_words), np.eye(n_words))
    bounds = np.concatenate([given_mass, needed])
    solved = linprog(savings.ravel(), A_ub=np.vstack([rows, columns]), b_ub=bounds, bounds=(0, None), method="highs")
    assert solved.status == 0
    return solved.fun + destruction @ given_mass + creation @ needed


@st.composite
def problems(draw, each=False):
    tree = draw(trees(max_words=6))
    masses = hnp.arrays(np.float64, (2, tree.n_words), elements=st.integers(0, 6).map(lambda mass: mass / 2))
    price = hnp.arrays(np.float64, tree.n_words, elements=prices) if each else prices
    return tree, draw(masses), draw(price), draw(price)


@settings(max_examples=60)
@given(problems())
def test_equals_the_linear_program(problem):
    tree, (x, y), creation, destruction = problem
    found = unbalanced_distance(TreeMetric(tree), [x], [y], creation=creation, destruction=destruction)
    everywhere = np.ones(tree.n_words)
    expected = linear_program(tree, x, y, creation * everywhere, destruction * everywhere)
    assert found[0, 0] == pytest.approx(expected, abs=1e-6)


@settings(max_examples=60)
@given(problems(each=True))
def test_equals_the_linear_program_with_prices_for_each_word(problem):
    tree, (x, y), creation, destruction = problem
    found = unbalanced_distance(TreeMetric(tree), [x], [y], creation=creation, destruction=destruction)
    assert found[0, 0] == pytest.approx(linear_program(tree, x, y, creation, destruction), abs=1e-6)


@settings(max_examples=60)
@given(metrics(max_components=3), st.data())
def test_is_the_balanced_distance_for_equal_masses_and_high_prices(metric, data):
    """Creation and destruction together as dear as the longest path of each tree, all trees together."""
    weights = np.ones(metric.n_words)
    metric = TreeMetric(metric.trees, weights)
    counts = data.draw(documents(metric.n_words, min_rows=2, max_rows=2))
    x, y = counts[[0]] * counts[1].sum(), counts[[1]] * counts[0].sum()
    diameter = metric.n_components * max(tree_distances(tree).max() for tree in metric.trees)
    share = data.draw(st.floats(0, 1, width=32))
    found = unbalanced_distance(metric, x, y, creation=share * diameter, destruction=(1 - share) * diameter)
    expected = x.sum() * metric.pairwise(x, y)[0, 0]
    assert found[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-5)


@given(problems())
def test_exchanging_documents_and_prices_changes_nothing(problem):
    tree, pair, creation, destruction = problem
    metric = TreeMetric(tree)
    there = unbalanced_distance(metric, pair, creation=creation, destruction=destruction)
    back = unbalanced_distance(metric, pair, creation=destruction, destruction=creation)
    assert there == pytest.approx(back.T, abs=1e-9)
    assert there.diagonal() == pytest.approx([0, 0], abs=1e-9)


def test_large_documents_on_a_long_path_equal_the_linear_program():
    """Far more pieces than a handful of words makes: joining, cutting and notes that are handed down."""
    random = np.random.RandomState(0)
    n_words = 60
    path = Tree(
        np.arange(n_words) - 1, random.uniform(0, 1, n_words), np.arange(n_words), random.uniform(0, 2, n_words)
    )
    parents = np.append(-1, [random.randint(node) for node in range(1, n_words)])
    bushy = Tree(parents, random.uniform(0, 1, n_words), random.randint(n_words, size=n_words))
    x, y = random.poisson(1, size=(2, n_words)) * random.uniform(0.5, 2, size=(2, n_words))
    for tree in (path, bushy):
        for price in (0.3, 1.5, 6.0):
            found = unbalanced_distance(TreeMetric(tree), [x], [y], creation=price, destruction=1.0)[0, 0]
            expected = linear_program(tree, x, y, np.full(n_words, price), np.ones(n_words))
            assert found == pytest.approx(expected, rel=1e-9)


def test_several_trees_are_averaged():
    one, other = Tree([-1, 0, 0], word_nodes=[1, 1, 2]), star_tree(3, [3, 1, 2])
    both = TreeMetric.average([TreeMetric(one), TreeMetric(other)])
    x, y = [[2, 0, 1]], [[0, 1, 0], [0, 0, 3]]
    each = [unbalanced_distance(TreeMetric(tree), x, y, creation=3, destruction=2) for tree in (one, other)]
    assert unbalanced_distance(both, x, y, creation=3, destruction=2) == pytest.approx(np.mean(each, axis=0))


def test_word_masses_weigh_and_documents_without_mass_are_created():
    metric = TreeMetric(star_tree(2), masses=[2, 0])
    found = unbalanced_distance(metric, [[1, 9], [0, 4]], [[3, 0], [0, 0]], creation=0.5, destruction=0.25)
    assert found.tolist() == [[2.0, 0.5], [3.0, 0.0]]


def test_result_does_not_depend_on_threads():
    random = np.random.RandomState(0)
    counts = random.poisson(0.5, size=(40, 20))
    metric = TreeMetric(Tree(np.append(-1, np.zeros(6, int)), word_nodes=random.randint(7, size=20)))
    one, two = (unbalanced_distance(metric, counts, creation=2, destruction=3, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("price", "error", "message"),
    [
        (-1.0, ValueError, "finite non-negative creation, got -1.0"),
        (np.inf, ValueError, "finite"),
        ([1.0, 2.0, 3.0], ValueError, r"creation of shape \(2,\), got shape \(3,\)"),
        ("dear", TypeError, "real numbers"),
    ],
)
def test_bad_prices_are_refused(price, error, message):
    with pytest.raises(error, match=message):
        unbalanced_distance(TreeMetric(star_tree(2)), [[1, 0]], creation=price, destruction=1)


def test_masses_that_overflow_are_refused():
    with pytest.raises(ValueError, match="rows 0 overflow"):
        unbalanced_distance(TreeMetric(star_tree(2)), [[1e308, 1e308]], creation=1, destruction=1)


@pytest.mark.parametrize(("scale", "price", "length"), [(1e200, 1e200, 1.0), (1e200, 1.0, 1e120), (1.0, 1.7e308, 1.0)])
def test_costs_that_overflow_are_refused(scale, price, length):
    metric = TreeMetric(star_tree(3).scaled(length))
    with pytest.raises(ValueError, match=r"rows 1 of Y overflow\. Scale"):
        unbalanced_distance(
            metric, [[0.0, 0, 0]], np.array([[0.0, 0, 0], [1, 1, 1]]) * scale, creation=price, destruction=price
        )
