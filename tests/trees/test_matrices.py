import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import coo_matrix

from tests.strategies import trees
from treewass.trees import from_matrices, subtree_matrix, to_matrices


@given(trees())
def test_round_trip(tree):
    internal, leaves = to_matrices(tree)
    assert from_matrices(internal, leaves, tree.edge_lengths, tree.leaf_lengths) == tree
    assert from_matrices(internal.toarray(), coo_matrix(leaves), tree.edge_lengths, tree.leaf_lengths) == tree


@given(trees())
def test_matrices_satisfy_theorem_one(tree):
    internal, leaves = to_matrices(tree)
    parent = np.block(
        [
            [internal.toarray(), leaves.toarray()],
            [np.zeros((tree.n_words, tree.n_nodes)), np.zeros((tree.n_words, tree.n_words))],
        ]
    )
    assert np.array_equal(np.triu(parent, k=1), parent)
    assert parent.sum(axis=0).tolist() == [0] + [1] * (tree.n_nodes + tree.n_words - 1)


@given(trees())
def test_subtree_matrix_is_line_seven_of_algorithm_one(tree):
    internal, leaves = to_matrices(tree)
    inverse = np.linalg.inv(np.eye(tree.n_nodes) - internal.toarray())  # A
    np.testing.assert_allclose(subtree_matrix(tree).toarray().T, inverse @ leaves.toarray(), atol=1e-12)


@pytest.mark.parametrize(
    ("internal", "leaves", "message"),
    [
        ([[0, 0], [1, 0]], [[1], [0]], "strictly upper triangular .*row 1, column 0"),
        ([[1, 1], [0, 0]], [[1], [0]], "strictly upper triangular .*row 0, column 0"),
        ([[0, 0], [0, 0]], [[1], [0]], r"one parent in every column of D1.*column\(s\) \[1\] have \[0\]"),
        ([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[1], [0], [0]], r"column\(s\) \[2\] have \[2\]"),
        ([[0, 1], [0, 0]], [[1, 1], [0, 1]], r"column of D2.*column\(s\) \[1\] have \[2\]"),
        ([[0, 1], [0, 0]], [[0], [0]], r"D2.*column\(s\) \[0\] have \[0\]"),
        ([[0, 1], [0, 0]], [[0.4], [0.6]], "zeros and ones only, got 0.4 at row 0, column 0"),
        ([[0, 1]], [[1]], r"D1 of shape \(n, n\)"),
        ([[0, 1], [0, 0]], [[1]], r"D1 of shape \(n, n\)"),
    ],
)
def test_matrices_that_are_no_tree_are_refused(internal, leaves, message):
    with pytest.raises(ValueError, match=message):
        from_matrices(internal, leaves)
