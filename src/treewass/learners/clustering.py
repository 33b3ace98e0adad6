"""A tree over points by hierarchical k-means."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["kmeans_tree"]


def kmeans_tree(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    arity: int,
    depth: int,
    min_weight: float,
    random_state: np.random.RandomState,
) -> Tree:
    """Split points by k-means, and the parts again, down to a given depth.

    Parameters
    ----------
    points : ndarray of shape (n_words, n_dimensions)
        One point a word.
    weights : ndarray of shape (n_words,)
        Positive weights of the words.
    arity : int
        Clusters a node is split into.
    depth : int
        Deepest level of the internal nodes.
    min_weight : float
        A node is split only if its words weigh at least as much, if there are more than `arity` of them, and if
        they differ.
    random_state : numpy.random.RandomState
        Chooses the first centres.

    Returns
    -------
    Tree
        Each word hangs from the deepest node it reached; all lengths are one.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1]])
    >>> tree = kmeans_tree(points, np.ones(5), arity=2, depth=1, min_weight=1,
    ...                    random_state=np.random.RandomState(0))
    >>> groups = tree.word_nodes.tolist()
    >>> groups[0] == groups[1] == groups[2] != groups[3] == groups[4]
    True
    """
    distinct, place = np.unique(points, axis=0, return_inverse=True)  # words with one profile are one point
    heavy = np.bincount(place, weights=weights).astype(np.float64)
    words = np.bincount(place)
    nodes = np.zeros(len(distinct), dtype=np.int32)
    parents, levels = [-1], [0]
    waiting = deque([0])
    with threadpool_limits(1):  # sums over threads would make the result depend on their number
        while waiting:
            node = waiting.popleft()
            members = np.flatnonzero(nodes == node)
            splittable = len(members) > 1 and words[members].sum() > arity and heavy[members].sum() >= min_weight
            if levels[node] == depth or not splittable:
                continue
            parts = _split(distinct[members], heavy[members], arity, random_state)
            for part in np.unique(parts):
                nodes[members[parts == part]] = len(parents)
                waiting.append(len(parents))
                parents.append(node)
                levels.append(levels[node] + 1)
    return Tree(parents, word_nodes=nodes[place])


def _split(
    points: NDArray[np.float64], weights: NDArray[np.float64], arity: int, random_state: np.random.RandomState
) -> NDArray[np.int32]:
    """Cluster distinct points; return the cluster of each."""
    if len(points) <= arity:
        return np.arange(len(points), dtype=np.int32)
    labels: NDArray[np.int32] = (
        KMeans(arity, n_init=1, random_state=random_state).fit(points, sample_weight=weights).labels_
    )
    return labels
