"""Why two documents are near or far: the plan that moves one onto the other, and what it says in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.trees.checks import frozen
from treewass.trees.embedding import MASS_BITS, mass_units, refuse_empty
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BranchCost", "Explanation", "Move", "TransportPlan", "branch_costs", "explain_pair", "transport_plan"]

_MOST_SHOWN = 12  # moves on a card


@dataclass(frozen=True, slots=True, eq=False)
class TransportPlan:
    """An optimal plan along one tree: flows from words of one document to words of another.

    Parameters
    ----------
    sources, targets : ndarray of int64, shape (n_flows,)
        Words that give and receive mass. A word that both documents hold keeps what it can at no cost.
    masses : ndarray of float64, shape (n_flows,)
        Mass moved, as exact multiples of ``2**-50``: they add up to exactly one.
    distances : ndarray of float64, shape (n_flows,)
        Tree distance from source to target.
    meeting_nodes : ndarray of int64, shape (n_flows,)
        The internal node at which the path turns down. For mass that stays, the word's own node.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    masses: NDArray[np.float64]
    distances: NDArray[np.float64]
    meeting_nodes: NDArray[np.int64]

    def __len__(self) -> int:
        return self.masses.size

    @property
    def costs(self) -> NDArray[np.float64]:
        """Mass times distance of each flow, shape (n_flows,)."""
        return self.masses * self.distances

    @property
    def cost(self) -> float:
        """The tree-Wasserstein distance along this tree, before fixed point."""
        return float(self.costs.sum())


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
        The branches whose edges cost most; of branches within each other that hold the same words of the two
        documents, the one that costs most.
    """

    distance: float
    shared: tuple[Move, ...]
    moves: tuple[Move, ...]
    branches: tuple[BranchCost, ...]

    @property
    def shared_mass(self) -> float:
        """The mass that stays where it is, from 0 to 1."""
        return sum(move.mass for move in self.shared)

    def share(self, parts: Iterable[Move | BranchCost]) -> float:
        """Return what the costs of some moves, or of some branches, are of the distance, from 0 to 1."""
        return sum(part.cost for part in parts) / self.distance if self.distance else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as what JSON can hold."""
        return {**asdict(self), "shared_mass": self.shared_mass}

    def _repr_html_(self) -> str:
        """Return a card for a notebook."""
        from treewass.cards.rendering import card

        return card("comparison", found=self, most=_MOST_SHOWN)


def transport_plan(metric: TreeMetric, first: Any, second: Any, *, component: int = 0) -> TransportPlan:
    """Find an optimal transport plan between two documents along a tree.

    Mass is matched as low in the tree as possible, which is optimal for a tree distance. Apart from sorting, the
    time is linear in the number of nodes above the two documents' words.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    first, second : sparse matrix or array-like of shape (1, n_words)
        One document each: counts or weights.
    component : int, default=0
        The tree to move along. The costs over all components add up to the distance.

    Returns
    -------
    TransportPlan
        Flows in the order of source, then target.

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> plan = transport_plan(metric, [[1, 1, 0]], [[1, 0, 1]])
    >>> list(zip(plan.sources.tolist(), plan.targets.tolist(), plan.masses.tolist()))
    [(0, 0, 0.5), (1, 2, 0.5)]
    >>> plan.cost
    2.0
    """
    tree = metric.component(component)
    giving = _one_document(metric, first, component, "first")
    flows = _match(tree, giving, _one_document(metric, second, component, "second"))
    sources, targets, units, meeting = np.array(sorted(flows), dtype=np.int64).reshape(-1, 4).T
    heights = tree.word_root_distances
    distances = heights[sources] + heights[targets] - 2 * tree.root_distances[meeting]
    distances[sources == targets] = 0.0
    masses = np.ldexp(units.astype(np.float64), -MASS_BITS)
    for array in (sources, targets, masses, distances, meeting):
        frozen(array)
    return TransportPlan(sources, targets, masses, distances, meeting)


