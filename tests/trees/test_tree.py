import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import tree_distances
from tests.strategies import trees
from treewass import Tree
from treewass.trees import perfect_tree, to_matrices


@given(trees())
def test_subtree_sums_multiply_by_the_inverse_of_equation_five(tree):
    internal, _ = to_matrices(tree)
    inverse = np.linalg.inv(np.eye(tree.n_nodes) - internal.toarray())
    values = np.random.default_rng(0).random((tree.n_nodes, 3))
    np.testing.assert_allclose(tree.subtree_sums(values), inverse @ values, atol=1e-12)
    assert np.array_equal(tree.subtree_sums(np.eye(tree.n_nodes, dtype=int)), np.rint(inverse))


@given(trees())
def test_word_distances_follow_the_paths(tree):
    words = np.arange(tree.n_words)
    np.testing.assert_allclose(tree.word_distances(words[:, None], words), tree_distances(tree), atol=1e-12)


@given(trees(), st.data())
def test_structure_agrees_with_the_paths_to_the_root(tree, data):
    paths = [tree.path(node) for node in range(tree.n_nodes)]
    assert tree.depths.tolist() == [len(path) - 1 for path in paths]
    assert tree.depth == max(tree.depths)
    assert [level.tolist() for level in tree.levels] == [
        [node for node in range(tree.n_nodes) if tree.depths[node] == depth] for depth in range(tree.depth + 1)
    ]
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    assert tree.subtree(node).tolist() == [other for other in range(tree.n_nodes) if node in paths[other]]
    assert tree.children(node).tolist() == [other for other in range(tree.n_nodes) if paths[other][1:2] == [node]]
    words = [word for word in range(tree.n_words) if node in paths[tree.word_nodes[word]]]
    assert tree.subtree_words(node).tolist() == words


@given(trees(), st.data())
def test_lowest_common_ancestor_is_the_first_shared_node(tree, data):
    nodes = st.lists(st.integers(0, tree.n_nodes - 1), min_size=3, max_size=3)
    first, second = data.draw(nodes), data.draw(nodes)
    expected = [next(node for node in tree.path(a) if node in tree.path(b)) for a, b in zip(first, second, strict=True)]
    assert tree.lowest_common_ancestors(first, second).tolist() == expected


@given(trees())
def test_trees_are_values(tree):
    same = Tree(tree.parents.tolist(), tree.edge_lengths, tree.word_nodes, tree.leaf_lengths.tolist())
    assert same == tree
    assert hash(same) == hash(tree)
    copy = pickle.loads(pickle.dumps(tree))
    assert copy == tree
    for name in ("parents", "edge_lengths", "word_nodes", "leaf_lengths"):
        assert not getattr(tree, name).flags.writeable
        assert not getattr(copy, name).flags.writeable


def test_trees_cannot_be_changed_from_outside():
    lengths = np.ones(2)
    tree = Tree([-1, 0], edge_lengths=lengths)
    lengths[1] = 9
    assert tree.edge_lengths.tolist() == [1, 1]
    with pytest.raises(AttributeError):
        tree.parents = [-1]
    with pytest.raises(ValueError, match="read-only"):
        tree.depths[0] = 3


def test_trees_differ_where_any_array_does():
    tree = Tree([-1, 0, 0], word_nodes=[1, 2])
    others = [
        Tree([-1, 0, 1], word_nodes=[1, 2]),
        Tree([-1, 0, 0], [1, 2, 1], [1, 2]),
        Tree([-1, 0, 0], word_nodes=[2, 2]),
        Tree([-1, 0, 0], word_nodes=[1, 2], leaf_lengths=[1, 0]),
    ]
    assert all(tree != other for other in others)
    assert tree != "tree"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "at least the root"),
        (([0],), ValueError, r"parents\[0\] == -1"),
        (([-1, -1],), ValueError, "node 1 has parent -1"),
        (([-1, 1],), ValueError, "node 1 has parent 1"),
        (([-1, 2, 1],), ValueError, "come after its parent"),
        (([-1.0, 0.0],), TypeError, "integers"),
        (([[-1]],), ValueError, "shape"),
        (([-1, 0], [1, -2]), ValueError, r"non-negative edge_lengths, got -2\.0 at position\(s\) 1"),
        (([-1, 0], [1, np.nan]), ValueError, "finite"),
        (([-1, 0], [1, np.inf]), ValueError, "finite"),
        (([-1, 0], [1]), ValueError, r"shape \(2,\), got shape \(1,\)"),
        (([-1, 0], ["a", "b"]), TypeError, "real numbers"),
        (([-1, 0], None, [2]), ValueError, "between 0 and 1, got 2"),
        (([-1, 0], None, [-1]), ValueError, "between 0 and 1, got -1"),
        (([-1, 0], None, [0], [1, 1]), ValueError, "leaf_lengths of shape"),
    ],
)
def test_invalid_trees_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Tree(*arguments)


def test_subtree_sums_of_small_integers_do_not_overflow():
    tree = Tree([-1] + [0] * 299)
    assert tree.subtree_sums(np.ones(300, dtype=np.int8))[0] == 300
    assert tree.subtree_sums(np.ones(300, dtype=bool))[0] == 300


def test_negative_zero_is_zero():
    assert hash(Tree([-1], [-0.0], [0], [-0.0])) == hash(Tree([-1], [0.0], [0], [0.0]))


def test_unknown_nodes_and_words_are_refused():
    tree = perfect_tree(2, 1).with_words([0, 1])
    with pytest.raises(ValueError, match="nodes between 0 and 2, got 3"):
        tree.path(3)
    with pytest.raises(ValueError, match="words between 0 and 1, got 2"):
        tree.word_distances(0, 2)
    with pytest.raises(ValueError, match="words of a tree that has none"):
        perfect_tree(2, 1).word_distances(0, 0)
    with pytest.raises(ValueError, match="one value per internal node"):
        tree.subtree_sums([1, 2])


def test_a_deep_path_needs_no_recursion():
    tree = Tree(np.arange(20_000) - 1, word_nodes=[19_999, 0])
    assert tree.depth == 19_999
    assert tree.word_distances(0, 1) == 20_001
    assert tree.subtree(10_000).size == 10_000
