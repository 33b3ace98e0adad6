"""A metric laid out for the compiled loops: which features each word's mass counts in, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MASS_BITS", "MetricLayout", "layout_of"]

MASS_BITS = 50  # masses are whole numbers of 2**-50; a document's add up to exactly 2**50
# Where things stand in a description: addresses of arrays, then numbers.
(
    FACTORS, WORD_BOUNDS, WORD_FEATURES, LENGTHS,
    N_WORDS, N_FEATURES, N_COMPONENTS, N_ENTRIES, LONGEST, FRACTION_BITS, METRIC_SIZE,
) = range(11)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MetricLayout:
    """What the compiled loops need of a metric.

    Parameters
    ----------
    factors : ndarray of float64, shape (n_components * n_words,)
        Mass factors of the words, tree after tree.
    bounds : ndarray of int64, shape (n_components * n_words + 1,)
        Where each word's features begin, tree after tree.
    features : ndarray of int32
        The nodes from each word up to the root, the root left out, and the word itself.
    lengths : ndarray of float64, shape (n_features,)
        Units of the embedding in one unit of mass.
    description : ndarray of int64
        The addresses of these arrays, then numbers of words, features, components and entries of `features`, the
        most features that a word has in all trees together, and the metric's `fraction_bits`.
    features_a_word : ndarray of int64, shape (n_words,)
        Number of features of each word in all trees together.
    """

    factors: NDArray[np.float64]
    bounds: NDArray[np.int64]
    features: NDArray[np.int32]
    lengths: NDArray[np.float64]
    description: NDArray[np.int64]
    features_a_word: NDArray[np.int64]


def layout_of(metric: TreeMetric) -> MetricLayout:
    """Return a metric's layout, made on first use and kept with the metric.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> layout_of(TreeMetric(star_tree(3))).features
    array([0, 1, 2], dtype=int32)
    """
    kept: MetricLayout | None = vars(metric).get("_layout")
    if kept is None:
        kept = vars(metric).setdefault("_layout", _make_layout(metric))
    return kept


def _make_layout(metric: TreeMetric) -> MetricLayout:
    from treewass.search.kernels.views import describe

    features, sizes, lengths, first = [], [], [], 0
    for tree, matrix in zip(metric.trees, metric.word_features, strict=True):
        features.append(matrix.indices + first)
        sizes.append(np.diff(matrix.indptr))
        lengths.append(np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths]))
        first += matrix.shape[1]
    arrays = (
        metric.scaled_masses.ravel(),
        np.concatenate([[0], np.cumsum(np.concatenate(sizes), dtype=np.int64)]).astype(np.int64),
        np.concatenate(features).astype(np.int32),
        np.ldexp(np.concatenate(lengths), metric.fraction_bits - MASS_BITS),
    )
    features_a_word = np.asarray(np.sum(sizes, axis=0, dtype=np.int64))
    longest = int(features_a_word.max(initial=0))
    numbers = (metric.n_words, metric.n_features, metric.n_components, arrays[2].size, longest, metric.fraction_bits)
    return MetricLayout(*arrays, describe(arrays, numbers), features_a_word)
