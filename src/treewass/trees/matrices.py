"""Trees as the paper's matrices D₁ and D₂, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csc_array, csr_array

__all__ = ["from_matrices", "subtree_matrix", "to_matrices"]


def to_matrices(tree: Tree) -> tuple[csc_array, csc_array]:
    """Write a tree as the blocks of the paper's adjacency matrix, equation (4).

    Parameters
    ----------
    tree : Tree
        Any tree.

    Returns
    -------
    internal : csc_array of shape (n_nodes, n_nodes), float64
        D₁: one where the row's node is the parent of the column's node.
    leaves : csc_array of shape (n_nodes, n_words), float64
        D₂: one where the column's word hangs from the row's node.

    Examples
    --------
    >>> internal, leaves = to_matrices(Tree([-1, 0, 0], word_nodes=[1, 2, 2]))
    >>> internal.toarray()
    array([[0., 1., 1.],
           [0., 0., 0.],
           [0., 0., 0.]])
    >>> leaves.toarray()
    array([[0., 0., 0.],
           [1., 0., 0.],
           [0., 1., 1.]])
    """
    from scipy.sparse import csc_array

    nodes, words = np.arange(1, tree.n_nodes), np.arange(tree.n_words)
    internal = csc_array((np.ones(nodes.size), (tree.parents[1:], nodes)), shape=(tree.n_nodes,) * 2)
    leaves = csc_array((np.ones(words.size), (tree.word_nodes, words)), shape=(tree.n_nodes, tree.n_words))
    return internal, leaves  # D_1, D_2


def from_matrices(
    internal: Any,
    leaves: Any,
    edge_lengths: ArrayLike | None = None,
    leaf_lengths: ArrayLike | None = None,
) -> Tree:
    """Read a tree from the paper's D₁ and D₂, if theorem 1 says that they describe one.

    Parameters
    ----------
    internal : sparse matrix or array-like of shape (n_nodes, n_nodes)
        D₁, of zeros and ones: strictly upper triangular, one parent in every column but the first.
    leaves : sparse matrix or array-like of shape (n_nodes, n_words)
        D₂, of zeros and ones: one parent in every column.
    edge_lengths, leaf_lengths : array-like of float, optional
        Lengths as in `Tree`, one by default.

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        If the matrices break a condition of theorem 1; the message says which, and where.

    Examples
    --------
    >>> from_matrices([[0, 1], [0, 0]], [[0, 1], [1, 0]])
    Tree(n_nodes=2, n_words=2, depth=1)
    >>> from_matrices([[0, 0], [1, 0]], [[1], [0]])
    Traceback (most recent call last):
        ...
    ValueError: Expected D1 to be strictly upper triangular (theorem 1, condition 1), but it has an entry ...
    """
    parent_rows, parent_columns, shape = _ones(internal, "D1")
    word_rows, word_columns, leaf_shape = _ones(leaves, "D2")
    if shape[0] != shape[1] or leaf_shape[0] != shape[0]:
        raise ValueError(f"Expected D1 of shape (n, n) and D2 of shape (n, words), got {shape} and {leaf_shape}.")
    lower = np.flatnonzero(parent_rows >= parent_columns)
    if lower.size:
        raise ValueError(
            "Expected D1 to be strictly upper triangular (theorem 1, condition 1), but it has an entry "
            f"at row {parent_rows[lower[0]]}, column {parent_columns[lower[0]]}. "
            "Number every node after its parent."
        )
    _demand_one_parent(parent_columns, np.arange(shape[1]) > 0, "D1")
    _demand_one_parent(word_columns, np.ones(leaf_shape[1], dtype=bool), "D2")
    parents = np.full(shape[0], -1)
    parents[parent_columns] = parent_rows
    word_nodes = np.zeros(leaf_shape[1], dtype=np.int64)
    word_nodes[word_columns] = word_rows
    return Tree(parents, edge_lengths, word_nodes, leaf_lengths)


def subtree_matrix(tree: Tree) -> csr_array:
    """Mark the internal nodes above each word, the root included.

    Parameters
    ----------
    tree : Tree
        Any tree.

    Returns
    -------
    csr_array of shape (n_words, n_nodes), int64
        The transpose of :math:`C = (I - D_1)^{-1} D_2` of the paper's algorithm 1, found by climbing from
        every word: at most ``depth + 1`` ones per row.

    Examples
    --------
    >>> subtree_matrix(Tree([-1, 0, 1], word_nodes=[2, 0])).toarray()
    array([[1, 1, 1],
           [1, 0, 0]])
    """
    from scipy.sparse import csr_array

    rows, columns = [], []
    words, nodes = np.arange(tree.n_words), tree.word_nodes
    while words.size:
        rows.append(words)
        columns.append(nodes)
        below = nodes > 0
        words, nodes = words[below], tree.parents[nodes[below]]
    entries = (np.concatenate(rows), np.concatenate(columns)) if rows else (words, nodes)
    return csr_array((np.ones(entries[0].size, dtype=np.int64), entries), shape=(tree.n_words, tree.n_nodes))


def _ones(matrix: Any, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int]]:
    """Return the rows and columns of the ones of a matrix that holds nothing else but zeros."""
    from scipy.sparse import coo_array

    entries = coo_array(matrix)
    if entries.ndim != 2:
        raise ValueError(f"Expected {name} to be a matrix, got {entries.ndim} dimension(s).")
    entries.sum_duplicates()
    entries.eliminate_zeros()
    other = np.flatnonzero(entries.data != 1)
    if other.size:
        at = other[0]
        raise ValueError(
            f"Expected {name} to hold zeros and ones only, got {entries.data[at]} at row {entries.row[at]}, "
            f"column {entries.col[at]}. Take the most probable parent of each column first."
        )
    return entries.row.astype(np.int64), entries.col.astype(np.int64), entries.shape


def _demand_one_parent(columns: NDArray[np.int64], expected: NDArray[np.bool_], name: str) -> None:
    """Check condition 2 of theorem 1: the column sums are (0, 1, …, 1) in D1 and all one in D2."""
    counts = np.bincount(columns, minlength=expected.size)
    wrong = np.flatnonzero(counts != expected)
    if wrong.size:
        raise ValueError(
            f"Expected one parent in every column of {name}, the root's aside (theorem 1, condition 2), but "
            f"column(s) {wrong[:5].tolist()} have {counts[wrong[:5]].tolist()}."
        )