def explain_pair(
    metric: TreeMetric, first: Any, second: Any, words: Sequence[str], *, n_branches: int = 5
) -> Explanation:
    """Explain the distance of two documents in words.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    first, second : sparse matrix or array-like of shape (1, n_words)
        One document each: counts or weights, with at least one known word.
    words : sequence of str, length n_words
        The words' names, such as a vectoriser's ``get_feature_names_out()``. Two words may have the same name.
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
        plan = transport_plan(metric, first, second, component=component)
        for source, target, mass, cost in zip(
            plan.sources.tolist(), plan.targets.tolist(), plan.masses.tolist(), plan.costs.tolist(), strict=True
        ):
            masses[source, target] = masses.get((source, target), 0.0) + mass / metric.n_components
            costs[source, target] = costs.get((source, target), 0.0) + cost
        branches += branch_costs(metric, first, second, words, component)
    moves = {(s, t): Move(str(words[s]), str(words[t]), masses[s, t], costs[s, t]) for s, t in masses}
    return Explanation(
        sum(costs.values()),
        tuple(sorted((move for (s, t), move in moves.items() if s == t), key=lambda move: -move.mass)),
        tuple(sorted((move for (s, t), move in moves.items() if s != t), key=lambda move: -move.cost)),
        tuple(_without_repeats(sorted(branches, key=lambda branch: -branch.cost))[:n_branches]),
    )


def _without_repeats(branches: list[BranchCost]) -> list[BranchCost]:
    """Keep the first of branches that hold the same words of the two documents: they lie within each other."""
    first: dict[tuple[object, ...], BranchCost] = {}
    for branch in branches:
        first.setdefault((branch.component, branch.words, branch.masses), branch)
    return list(first.values())


def branch_costs(metric: TreeMetric, first: Any, second: Any, words: Sequence[str], component: int) -> list[BranchCost]:
    """List the internal nodes whose edge mass has to cross, with the cost; the edges of the words are left out."""
    tree = metric.component(component)
    rows = [mass_units(metric, row, component) for row in (first, second)]
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


def _one_document(metric: TreeMetric, row: Any, component: int, name: str) -> dict[int, int]:
    """Return the mass of one document by word, in whole units."""
    masses = mass_units(metric, row, component)
    if masses.shape[0] != 1:
        raise ValueError(f"Expected {name} to be one document, of shape (1, n_words), got {masses.shape[0]} rows.")
    refuse_empty(masses, name)
    return dict(zip(masses.indices.tolist(), masses.data.tolist(), strict=True))


def _match(tree: Tree, giving: dict[int, int], taking: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """Match mass bottom up; return (source, target, units, meeting node)."""
    flows = []
    surplus: dict[int, list[tuple[int, int]]] = {}
    demand: dict[int, list[tuple[int, int]]] = {}
    for word in sorted(giving.keys() | taking.keys()):
        node, given, taken = int(tree.word_nodes[word]), giving.get(word, 0), taking.get(word, 0)
        if stays := min(given, taken):
            flows.append((word, word, stays, node))
        if given != taken:
            waiting = surplus if given > taken else demand
            waiting.setdefault(node, []).append((word, abs(given - taken)))
    for node in _nodes_bottom_up(tree, surplus.keys() | demand.keys()):
        sources, targets = surplus.pop(node, []), demand.pop(node, [])
        flows += [(source, target, units, node) for source, target, units in _pair_off(sources, targets)]
        parent = int(tree.parents[node])
        for left, waiting in ((sources, surplus), (targets, demand)):
            if left:  # never at the root, where the two documents' masses are equal
                waiting[parent] = _joined(left, waiting.get(parent, []))
    return flows


def _nodes_bottom_up(tree: Tree, nodes: set[int]) -> list[int]:
    """Return the nodes and all that lie above them, children before parents."""
    above: set[int] = set()
    for node in nodes:
        while node not in above:
            above.add(node)
            if node == 0:
                break
            node = int(tree.parents[node])
    return sorted(above, reverse=True)


def _pair_off(sources: list[tuple[int, int]], targets: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Move as much as possible from sources to targets; what is left stays in the two lists."""
    flows = []
    while sources and targets:
        source, given = sources.pop()
        target, taken = targets.pop()
        moved = min(given, taken)
        flows.append((source, target, moved))
        if given > moved:
            sources.append((source, given - moved))
        if taken > moved:
            targets.append((target, taken - moved))
    return flows


def _joined(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Append the shorter list to the longer one."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    longer.extend(shorter)
    return longer
