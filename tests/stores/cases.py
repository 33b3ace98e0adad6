"""A metric that float32 adds up exactly, documents and queries."""

import numpy as np
import scipy.sparse as sp

from treewass import Tree, TreeMetric
from treewass.trees import perfect_tree

N_WORDS = 40


def random_metric(seed=0, n_words=N_WORDS, masses=None):
    random = np.random.default_rng(seed)
    shape = perfect_tree(3, 2)
    lengths = random.exponential(size=shape.n_nodes), random.exponential(size=n_words)
    nodes = random.integers(0, shape.n_nodes, n_words)
    factors = random.exponential(size=n_words) if masses is None else masses
    return TreeMetric(Tree(shape.parents, lengths[0], nodes, lengths[1]), factors).for_float32()


def random_counts(n_rows, seed=1, n_words=N_WORDS):
    random = np.random.default_rng(seed)
    counts = random.poisson(0.15, (n_rows, n_words))
    counts[np.arange(n_rows), random.integers(0, n_words, n_rows)] += 1
    return sp.csr_array(counts)


METRIC, COUNTS, QUERIES = random_metric(), random_counts(300), random_counts(25, seed=2)
