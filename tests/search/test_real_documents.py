"""Every query of two sets against the definition of the distance in plain scipy."""

import numpy as np
import pytest

from tests.search import integer_oracle as oracle
from tests.search.segment_kinds import KINDS, assert_kind, use_kind
from treewass import ProfileTreeWasserstein, Tree, TreeIndex, TreeMetric
from treewass.bench.datasets import load_set
from treewass.trees import perfect_tree

pytestmark = [pytest.mark.data, pytest.mark.slow]
K = 19


def make_metric(kind, split):
    if kind == "learned":
        return ProfileTreeWasserstein().fit(split.X_train, split.y_train).metric_
    random = np.random.default_rng(0)
    shape, n_words = perfect_tree(5, 5), split.X_train.shape[1]
    nodes = random.integers(0, shape.n_nodes, n_words)
    if kind == "unit":
        return TreeMetric(shape.with_words(nodes))
    lengths = random.exponential(size=shape.n_nodes), random.exponential(size=n_words)
    return TreeMetric(Tree(shape.parents, lengths[0], nodes, lengths[1]), random.exponential(size=n_words))


def answers(index, queries):
    """What an index answers to all queries at once and to one after the other."""
    alone = [index.search(queries[[row]], K) for row in range(queries.shape[0])]
    return [index.search(queries, K), tuple(np.concatenate(parts) for parts in zip(*alone, strict=True))]


@pytest.mark.parametrize("metric_kind", ["unit", "random", "learned"])
@pytest.mark.parametrize("name", ["twitter", "reuters"])
def test_every_query_is_answered_as_the_oracle_does(name, metric_kind, data_folder, monkeypatch):
    split = load_set(name, data_folder).split(0)
    metric = make_metric(metric_kind, split)
    queries = split.X_test[np.asarray(split.X_test.sum(axis=1)).ravel() > 0]
    ids = np.arange(split.X_train.shape[0])
    half = ids.size // 2
    found = []
    for kind in KINDS:
        with monkeypatch.context() as patch:
            use_kind(patch, kind)
            index, halves = TreeIndex(metric, n_jobs=2), TreeIndex(metric)
            index.add(split.X_train)
            assert_kind(index, kind)
            halves.add(split.X_train[half:], ids=ids[half:])
            halves.add(split.X_train[:half], ids=ids[:half])
            found += [*answers(index, queries), halves.search(queries, K)]
    for row, units in enumerate(oracle.shared_distances(metric, queries, split.X_train)):
        bound = np.partition(units, K - 1)[K - 1]
        inside = np.flatnonzero(units <= bound)
        expected, nearest = oracle.nearest(units[inside], inside, K)
        expected = np.ldexp(expected, -metric.fraction_bits)
        for distances, neighbours in found:
            assert np.array_equal(neighbours[row], nearest)
            assert np.array_equal(distances[row], expected)
