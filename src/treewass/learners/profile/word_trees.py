"""One tree of the default learner: hierarchical k-means, words in their places, and what refinement learned."""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from treewass.learners.profile.class_profiles import ClassProfiles
from treewass.learners.profile.soft_neighbors import LogMultipliers
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CenterTree", "ProfileTree", "TreeSettings", "cluster"]

_MOST_POINTS = 50_000  # distinct profiles that are clustered, the heaviest first; the others only descend
_BLOCK = 1 << 22  # numbers held at a time when profiles are written out
_SMALLEST_COUNT = 0.001


@dataclass(frozen=True, eq=False)
class CenterTree:
    """Nodes with a centre each; a point descends to the child with the nearest centre until there is none.

    Parents come before their children, −1 is the parent of the root, and the root's centre is never compared.
    """

    parents: NDArray[np.int32]
    centers: NDArray[np.float32]  # (n_nodes, n_dimensions)

    def descend(self, points: NDArray[np.float32]) -> NDArray[np.int32]:
        """Find the node that each point reaches; points have shape (n_points, n_dimensions)."""
        nodes = np.zeros(len(points), dtype=np.int32)
        for node in np.unique(self.parents[1:]):  # each after its parent
            children = np.flatnonzero(self.parents == node)
            members = np.flatnonzero(nodes == node)
            if members.size:
                centers = self.centers[children]
                heights = (centers**2).sum(axis=1) - 2 * (points[members] @ centers.T)
                nodes[members] = children[heights.argmin(axis=1)]
        return nodes

    def recentered(
        self, points: NDArray[np.float32], weights: NDArray[np.float64], nodes: NDArray[np.int32]
    ) -> CenterTree:
        """Move every centre to the weighted mean of the points below its node; empty nodes keep out of the way.

        `nodes` says where each point was. The points may have other dimensions than before.
        """
        sums = np.zeros((self.parents.size, points.shape[1]))
        totals = np.bincount(nodes, weights, self.parents.size)
        np.add.at(sums, nodes, points * weights[:, None])
        for node in range(self.parents.size - 1, 0, -1):
            sums[self.parents[node]] += sums[node]
            totals[self.parents[node]] += totals[node]
        centers = np.full(sums.shape, 1e6, dtype=np.float32)
        held = totals > 0
        centers[held] = sums[held] / totals[held, None]
        return CenterTree(self.parents, centers)


def cluster(
    points: NDArray[np.float32],
    weights: NDArray[np.float64],
    sizes: NDArray[np.int64],
    *,
    arity: int,
    depth: int,
    min_weight: float,
    random_state: np.random.RandomState,
) -> CenterTree:
    """Split distinct points by k-means into `arity` parts, and the parts again, down to a given depth.

    `sizes` says how many words each point stands for. A node is split only if its points weigh at least `min_weight`,
    stand for more than `arity` words and differ.
    """
    from threadpoolctl import threadpool_limits

    nodes = np.zeros(len(points), dtype=np.int32)
    parents, levels = [-1], [0]
    centers = [np.zeros((1, points.shape[1]), dtype=np.float32)]
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
            centers.append(means)
    return CenterTree(np.array(parents, dtype=np.int32), np.concatenate(centers))


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
    centers: NDArray[np.float32] = means.cluster_centers_[held].astype(np.float32)
    return parts.astype(np.int32), centers


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Shape and lengths of a tree: see the parameters of `ProfileTreeWasserstein`."""

    arity: int
    depth: int
    min_split: float
    leaf_length: float
    floor: float


@dataclass(frozen=True, eq=False)
class ProfileTree:
    """A tree over words with a centre at each node.

    `centers` holds the internal nodes, and `tree` the same nodes with the words below them. Its lengths and the masses
    are those before refinement; unknown words have no mass. `informativeness` and `masses` have shape (n_words,).
    """

    settings: TreeSettings
    centers: CenterTree
    tree: Tree
    informativeness: NDArray[np.float64]
    masses: NDArray[np.float64]
    learned: LogMultipliers | None = None

    @classmethod
    def planted(
        cls, profiles: ClassProfiles, settings: TreeSettings, random_state: np.random.RandomState
    ) -> ProfileTree:
        """Cluster the profiles of the words, or of the labelled ones where words borrow, and place every word."""
        examples, place = profiles.distinct()
        weights = np.bincount(place, _weights(profiles)).astype(np.float64)
        heaviest = np.argsort(-weights, kind="stable")[:_MOST_POINTS]
        heaviest = np.sort(heaviest[weights[heaviest] > 0])
        centers = cluster(
            profiles.points(examples[heaviest]),
            weights[heaviest],
            np.bincount(place, _counted(profiles))[heaviest].astype(np.int64),
            arity=settings.arity,
            depth=settings.depth,
            min_weight=settings.min_split,
            random_state=random_state,
        )
        return _placed(profiles, settings, centers, _descend(profiles, centers, examples)[place])

    def scaled_metric(self, scale: float) -> TreeMetric:
        """Make the metric of this tree, with all lengths multiplied by a number."""
        metric = TreeMetric(self.tree, self.masses)
        if self.learned is not None:
            metric = self.learned.applied(self.tree, self.masses)
        return TreeMetric(metric.trees[0].scaled(scale), metric.masses)

    @property
    def scale(self) -> float:
        """What refinement multiplies this tree's distances by to compare them; one without refinement."""
        return 1.0 if self.learned is None else float(np.exp(self.learned.scale[0]))

    def updated(self, profiles: ClassProfiles) -> ProfileTree:
        """Move centres to the mean of their words' new profiles, place all words again, and keep what was learned.

        The profiles are those of the words so far, and of new ones after them.
        """
        examples, place = profiles.distinct()
        known = self.tree.n_words
        weights = _weights(profiles)[:known]
        points = profiles.points(np.arange(known))
        centers = self.centers.recentered(points, weights, self.tree.word_nodes)
        nodes = _descend(profiles, centers, examples)[place]
        learned = None if self.learned is None else self.learned.with_words(nodes.size)
        return replace(_placed(profiles, self.settings, centers, nodes), learned=learned)


def _counted(profiles: ClassProfiles) -> NDArray[np.bool_]:
    """Say which words shape the tree: all, but where words borrow only those with documents of their own."""
    return np.ones(profiles.document_counts.size, np.bool_) if profiles.labelled is None else profiles.labelled


def _weights(profiles: ClassProfiles) -> NDArray[np.float64]:
    """Weigh words by the square root of their number of documents."""
    return np.asarray(np.sqrt(profiles.document_counts + _SMALLEST_COUNT) * _counted(profiles))


def _descend(profiles: ClassProfiles, centers: CenterTree, words: NDArray[np.intp]) -> NDArray[np.int32]:
    """Find the node of each word, some at a time: words times classes may be more than memory holds."""
    step = max(1, _BLOCK // profiles.class_shares.size)
    parts = [centers.descend(profiles.points(words[start : start + step])) for start in range(0, words.size, step)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def _placed(
    profiles: ClassProfiles, settings: TreeSettings, centers: CenterTree, nodes: NDArray[np.int32]
) -> ProfileTree:
    """Hang words from their nodes and give them their masses."""
    tree = Tree(centers.parents, word_nodes=nodes, leaf_lengths=np.full(nodes.size, settings.leaf_length))
    seen = profiles.document_counts > 0
    masses = np.where(seen, profiles.informativeness + settings.floor, 0.0)
    return ProfileTree(settings, centers, tree, profiles.informativeness, masses)
