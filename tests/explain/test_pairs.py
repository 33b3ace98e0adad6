import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from treewass import Tree, TreeMetric
from treewass.explain import deciding_words, explain_pair
from treewass.explain.pairs import branch_costs

WORDS = [f"w{number}" for number in range(9)]


def random_case(seed, n_components):
    random = np.random.default_rng(seed)
    trees = []
    for _ in range(n_components):
        parents = [-1] + [int(random.integers(0, node)) for node in range(1, 6)]
        trees.append(Tree(parents, random.random(6), random.integers(0, 6, 9), random.random(9)))
    documents = random.integers(0, 3, (6, 9)) + np.eye(6, 9)
    return TreeMetric(trees, random.random((n_components, 9)) + 0.1), documents


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_components=st.integers(1, 2))
def test_costs_add_up_to_the_distance(seed, n_components):
    metric, documents = random_case(seed, n_components)
    x, y = documents[:1], documents[1:2]
    explanation = explain_pair(metric, x, y, WORDS)
    distance = metric.pairwise(x, y)[0, 0]
    assert explanation.distance == pytest.approx(distance, abs=1e-6)
    assert sum(move.cost for move in explanation.moves) == pytest.approx(explanation.distance)
    assert sum(move.mass for move in (*explanation.shared, *explanation.moves)) == pytest.approx(1)
    assert [move.cost for move in explanation.moves] == sorted((move.cost for move in explanation.moves), reverse=True)
    assert all(move.cost == 0 for move in explanation.shared)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_branches_and_leaves_cost_the_distance(seed):
    metric, documents = random_case(seed, 1)
    x, y = documents[:1], documents[1:2]
    tree, masses = metric.trees[0], documents[:2] * metric.masses[0]
    masses = masses / masses.sum(axis=1, keepdims=True)
    leaves = (tree.leaf_lengths * abs(masses[0] - masses[1])).sum()
    branches = branch_costs(metric, x, y, WORDS, 0)
    assert sum(branch.cost for branch in branches) + leaves == pytest.approx(metric.pairwise(x, y)[0, 0], abs=1e-6)
    for branch in branches:
        below = tree.subtree_words(branch.node)
        assert branch.masses == pytest.approx(tuple(masses[:, below].sum(axis=1)))
        used = [WORDS[word] for word in below if masses[:, word].any()]
        assert sorted(branch.words) == sorted(used)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_components=st.integers(1, 2))
def test_support_adds_up_to_the_difference_of_distances(seed, n_components):
    metric, documents = random_case(seed, n_components)
    query, winners, rivals = documents[:1], documents[1:3], documents[3:]
    support = deciding_words(metric, query, csr_array(winners), csr_array(rivals), WORDS)
    expected = metric.pairwise(query, rivals).mean() - metric.pairwise(query, winners).mean()
    assert sum(entry.support for entry in support) == pytest.approx(expected, abs=1e-6)
    assert {entry.word for entry in support} == {WORDS[word] for word in np.flatnonzero(query[0])}
    assert [entry.support for entry in support] == sorted((entry.support for entry in support), reverse=True)


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
