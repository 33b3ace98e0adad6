import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.explain.cases import WORDS, random_case
from tests.oracles import histogram
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.explain import telling_branches, tree_outline
from treewass.trees import perfect_tree

METRIC = TreeMetric(perfect_tree(2, 2).with_words([3, 3, 4, 4, 5, 6, 0]))
COUNTS = np.array([[4, 2, 0, 0, 1, 1, 5], [3, 3, 0, 0, 1, 1, 5], [0, 0, 2, 4, 1, 1, 5], [0, 0, 1, 5, 1, 1, 5]])
LABELS = ["cat", "cat", "dog", "dog"]


def slow_branches(metric, counts, labels):
    """Every figure by plain loops: {node: (class shares, word means, mass, score)}, and the nodes of the cut."""
    tree, masses = metric.trees[0], metric.masses[0]
    classes = sorted(set(labels))
    of_class = {
        label: np.mean(
            [histogram(masses, row) for row, its in zip(counts, labels, strict=True) if its == label], axis=0
        )
        for label in classes
    }
    figures = {}
    for node in range(tree.n_nodes):
        words = tree.subtree_words(node)
        means = {label: of_class[label][words].sum() for label in classes}
        total = sum(means.values())
        shares = {label: mean / total for label, mean in means.items() if mean > 0}
        mass = total / len(classes)
        score = mass * sum(share * math.log2(share * len(classes)) for share in shares.values())
        word_means = {word: np.mean([of_class[label][word] for label in classes]) for word in words.tolist()}
        figures[node] = shares, word_means, mass, score

    def best_below(node):
        return sum(max(figures[child][3], best_below(child)) for child in tree.children(node).tolist())

    def cut(node):
        if node and best_below(node) <= 1.5 * figures[node][3]:
            return [node] if figures[node][3] > 0 else []
        return [chosen for child in tree.children(node).tolist() for chosen in cut(child)]

    return figures, cut(0)


@given(st.data())
def test_every_figure_agrees_with_plain_loops(data):
    metric = data.draw(metrics())
    counts = data.draw(documents(metric.n_words, min_rows=3, max_rows=7))
    labels = [data.draw(st.sampled_from("aab")) for _ in counts]
    figures, _ = slow_branches(metric, counts, labels)
    for branch in telling_branches(metric, counts, labels, n_words=100):
        shares, word_means, mass, score = figures[branch.node]
        assert dict(branch.classes) == pytest.approx(shares)
        assert dict(branch.words) == pytest.approx({word: mean for word, mean in word_means.items() if mean > 0})
        assert branch.mass == pytest.approx(mass)
        assert branch.score == pytest.approx(score, abs=1e-12)
        for ranked in (branch.classes, branch.words):
            assert [value for _, value in ranked] == sorted((value for _, value in ranked), reverse=True)


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_agrees_with_plain_loops(seed):
    random = np.random.default_rng(seed)
    tree = Tree([-1, *(random.integers(0, node) for node in range(1, 12))], word_nodes=random.integers(0, 12, 30))
    metric = TreeMetric(tree, random.random(30) + 0.1)
    counts = random.poisson(0.4, (9, 30)) + np.eye(9, 30, dtype=int)
    labels = [0, 0, 0, 0, 0, 1, 1, 2, 2]
    figures, cut = slow_branches(metric, counts, labels)
    expected = sorted(cut, key=lambda node: -figures[node][3])
    assert [branch.node for branch in telling_branches(metric, counts, labels, n_branches=50)] == expected
    assert len(expected) > 1


def test_branches_of_one_class_are_found_with_their_words():
    branches = telling_branches(METRIC, COUNTS, LABELS)
    assert {(branch.node, branch.classes) for branch in branches} == {(3, (("cat", 1.0),)), (4, (("dog", 1.0),))}
    assert [word for word, _ in branches[0].words] in ([0, 1], [3, 2])


def test_classes_count_the_same_whatever_their_size():
    once = telling_branches(METRIC, COUNTS, LABELS)
    often = telling_branches(METRIC, COUNTS[[0, 0, 0, 0, 1, 1, 1, 1, 2, 3]], ["cat"] * 8 + ["dog"] * 2)
    assert {branch.node: branch.score for branch in often} == pytest.approx({b.node: b.score for b in once})
    assert {branch.node: branch.mass for branch in often} == pytest.approx({b.node: b.mass for b in once})


