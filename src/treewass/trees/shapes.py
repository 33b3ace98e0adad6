"""Trees that need no data: the perfect k-ary tree of the paper, and the star."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["perfect_tree", "star_tree"]

_MOST_NODES = 2**27


def perfect_tree(arity: int, depth: int) -> Tree:
    """Make the perfect tree in which every internal node above the last level has `arity` children.

    The paper starts its learner from ``perfect_tree(5, 5)`` (section 3.5). Lengths are one; words are
    added with `Tree.with_words`.

    Parameters
    ----------
    arity : int
        Children of each node, at least 1.
    depth : int
        Levels below the root, at least 0.

    Returns
    -------
    Tree
        With ``1 + arity + … + arity**depth`` internal nodes, numbered level by level, and no words.

    Examples
    --------
    >>> perfect_tree(5, 5).n_nodes
    3906
    >>> perfect_tree(2, 1).with_words([1, 1, 2])
    Tree(n_nodes=3, n_words=3, depth=1)
    """
    if arity < 1 or depth < 0:
        raise ValueError(f"Expected arity >= 1 and depth >= 0, got arity={arity} and depth={depth}.")
    n_nodes = depth + 1 if arity == 1 else (arity ** (depth + 1) - 1) // (arity - 1)
    if n_nodes > _MOST_NODES:
        raise ValueError(f"Expected at most {_MOST_NODES} nodes, got {n_nodes}: choose a smaller arity or depth.")
    return Tree((np.arange(n_nodes) - 1) // arity)


def star_tree(n_words: int, leaf_lengths: ArrayLike | None = None) -> Tree:
    """Make the tree in which every word hangs from the root: its distance is plain L1.

    Parameters
    ----------
    n_words : int
        Number of words.
    leaf_lengths : array-like of float, shape (n_words,), optional
        Lengths of the words' edges, one by default.

    Returns
    -------
    Tree

    Examples
    --------
    >>> star_tree(3)
    Tree(n_nodes=1, n_words=3, depth=0)
    """
    return Tree([-1], word_nodes=np.zeros(n_words, dtype=np.int32), leaf_lengths=leaf_lengths)
