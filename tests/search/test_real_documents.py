"""Every query of two sets against the definition of the distance in plain scipy."""

import numpy as np
import pytest

from tests.search import integer_oracle as oracle
from treewass import ProfileTreeWasserstein, Tree, TreeIndex, TreeMetric
from treewass.bench.datasets import load_set
from treewass.search import segments
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


@pytest.mark.parametrize("kind", ["unit", "random", "learned"])
@pytest.mark.parametrize("name", ["twitter", "reuters"])
def test_every_query_is_answered_as_the_oracle_does(name, kind, data_folder, monkeypatch):
    split = load_set(name, data_folder).split(0)
    metric = make_metric(kind, split)
    queries = split.X_test[np.asarray(split.X_test.sum(axis=1)).ravel() > 0]
    ids = np.arange(split.X_train.shape[0])
    index = TreeIndex(metric, n_jobs=2)
    index.add(split.X_train)
    monkeypatch.setattr(segments, "WIDE_LIMIT", 0)
    narrow = TreeIndex(metric)
    half = ids.size // 2
    narrow.add(split.X_train[half:], ids=ids[half:])
    narrow.add(split.X_train[:half], ids=ids[:half])
    found, again = index.search(queries, K), narrow.search(queries, K)
    for row, units in enumerate(oracle.shared_distances(metric, queries, split.X_train)):
        bound = np.partition(units, K - 1)[K - 1]
        inside = np.flatnonzero(units <= bound)
        expected, nearest = oracle.nearest(units[inside], inside, K)
        expected = np.ldexp(expected, -metric.fraction_bits)
        alone = index.search(queries[[row]], K)
        for distances, neighbours in (
            (found[0][row], found[1][row]),
            (again[0][row], again[1][row]),
            (alone[0][0], alone[1][0]),
        ):
            assert np.array_equal(neighbours, nearest)
            assert np.array_equal(distances, expected)
