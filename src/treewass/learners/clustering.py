"""A tree of centres by hierarchical k-means, and the descent of points in it."""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CentreTree", "cluster"]


@dataclass(frozen=True, eq=False)
class CentreTree:
    """Nodes with a centre each; a point descends to the child with the nearest centre until there is none.

    Parameters
    ----------
    parents : ndarray of int32, shape (n_nodes,)
        Parents before children, −1 for the root.
    centres : ndarray of float32, shape (n_nodes, n_dimensions)
        The root's is never compared.
    """

    parents: NDArray[np.int32]
    centres: NDArray[np.float32]

    def descend(self, points: NDArray[np.float32]) -> NDArray[np.int32]:
        """Find the node that each point reaches.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_dimensions)

        Returns
        -------
        ndarray of int32, shape (n_points,)

        Examples
        --------
        >>> tree = CentreTree(np.array([-1, 0, 0]), np.array([[0.0], [1.0], [5.0]]))
        >>> tree.descend(np.array([[0.3], [4.0]]))
        array([1, 2], dtype=int32)
        """
        nodes = np.zeros(len(points), dtype=np.int32)
        for node, children in self._families():
            members = np.flatnonzero(nodes == node)
            if members.size:
                centres = self.centres[children]
                heights = (centres**2).sum(axis=1) - 2 * (points[members] @ centres.T)
                nodes[members] = children[heights.argmin(axis=1)]
        return nodes

    def recentred(
        self, points: NDArray[np.float32], weights: NDArray[np.float64], nodes: NDArray[np.int32]
    ) -> CentreTree:
        """Move every centre to the weighted mean of the points below its node; empty nodes keep out of the way.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_dimensions)
            May have other dimensions than before.
        weights : ndarray of shape (n_points,)
        nodes : ndarray of int32, shape (n_points,)
            Where each point was.
        """
        sums = np.zeros((self.parents.size, points.shape[1]))
        totals = np.bincount(nodes, weights, self.parents.size)
        np.add.at(sums, nodes, points * weights[:, None])
        for node in range(self.parents.size - 1, 0, -1):
            sums[self.parents[node]] += sums[node]
            totals[self.parents[node]] += totals[node]
        centres = np.full(sums.shape, 1e6, dtype=np.float32)
        held = totals > 0
        centres[held] = sums[held] / totals[held, None]
        return CentreTree(self.parents, centres)

    def _families(self) -> list[tuple[int, NDArray[np.intp]]]:
        """List the nodes that have children, each after its parent, with their children."""
        inner = np.unique(self.parents[1:])
        return [(int(node), np.flatnonzero(self.parents == node)) for node in inner]


def cluster(
    points: NDArray[np.float32],
    weights: NDArray[np.float64],
    sizes: NDArray[np.int64],
    *,
    arity: int,
    depth: int,
    min_weight: float,
    random_state: np.random.RandomState,
) -> CentreTree:
    """Split points by k-means, and the parts again, down to a given depth.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
        Distinct points.
    weights : ndarray of shape (n_points,)
        Positive weights.
    sizes : ndarray of int, shape (n_points,)
        How many words each point stands for.
    arity : int
        Clusters a node is split into.
    depth : int
        Deepest level of the nodes.
    min_weight : float
        A node is split only if its points weigh at least as much, stand for more than `arity` words and differ.
    random_state : numpy.random.RandomState
        Chooses the first centres.

    Returns
    -------
    CentreTree

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1]], dtype=np.float32)
    >>> tree = cluster(points, np.ones(5), np.ones(5, dtype=int), arity=2, depth=1, min_weight=1,
    ...                random_state=np.random.RandomState(0))
    >>> groups = tree.descend(points).tolist()
    >>> groups[0] == groups[1] == groups[2] != groups[3] == groups[4]
    True
    """
    from threadpoolctl import threadpool_limits

    nodes = np.zeros(len(points), dtype=np.int32)
    parents, levels = [-1], [0]
    centres = [np.zeros((1, points.shape[1]), dtype=np.float32)]
    waiting = deque([0])
    with threadpool_limits(1):  # sums over threads would make the result depend on their number
        while waiting:
            node = waiting.popleft()
            members = np.flatnonzero(nodes == node)
            splittable = len(members) > 1 and sizes[members].sum() > arity and weights[members].sum() >= min_weight
            if levels[node] == depth or not splittable:
                continue
            parts, means = _split(points[members], weights[members], arity, random_state)
            if len(means) == 1:
                continue
            for part in range(len(means)):
                nodes[members[parts == part]] = len(parents)
                waiting.append(len(parents))
                parents.append(node)
                levels.append(levels[node] + 1)
            centres.append(means)
    return CentreTree(np.array(parents, dtype=np.int32), np.concatenate(centres))


def _split(
    points: NDArray[np.float32], weights: NDArray[np.float64], arity: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Cluster distinct points; return the cluster of each, and the centres of the clusters that hold any."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if len(points) <= arity:
        return np.arange(len(points), dtype=np.int32), points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # points that rounding made equal: fewer clusters
        means = KMeans(arity, n_init=1, random_state=random_state).fit(points, sample_weight=weights)
    held, parts = np.unique(means.labels_, return_inverse=True)
    centres: NDArray[np.float32] = means.cluster_centers_[held].astype(np.float32)
    return parts.astype(np.int32), centres
