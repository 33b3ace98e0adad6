import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import documents, metrics
from treewass import TreeMetric
from treewass.explain import telling_branches
from treewass.trees import perfect_tree

METRIC = TreeMetric(perfect_tree(2, 2).with_words([3, 3, 4, 4, 5, 6, 0]))
COUNTS = np.array([[4, 2, 0, 0, 1, 1, 5], [3, 3, 0, 0, 1, 1, 5], [0, 0, 2, 4, 1, 1, 5], [0, 0, 1, 5, 1, 1, 5]])
LABELS = ["cat", "cat", "dog", "dog"]


def test_branches_of_one_class_are_found_with_their_words():
    branches = telling_branches(METRIC, COUNTS, LABELS)
    assert {(branch.node, branch.classes) for branch in branches} == {(3, (("cat", 1.0),)), (4, (("dog", 1.0),))}
    assert [word for word, _ in branches[0].words] in ([0, 1], [3, 2])


def test_a_branch_equal_in_all_classes_tells_nothing():
    assert telling_branches(METRIC, COUNTS[:, :] * [0, 0, 0, 0, 1, 1, 1], LABELS) == []


def test_the_most_telling_come_first_and_no_more_than_asked():
    branches = telling_branches(METRIC, COUNTS, LABELS, n_branches=1, n_words=1)
    assert len(branches) == 1
    assert len(branches[0].words) == 1


@given(st.data())
def test_no_branch_lies_below_another(data):
    metric = data.draw(metrics())
    counts = data.draw(documents(metric.n_words, min_rows=4, max_rows=8))
    branches = telling_branches(metric, counts, np.arange(len(counts)) % 3)
    tree = metric.trees[0]
    for branch in branches:
        assert not {other.node for other in branches} & set(tree.path(branch.node)[1:])
        assert 0 < branch.mass <= 1 + 1e-12
        assert sum(share for _, share in branch.classes) == pytest.approx(1)
        assert {word for word, _ in branch.words} <= set(tree.subtree_words(branch.node).tolist())
    assert [branch.score for branch in branches] == sorted((branch.score for branch in branches), reverse=True)


def test_empty_documents_are_passed_over():
    with_empty = np.vstack([COUNTS, np.zeros(7)])
    assert telling_branches(METRIC, with_empty, [*LABELS, "dog"]) == telling_branches(METRIC, COUNTS, LABELS)


def test_labels_must_match():
    with pytest.raises(ValueError, match=r"one label per document \(4\)"):
        telling_branches(METRIC, COUNTS, ["cat"])
