"""Why two documents are near or far, in words: what they share, which words move where, which branches cost most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.explain.plan import transport_plan
from treewass.search.embedding import MASS_BITS, mass_units
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BranchCost", "Explanation", "Move", "explain_pair"]


@dataclass(frozen=True, slots=True)
class Move:
    """Mass that goes from a word of one document to a word of the other.

    Parameters
    ----------
    source, target : str
        The words; the same one for mass that stays.
    mass : float
        How much of a document's mass, which is one, averaged over the trees.
    cost : float
        What it adds to the distance.
    """

    source: str
    target: str
    mass: float
    cost: float


@dataclass(frozen=True, slots=True)
class BranchCost:
    """A branch of the tree that one document uses more than the other.

    Parameters
    ----------
    node : int
        The internal node.
    component : int
        The tree it belongs to.
    cost : float
        What mass that has to cross the branch's edge adds to the distance.
    masses : tuple of float
        Mass of the first and of the second document below the node.
    words : tuple of str
        Words of the two documents below it, those that differ most first.
    """

    node: int
    component: int
    cost: float
    masses: tuple[float, float]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The distance of two documents, taken apart.

    Parameters
    ----------
    distance : float
        The distance, before fixed point: the sum of the costs of all moves.
    shared : tuple of Move
        Mass that stays on a word which both documents hold, heaviest first.
    moves : tuple of Move
        Mass that moves, costliest first.
    branches : tuple of BranchCost
        The branches whose edges cost most.
    """

    distance: float
    shared: tuple[Move, ...]
    moves: tuple[Move, ...]
    branches: tuple[BranchCost, ...]

    @property
    def shared_mass(self) -> float:
        """The mass that stays where it is, from 0 to 1."""
        return sum(move.mass for move in self.shared)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as what JSON can hold."""
        return {**asdict(self), "shared_mass": self.shared_mass}


def explain_pair(metric: TreeMetric, x: Any, y: Any, words: Sequence[str], *, n_branches: int = 5) -> Explanation:
    """Explain the distance of two documents in words.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    x, y : sparse matrix or array-like of shape (1, n_words)
        One document each: counts or weights, with at least one known word.
    words : sequence of str, length n_words
        The words' names, such as a vectoriser's ``get_feature_names_out()``.
    n_branches : int, default=5
        Most branches to list.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> explanation = explain_pair(metric, [[1, 1, 0]], [[1, 0, 1]], ["cat", "dog", "car"])
    >>> explanation.shared
    (Move(source='cat', target='cat', mass=0.5, cost=0.0),)
    >>> explanation.moves
    (Move(source='dog', target='car', mass=0.5, cost=2.0),)
    >>> explanation.branches[0].words
    ('dog', 'cat')
    """
    if len(words) != metric.n_words:
        raise ValueError(f"Expected one name per word ({metric.n_words}), got {len(words)}.")
    masses: dict[tuple[int, int], float] = {}
    costs: dict[tuple[int, int], float] = {}
    branches: list[BranchCost] = []
    for component in range(metric.n_components):
        plan = transport_plan(metric, x, y, component=component)
        for source, target, mass, cost in zip(
            plan.sources.tolist(), plan.targets.tolist(), plan.masses.tolist(), plan.costs.tolist(), strict=True
        ):
            masses[source, target] = masses.get((source, target), 0.0) + mass / metric.n_components
            costs[source, target] = costs.get((source, target), 0.0) + cost
        branches += branch_costs(metric, x, y, words, component)
    moves = [Move(str(words[s]), str(words[t]), masses[s, t], costs[s, t]) for s, t in masses]
    return Explanation(
        sum(costs.values()),
        tuple(sorted((move for move in moves if move.source == move.target), key=lambda move: -move.mass)),
        tuple(sorted((move for move in moves if move.source != move.target), key=lambda move: -move.cost)),
        tuple(sorted(branches, key=lambda branch: -branch.cost)[:n_branches]),
    )


def branch_costs(metric: TreeMetric, x: Any, y: Any, words: Sequence[str], component: int) -> list[BranchCost]:
    """List what crossing the edge of each internal node costs, where it costs anything; the words' edges aside."""
    tree = metric.component(component)
    rows = [mass_units(metric, row, component) for row in (x, y)]
    on_nodes: NDArray[np.int64] = np.zeros((tree.n_nodes, 2), dtype=np.int64)
    on_words: dict[int, int] = {}
    for side, row in enumerate(rows):
        np.add.at(on_nodes[:, side], tree.word_nodes[row.indices], row.data)
        for word, units in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            on_words[word] = on_words.get(word, 0) + (units if side == 0 else -units)
    below = np.ldexp(tree.subtree_sums(on_nodes).astype(float), -MASS_BITS)
    costs = tree.edge_lengths * abs(below[:, 0] - below[:, 1])
    costs[0] = 0.0
    ranked = sorted(on_words, key=lambda word: (-abs(on_words[word]), word))
    start, stop = tree.subtree_intervals
    places = start[tree.word_nodes]
    return [
        BranchCost(
            node,
            component,
            float(costs[node]),
            (float(below[node, 0]), float(below[node, 1])),
            tuple(str(words[word]) for word in ranked if start[node] <= places[word] < stop[node]),
        )
        for node in np.flatnonzero(costs).tolist()
    ]
