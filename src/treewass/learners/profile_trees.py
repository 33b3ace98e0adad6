"""One tree of the default learner: nodes with centres, words in their places, and what refinement learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from treewass.learners.clustering import CentreTree, cluster
from treewass.learners.profiles import ClassProfiles
from treewass.learners.soft_neighbors import LogMultipliers
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ProfileTree", "TreeSettings"]

_MOST_POINTS = 50_000  # distinct profiles that are clustered, the heaviest first; the others only descend
_BLOCK = 1 << 22  # numbers held at a time when profiles are written out
_SMALLEST_COUNT = 0.001


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

    Parameters
    ----------
    settings : TreeSettings
    centres : CentreTree
        The internal nodes.
    tree : Tree
        The same nodes with the words below them, before refinement.
    informativeness : ndarray of shape (n_words,)
    masses : ndarray of shape (n_words,)
        Mass factors before refinement; zero for unknown words.
    learned : LogMultipliers or None
        Factors from refinement.
    """

    settings: TreeSettings
    centres: CentreTree
    tree: Tree
    informativeness: NDArray[np.float64]
    masses: NDArray[np.float64]
    learned: LogMultipliers | None = None

    @classmethod
    def planted(
        cls,
        counted: ClassProfiles,
        profiles: ClassProfiles,
        settings: TreeSettings,
        random_state: np.random.RandomState,
    ) -> ProfileTree:
        """Cluster profiles and place every word.

        Parameters
        ----------
        counted : ClassProfiles
            The profiles that are clustered.
        profiles : ClassProfiles
            The profiles by which words are placed: the same, or with more words than were counted.
        settings : TreeSettings
        random_state : numpy.random.RandomState
            Starts the clustering.
        """
        examples, place = counted.distinct()
        weights = np.bincount(place, np.sqrt(counted.document_counts + _SMALLEST_COUNT)).astype(np.float64)
        heaviest = np.sort(np.argsort(-weights, kind="stable")[:_MOST_POINTS])
        centres = cluster(
            counted.points(examples[heaviest]),
            weights[heaviest],
            np.bincount(place)[heaviest],
            arity=settings.arity,
            depth=settings.depth,
            min_weight=settings.min_split,
            random_state=random_state,
        )
        if profiles is not counted:
            examples, place = profiles.distinct()
        return _placed(profiles, settings, centres, _descend(profiles, centres, examples)[place])

    @property
    def metric(self) -> TreeMetric:
        """The metric of this tree."""
        if self.learned is None:
            return TreeMetric(self.tree, self.masses)
        return self.learned.applied(self.tree, self.masses)

    @property
    def scale(self) -> float:
        """What refinement multiplies this tree's distances by to compare them; one without refinement."""
        return 1.0 if self.learned is None else float(np.exp(self.learned.scale[0]))

    def with_factors(self, learned: LogMultipliers | None) -> ProfileTree:
        """Return the tree with other learned factors."""
        return replace(self, learned=learned)

    def updated(self, profiles: ClassProfiles) -> ProfileTree:
        """Move centres to the mean of their words' new profiles, place all words again, and keep what was learned.

        Parameters
        ----------
        profiles : ClassProfiles
            Of the words so far, and of new ones after them.
        """
        examples, place = profiles.distinct()
        known = self.tree.n_words
        weights = np.sqrt(profiles.document_counts[:known] + _SMALLEST_COUNT)
        points = profiles.points(np.arange(known))
        centres = self.centres.recentred(points, weights, self.tree.word_nodes)
        nodes = _descend(profiles, centres, examples)[place]
        learned = None if self.learned is None else self.learned.with_words(nodes.size)
        return _placed(profiles, self.settings, centres, nodes).with_factors(learned)


def _descend(profiles: ClassProfiles, centres: CentreTree, words: NDArray[np.intp]) -> NDArray[np.int32]:
    """Find the node of each word, some at a time: words times classes may be more than memory holds."""
    step = max(1, _BLOCK // profiles.class_shares.size)
    parts = [centres.descend(profiles.points(words[start : start + step])) for start in range(0, words.size, step)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def _placed(
    profiles: ClassProfiles, settings: TreeSettings, centres: CentreTree, nodes: NDArray[np.int32]
) -> ProfileTree:
    """Hang words from their nodes and give them their masses."""
    tree = Tree(centres.parents, word_nodes=nodes, leaf_lengths=np.full(nodes.size, settings.leaf_length))
    seen = profiles.document_counts > 0
    masses = np.where(seen, profiles.informativeness + settings.floor, 0.0)
    return ProfileTree(settings, centres, tree, profiles.informativeness, masses)
