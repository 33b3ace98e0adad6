"""A metric laid out for the compiled loops: which features each word's mass counts in, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.search.alignment import aligned_zeros
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MASS_BITS", "RECORD", "MetricLayout", "layout_of"]

MASS_BITS = 50  # masses are whole numbers of 2**-50; a document's add up to exactly 2**50
RECORD = 4  # numbers a word: its mass factor, the units in its leaf's mass, the lowest node above it, its leaf
# Where things stand in a description: addresses of arrays, then numbers.
(
    RECORDS, ABOVE, LENGTHS, N_WORDS, N_FEATURES, N_COMPONENTS, LONGEST, FRACTION_BITS, METRIC_SIZE,
) = range(9)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MetricLayout:
    """What the compiled loops need of a metric.

    Parameters
    ----------
    records : ndarray of int64, shape (n_components * n_words * RECORD,)
        All about each word, tree after tree, so that one cache line holds it: its mass factor and the units of the
        embedding in one unit of its leaf's mass, both as the bits of a float64; the feature of the lowest node above
        it, -1 below the root; the feature of its leaf.
    above : ndarray of int32, shape (n_features,)
        For each node the feature of the next one above it, -1 below the root.
    lengths : ndarray of float64, shape (n_features,)
        Units of the embedding in one unit of mass.
    description : ndarray of int64
        The addresses of these arrays, then numbers of words, features and components, the most features that a word
        has in all trees together, and the metric's `fraction_bits`.
    """

    records: NDArray[np.int64]
    above: NDArray[np.int32]
    lengths: NDArray[np.float64]
    description: NDArray[np.int64]


def layout_of(metric: TreeMetric) -> MetricLayout:
    """Return a metric's layout, made on first use and kept with the metric.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> layout_of(TreeMetric(star_tree(3))).records.reshape(3, 4)[:, 2:]
    array([[-1,  0],
           [-1,  1],
           [-1,  2]])
    """
    kept: MetricLayout | None = vars(metric).get("_layout")
    if kept is None:
        kept = vars(metric).setdefault("_layout", _make_layout(metric))
    return kept


def _make_layout(metric: TreeMetric) -> MetricLayout:
    from treewass.search.kernels.views import describe

    above = np.full(metric.n_features, -1, dtype=np.int32)
    lengths = np.empty(metric.n_features)
    records = aligned_zeros((metric.n_components, metric.n_words, RECORD), np.int64)
    longest = np.zeros(metric.n_words, dtype=np.int64)
    first = 0
    for tree, factors, record in zip(metric.trees, metric.scaled_masses, records, strict=True):
        first_leaf, stop = first + tree.n_nodes - 1, first + tree.n_nodes - 1 + tree.n_words
        above[first:first_leaf] = _node_features(tree.parents[1:], first)
        lengths[first:stop] = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        np.ldexp(lengths[first:stop], metric.fraction_bits - MASS_BITS, out=lengths[first:stop])
        record[:, 0] = factors.view(np.int64)
        record[:, 1] = lengths[first_leaf:stop].view(np.int64)
        record[:, 2] = _node_features(tree.word_nodes, first)
        record[:, 3] = np.arange(first_leaf, stop)
        longest += tree.depths[tree.word_nodes] + 1
        first = stop
    arrays = (records.ravel(), above, lengths)
    numbers = (
        metric.n_words,
        metric.n_features,
        metric.n_components,
        int(longest.max(initial=0)),
        metric.fraction_bits,
    )
    return MetricLayout(*arrays, describe(arrays, numbers))


def _node_features(nodes: NDArray[np.int32], first: int) -> NDArray[np.int64]:
    """Return the features of nodes, -1 for the root, which has none."""
    return np.where(nodes > 0, nodes.astype(np.int64) - 1 + first, -1)
