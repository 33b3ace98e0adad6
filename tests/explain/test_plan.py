import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import linear_program, tree_distance
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.explain import transport_plan
from treewass.search.embedding import MASS_BITS, embed, mass_units
from treewass.trees import perfect_tree


@st.composite
def metric_and_pair(draw):
    metric = draw(metrics(max_components=2))
    return metric, draw(documents(metric.n_words, min_rows=2, max_rows=2))


@settings(max_examples=300)
@given(metric_and_pair())
def test_marginals_are_exact(case):
    metric, counts = case
    for component in range(metric.n_components):
        plan = transport_plan(metric, counts[:1], counts[1:], component=component)
        masses = np.ldexp(mass_units(metric, counts, component).toarray().astype(float), -MASS_BITS)
        assert np.array_equal(np.bincount(plan.sources, plan.masses, metric.n_words), masses[0])
        assert np.array_equal(np.bincount(plan.targets, plan.masses, metric.n_words), masses[1])
        assert plan.masses.sum() == 1
        assert (plan.masses > 0).all()


@settings(max_examples=300)
@given(metric_and_pair())
def test_costs_add_up_to_the_distance(case):
    metric, counts = case
    plans = [
        transport_plan(metric, counts[:1], counts[1:], component=component) for component in range(metric.n_components)
    ]
    cost = sum(plan.cost for plan in plans)
    rows = embed(metric, counts, fixed_point=False).toarray()
    assert cost == pytest.approx(abs(rows[0] - rows[1]).sum(), abs=1e-9)
    assert cost == pytest.approx(linear_program(metric, counts[0], counts[1]), abs=1e-9)


@given(metric_and_pair())
def test_flows_are_few_and_meet_on_their_path(case):
    metric, counts = case
    plan = transport_plan(metric, counts[:1], counts[1:])
    tree = metric.trees[0]
    assert len(plan) <= 2 * np.count_nonzero(counts.sum(axis=0))
    for source, target, distance, node in zip(
        plan.sources, plan.targets, plan.distances, plan.meeting_nodes, strict=True
    ):
        assert distance == pytest.approx(tree_distance(tree, source, target), abs=1e-12)
        assert node == tree.lowest_common_ancestors(tree.word_nodes[source], tree.word_nodes[target])


@given(metric_and_pair())
def test_shared_mass_stays_in_place(case):
    metric, counts = case
    plan = transport_plan(metric, counts[:1], counts[1:])
    stays = plan.sources == plan.targets
    masses = mass_units(metric, counts).toarray()
    assert np.ldexp(plan.masses[stays], MASS_BITS).sum() == np.minimum(*masses).sum()


def test_plans_cannot_be_changed():
    plan = transport_plan(TreeMetric(Tree([-1], word_nodes=[0, 0])), [[1, 1]], [[0, 1]])
    assert plan == plan
    with pytest.raises(ValueError, match="read-only"):
        plan.masses[0] = 2


def test_long_documents_on_a_deep_tree():
    random = np.random.default_rng(0)
    tree = perfect_tree(2, 11).with_words(random.integers(0, 4095, 20_000))
    metric = TreeMetric(tree, random.random(20_000) + 0.1)
    counts = random.poisson(0.3, (2, 20_000))
    plan = transport_plan(metric, counts[:1], counts[1:])
    rows = embed(metric, counts, fixed_point=False)
    assert plan.cost == pytest.approx(abs(rows[[0]] - rows[[1]]).sum(), abs=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([[0, 0]], [[1, 1]], {}, "row.* of x have none: 0"),
        ([[1, 1]], [[0, 0]], {}, "row.* of y have none: 0"),
        ([[1, 1], [1, 0]], [[1, 1]], {}, "x to be one document"),
        ([[1, 1]], [[1, 1, 1]], {}, "expecting 2 features"),
        ([[1, 1]], [[1, 1]], {"component": 1}, "component between 0 and 0, got 1"),
    ],
)
def test_bad_documents_are_refused(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        transport_plan(TreeMetric(Tree([-1], word_nodes=[0, 0])), x, y, **options)
