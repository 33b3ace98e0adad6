"""A metric laid out for the compiled loops: which features each word's mass counts in, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.records import aligned_zeros, describe, record_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.metric import TreeMetric

__all__ = ["MASS_BITS", "METRIC", "ROOM", "WORD", "EmbeddingRoom", "MetricLayout", "make_layout"]

MASS_BITS = 50  # masses are whole numbers of 2**-50; a document's add up to exactly 2**50
# Of each word: its mass factor, the units in its leaf's mass, the lowest node above it (-1 for the root), its leaf.
WORD = np.dtype([("factor", np.float64), ("length", np.float64), ("node", np.int64), ("leaf", np.int64)])
METRIC = record_of("words", "above", "lengths", "n_words", "n_features", "n_components", "longest", "fraction_bits")
ROOM = record_of("masses", "sums", "marks", "touched", "amounts", "n_masses", "n_sums", "n_marks", "n_touched")


@dataclass(frozen=True, eq=False)
class MetricLayout:
    """What the compiled loops need of a metric.

    Parameters
    ----------
    words : ndarray of WORD, shape (n_components, n_words)
        All about each word in one half of a cache line.
    above : ndarray of int32, shape (n_features,)
        For each node the feature of the next one above it, -1 below the root.
    lengths : ndarray of float64, shape (n_features,)
        Units of the embedding in one unit of mass.
    description : ndarray of int64
        As METRIC names it: the addresses of these arrays, then numbers. `longest` is the largest number of features
        that a word has in all trees together.
    """

    words: NDArray[np.void]
    above: NDArray[np.int32]
    lengths: NDArray[np.float64]
    description: NDArray[np.int64]


class EmbeddingRoom:
    """Memory in which a thread embeds one document after the other.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    in_order : bool, default=False
        Whether the nodes of a document come in ascending order, which takes a little longer.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The memory. `sums` and `marks` are zero between documents.
    description : ndarray of int64
        As ROOM names it: the addresses of the arrays, then their sizes.
    """

    def __init__(self, metric: TreeMetric, *, in_order: bool = False) -> None:
        self.arrays: dict[str, NDArray[Any]] = {
            "masses": np.empty(metric.n_words, dtype=np.int64),
            "sums": np.zeros(metric.n_features, dtype=np.int64),
            "marks": np.zeros(metric.n_features // 64 + 1 if in_order else 0, dtype=np.uint64),
            "touched": np.empty(metric.n_features + 1, dtype=np.int32),
            "amounts": np.empty(metric.n_features + 1, dtype=np.float64),
        }
        sizes = {f"n_{name}": self.arrays[name].size for name in ("masses", "sums", "marks", "touched")}
        self.description = describe(ROOM, **self.arrays, **sizes)


def make_layout(metric: TreeMetric) -> MetricLayout:
    """Lay a metric out; `TreeMetric.layout` keeps the result.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> make_layout(TreeMetric(star_tree(3))).words[["node", "leaf"]].tolist()
    [[(-1, 0), (-1, 1), (-1, 2)]]
    """
    above = np.full(metric.n_features, -1, dtype=np.int32)
    lengths = np.empty(metric.n_features)
    words = aligned_zeros((metric.n_components, metric.n_words), WORD)
    longest = np.zeros(metric.n_words, dtype=np.int64)
    first = 0
    for tree, factors, own in zip(metric.trees, metric.scaled_masses, words, strict=True):
        first_leaf, stop = first + tree.n_nodes - 1, first + tree.n_nodes - 1 + tree.n_words
        above[first:first_leaf] = _node_features(tree.parents[1:], first)
        lengths[first:stop] = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        np.ldexp(lengths[first:stop], metric.fraction_bits - MASS_BITS, out=lengths[first:stop])
        own["factor"], own["length"] = factors, lengths[first_leaf:stop]
        own["node"], own["leaf"] = _node_features(tree.word_nodes, first), np.arange(first_leaf, stop)
        longest += tree.depths[tree.word_nodes] + 1
        first = stop
    description = describe(
        METRIC,
        words=words,
        above=above,
        lengths=lengths,
        n_words=metric.n_words,
        n_features=metric.n_features,
        n_components=metric.n_components,
        longest=int(longest.max(initial=0)),
        fraction_bits=metric.fraction_bits,
    )
    return MetricLayout(words, above, lengths, description)


def _node_features(nodes: NDArray[np.int32], first: int) -> NDArray[np.int64]:
    """Return the features of nodes, -1 for the root, which has none."""
    return np.where(nodes > 0, nodes.astype(np.int64) - 1 + first, -1)