def test_a_branch_equal_in_all_classes_tells_nothing():
    assert telling_branches(METRIC, COUNTS * [0, 0, 0, 0, 1, 1, 1], LABELS) == []


def test_no_more_than_asked():
    branches = telling_branches(METRIC, COUNTS, LABELS, n_branches=1, n_words=1)
    assert len(branches) == 1
    assert len(branches[0].words) == 1


def test_empty_documents_are_passed_over():
    with_empty = np.vstack([COUNTS, np.zeros(7)])
    assert telling_branches(METRIC, with_empty, [*LABELS, "dog"]) == telling_branches(METRIC, COUNTS, LABELS)
    assert telling_branches(METRIC, np.zeros((2, 7)), ["cat", "dog"]) == []


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["cat"], {}, r"one label per document \(4\)"),
        (LABELS, {"component": 3}, "component between 0 and 0, got 3"),
        (LABELS, {"n_branches": -1}, "at least 0, got -1 and 8"),
    ],
)
def test_bad_arguments_are_refused(labels, options, message):
    with pytest.raises(ValueError, match=message):
        telling_branches(METRIC, COUNTS, labels, **options)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_the_outline_adds_up(seed):
    metric, documents = random_case(seed, 1)
    labels = ["a", "a", "b", "b", "b", "c"]
    outline = tree_outline(metric, documents, labels, WORDS, n_words=20, n_documents=2)
    tree = metric.trees[0]
    masses = documents * metric.masses[0]
    masses = masses / masses.sum(axis=1, keepdims=True)
    by_class = np.array([masses[np.array(labels) == label].mean(axis=0) for label in "abc"])
    assert outline.classes == ("a", "b", "c")
    assert outline.nodes[0].mass == pytest.approx(1)
    for node in outline.nodes:
        below = tree.subtree_words(node.node)
        expected = by_class[:, below].sum(axis=1)
        assert node.mass == pytest.approx(expected.mean())
        assert node.classes == pytest.approx(tuple(expected / expected.sum()))
        assert {word.word: word.mass for word in node.words} == pytest.approx(
            {WORDS[word]: by_class[:, word].mean() for word in below if by_class[:, word].any()}
        )
        assert node.n_words == len(node.words)
        assert len(node.documents) <= 2
        on_node = masses[:, below].sum(axis=1)
        assert on_node[list(node.documents)].max() == pytest.approx(on_node.max())
        own = {WORDS[word] for word in np.flatnonzero(tree.word_nodes == node.node)}
        assert {word.word for word in node.own_words} <= own
        for word in node.words:
            shares = by_class[:, WORDS.index(word.word)]
            assert word.share == pytest.approx(shares.max() / shares.sum())
    heaviest = [child.mass for child in outline.children(0)]
    assert heaviest == sorted(heaviest, reverse=True)


def test_mixed_branches_come_last_however_large_they_are():
    metric = TreeMetric(Tree([-1, 0, 0, 0], word_nodes=[1, 2, 3]))
    outline = tree_outline(metric, [[9, 1, 0], [8, 0, 2]], ["pet", "car"], ["the", "cat", "wheel"])
    told, mixed = outline.told_and_mixed(0)
    assert [node.node for node in told] == [3, 2]
    assert [node.node for node in mixed] == [1]
    assert outline.told_first(0) == told + mixed
    plain = tree_outline(metric, [[2, 1, 1], [2, 1, 1]], ["pet", "car"], ["the", "cat", "wheel"])
    assert [node.node for node in plain.told_and_mixed(0)[0]] == [1, 2, 3]  # nothing tells, so nothing is held back


def test_an_outline_of_what_does_not_fit_is_refused():
    metric, documents = random_case(0, 1)
    with pytest.raises(ValueError, match="one label per document"):
        tree_outline(metric, documents, ["a"], WORDS)
    with pytest.raises(ValueError, match="one name per word"):
        tree_outline(metric, documents, list("aabbbc"), ["x"])
    with pytest.raises(ValueError, match="with a known word"):
        tree_outline(metric, 0 * documents, list("aabbbc"), WORDS)
