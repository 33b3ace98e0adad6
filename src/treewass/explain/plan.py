"""The transport plan between two documents: which word's mass goes to which word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.search.embedding import MASS_BITS, mass_units, refuse_empty
from treewass.trees.checks import frozen
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TransportPlan", "transport_plan"]


@dataclass(frozen=True, slots=True, eq=False)
class TransportPlan:
    """An optimal plan along one tree: flows from words of one document to words of another.

    Parameters
    ----------
    sources, targets : ndarray of int64, shape (n_flows,)
        Words that give and receive mass; a word that both documents hold keeps what it can at no cost.
    masses : ndarray of float64, shape (n_flows,)
        Mass moved, as exact multiples of ``2**-50``: they add up to exactly one.
    distances : ndarray of float64, shape (n_flows,)
        Tree distance from source to target.
    meeting_nodes : ndarray of int64, shape (n_flows,)
        The internal node at which the path turns down; the words' own node for mass that stays.
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


def transport_plan(metric: TreeMetric, x: Any, y: Any, *, component: int = 0) -> TransportPlan:
    """Find an optimal transport plan between two documents along a tree.

    Mass is matched as low in the tree as possible, which is optimal for a tree distance. Apart from sorting, the
    time is linear in the number of nodes above the two documents' words.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    x, y : sparse matrix or array-like of shape (1, n_words)
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
    flows = _match(tree, _one_document(metric, x, component, "x"), _one_document(metric, y, component, "y"))
    sources, targets, units, meeting = np.array(sorted(flows), dtype=np.int64).reshape(-1, 4).T
    heights = tree.word_root_distances
    distances = heights[sources] + heights[targets] - 2 * tree.root_distances[meeting]
    distances[sources == targets] = 0.0
    masses = np.ldexp(units.astype(np.float64), -MASS_BITS)
    for array in (sources, targets, masses, distances, meeting):
        frozen(array)
    return TransportPlan(sources, targets, masses, distances, meeting)


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
