"""Slow, obvious forms of what the library computes fast."""

import numpy as np


def tree_distance(tree, first, second):
    """Walk from both words to the root and add up the edges that only one of the paths has."""
    if first == second:
        return 0.0

    def edges(word):
        node, path = int(tree.word_nodes[word]), {("word", word): tree.leaf_lengths[word]}
        while node != 0:
            path[("node", node)] = tree.edge_lengths[node]
            node = int(tree.parents[node])
        return path

    one, other = edges(first), edges(second)
    return sum(length for edge, length in (one | other).items() if (edge in one) != (edge in other))


def tree_distances(tree):
    words = range(tree.n_words)
    return np.array([[tree_distance(tree, first, second) for second in words] for first in words])


def histogram(masses, counts):
    weights = np.asarray(masses, dtype=float) * np.asarray(counts, dtype=float)
    return weights / weights.sum()


def linear_program(metric, x, y):
    """The optimal transport cost by POT's network simplex, summed over the metric's trees."""
    import ot

    return sum(
        ot.emd2(histogram(masses, x), histogram(masses, y), tree_distances(tree))
        for tree, masses in zip(metric.trees, metric.masses, strict=True)
    )


def equation_one(metric, x, y):
    """Sum over all nodes but the root of edge length times difference of subtree mass, word for word."""
    total = 0.0
    for tree, masses in zip(metric.trees, metric.masses, strict=True):
        difference = histogram(masses, x) - histogram(masses, y)
        for node in range(1, tree.n_nodes):
            below = [word for word in range(tree.n_words) if node in tree.path(int(tree.word_nodes[word]))]
            total += tree.edge_lengths[node] * abs(sum(difference[word] for word in below))
        total += sum(tree.leaf_lengths * abs(difference))
    return total
