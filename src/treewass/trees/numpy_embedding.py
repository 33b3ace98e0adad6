"""One document embedded with NumPy alone: the same values as the compiled loops, no start-up time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewass.trees.layout import MASS_BITS
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["embed_document", "has_known_word"]

_WHOLE = 1 << MASS_BITS


def has_known_word(metric: TreeMetric, words: Sequence[int], weights: Sequence[float]) -> bool:
    """Tell whether a document has mass to move, be it only to places without a length.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    words : sequence of int
        The document's words.
    weights : sequence of float
        Their counts.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> metric = TreeMetric(star_tree(2), masses=[1, 0])
    >>> has_known_word(metric, [0, 1], [1.0, 1.0]), has_known_word(metric, [1], [1.0])
    (True, False)
    """
    factors = metric.scaled_masses
    return any(weight * factors[:, word].min() > 0 for word, weight in zip(words, weights, strict=True))


def embed_document(metric: TreeMetric, words: Sequence[int], weights: Sequence[float]) -> dict[int, int]:
    """Embed one document in units of the metric's resolution.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    words : sequence of int
        Ascending.
    weights : sequence of float
        Counts.

    Returns
    -------
    dict of int to int
        The value of each feature that is not zero; empty for a document without a known word, and for one whose words
        all lie at the root.

    Examples
    --------
    >>> from treewass import TreeMetric
    >>> from treewass.trees import star_tree
    >>> embed_document(TreeMetric(star_tree(2), fraction_bits=3), [0, 1], [1.0, 3.0])
    {0: 2, 1: 6}
    """
    embedded: dict[int, int] = {}
    first = 0
    for tree, factors in zip(metric.trees, metric.scaled_masses, strict=True):
        sums: dict[int, int] = {}
        for word, mass in _share_mass(words, [w * float(factors[n]) for n, w in zip(words, weights, strict=True)]):
            node = int(tree.word_nodes[word])
            while node:
                sums[node - 1] = sums.get(node - 1, 0) + mass
                node = int(tree.parents[node])
            sums[tree.n_nodes - 1 + word] = mass
        lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])[list(sums)]
        masses = np.array(list(sums.values()), dtype=np.int64)
        units = np.rint(masses * np.ldexp(lengths, metric.fraction_bits - MASS_BITS)).astype(np.int64).tolist()
        embedded.update({first + feature: value for feature, value in zip(sums, units, strict=True) if value})
        first += tree.n_nodes - 1 + tree.n_words
    return embedded


def _share_mass(words: Sequence[int], weights: list[float]) -> list[tuple[int, int]]:
    """Turn weights into whole masses that add up exactly; what rounding leaves over goes to the heaviest word."""
    total = 0.0
    for weight in weights:  # from left to right, as everywhere
        total += weight
    if total <= 0.0:
        return []
    masses = [round(weight / total * float(_WHOLE)) for weight in weights]
    masses[masses.index(max(masses))] += _WHOLE - sum(masses)
    return [(word, mass) for word, mass in zip(words, masses, strict=True) if mass]
