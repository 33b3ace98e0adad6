import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.explain.cases import WORDS, random_case
from tests.oracles import linear_program, tree_distance
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.explain import explain_pair, transport_plan
from treewass.explain.transport_plans import branch_costs
from treewass.trees import perfect_tree
from treewass.trees.embedding import MASS_BITS, embed, mass_units


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
    ("first", "second", "options", "message"),
    [
        ([[0, 0]], [[1, 1]], {}, "row.* of first have none: 0"),
        ([[1, 1]], [[0, 0]], {}, "row.* of second have none: 0"),
        ([[1, 1], [1, 0]], [[1, 1]], {}, "first to be one document"),
        ([[1, 1]], [[1, 1, 1]], {}, "expecting 2 features"),
        ([[1, 1]], [[1, 1]], {"component": 1}, "component between 0 and 0, got 1"),
    ],
)
def test_bad_documents_are_refused(first, second, options, message):
    with pytest.raises(ValueError, match=message):
        transport_plan(TreeMetric(Tree([-1], word_nodes=[0, 0])), first, second, **options)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_components=st.integers(1, 2))
def test_an_explanation_adds_up_to_the_distance(seed, n_components):
    metric, documents = random_case(seed, n_components)
    first, second = documents[:1], documents[1:2]
    explanation = explain_pair(metric, first, second, WORDS)
    distance = metric.pairwise(first, second)[0, 0]
    assert explanation.distance == pytest.approx(distance, abs=1e-6)
    assert sum(move.cost for move in explanation.moves) == pytest.approx(explanation.distance)
    assert sum(move.mass for move in (*explanation.shared, *explanation.moves)) == pytest.approx(1)
    assert [move.cost for move in explanation.moves] == sorted((move.cost for move in explanation.moves), reverse=True)
    assert all(move.cost == 0 for move in explanation.shared)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_branches_and_leaves_cost_the_distance(seed):
    metric, documents = random_case(seed, 1)
    first, second = documents[:1], documents[1:2]
    tree, masses = metric.trees[0], documents[:2] * metric.masses[0]
    masses = masses / masses.sum(axis=1, keepdims=True)
    leaves = (tree.leaf_lengths * abs(masses[0] - masses[1])).sum()
    branches = branch_costs(metric, first, second, WORDS, 0)
    assert sum(branch.cost for branch in branches) + leaves == pytest.approx(
        metric.pairwise(first, second)[0, 0], abs=1e-6
    )
    for branch in branches:
        below = tree.subtree_words(branch.node)
        assert branch.masses == pytest.approx(tuple(masses[:, below].sum(axis=1)))
        used = [WORDS[word] for word in below if masses[:, word].any()]
        assert sorted(branch.words) == sorted(used)


def test_of_branches_within_each_other_with_the_same_words_the_costliest_is_listed():
    lengths = [0.0, 1.0, 2.0, 4.0, 1.5]
    metric = TreeMetric(Tree([-1, 0, 1, 2, 0], word_nodes=[3, 4, 1], edge_lengths=lengths))
    branches = explain_pair(metric, [[1, 0, 0]], [[0, 1, 0]], ["deep", "flat", "above"]).branches
    assert [(branch.node, branch.words) for branch in branches] == [(3, ("deep",)), (4, ("flat",))]
    branches = explain_pair(metric, [[1, 0, 1]], [[0, 1, 0]], ["deep", "flat", "above"]).branches
    assert [branch.node for branch in branches] == [3, 4, 1]
    same_names = explain_pair(metric, [[1, 0, 0]], [[0, 1, 0]], ["word", "word", "word"]).branches
    assert [branch.node for branch in same_names] == [3, 4]


def test_equal_documents_cost_nothing():
    metric, documents = random_case(0, 1)
    explanation = explain_pair(metric, documents[:1], documents[:1], WORDS)
    assert explanation.distance == 0
    assert explanation.moves == explanation.branches == ()
    assert explanation.shared_mass == pytest.approx(1)
    assert explanation.to_dict()["shared_mass"] == explanation.shared_mass


def test_names_are_one_per_word():
    metric, documents = random_case(0, 1)
    with pytest.raises(ValueError, match=r"one name per word \(9\), got 2"):
        explain_pair(metric, documents[:1], documents[1:2], ["a", "b"])


def test_words_of_the_same_name_are_not_mixed_up():
    metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 2]))
    explanation = explain_pair(metric, [[3, 1]], [[1, 3]], ["bank", "bank"])
    assert [move.mass for move in explanation.shared] == [0.25, 0.25]
    assert [(move.mass, move.cost) for move in explanation.moves] == [(0.5, 2.0)]
    assert explanation.distance == 2.0
    assert explanation.share(explanation.moves) == 1.0
