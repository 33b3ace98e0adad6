"""Documents under small random metrics."""

import numpy as np

from treewass import Tree, TreeMetric

WORDS = [f"w{number}" for number in range(9)]


def random_case(seed, n_components):
    random = np.random.default_rng(seed)
    trees = []
    for _ in range(n_components):
        parents = [-1] + [int(random.integers(0, node)) for node in range(1, 6)]
        trees.append(Tree(parents, random.random(6), random.integers(0, 6, 9), random.random(9)))
    documents = random.integers(0, 3, (6, 9)) + np.eye(6, 9)
    return TreeMetric(trees, random.random((n_components, 9)) + 0.1), documents
