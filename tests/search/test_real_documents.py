"""Every query of two sets against the definition of the distance in plain scipy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.search import integer_oracle as oracle
from tests.search import ranking_oracle
from tests.search.segment_kinds import KINDS, assert_kind, use_kind
from treewass import ProfileTreeWasserstein, Tree, TreeIndex, TreeMetric
from treewass.trees import perfect_tree
from treewass_bench.datasets import load_set

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


@pytest.mark.parametrize("name", ["twitter", "reuters"])
def test_every_query_is_ranked_as_the_oracle_does(name, data_folder):
    split = load_set(name, data_folder).split(0)
    metric, queries = make_metric("learned", split), csr_array(split.X_test)
    counts = csr_array(split.X_train)
    gone, late = np.arange(0, counts.shape[0], 7), np.arange(3, counts.shape[0], 5)
    kept = np.setdiff1d(np.arange(counts.shape[0]), gone)
    whole, changed = TreeIndex(metric, n_jobs=2), TreeIndex(metric)
    whole.add(counts)
    early = np.setdiff1d(np.arange(counts.shape[0]), late)
    changed.add(counts[early], ids=early)
    changed.add(counts[late], ids=late)
    changed.remove(gone)
    for index, ids in ((whole, np.arange(counts.shape[0])), (changed, kept)):
        answers = [index.rank(queries, K)]
        index.n_jobs = 3 - (index.n_jobs or 1)
        answers.append(index.rank(queries, K))
        for row, units in enumerate(ranking_oracle.scores_of_large(metric, queries, counts[ids])):
            order = np.lexsort((ids, -units))[:K]
            hits = order[units[order] > 0]
            for scores, found in answers:
                assert np.array_equal(scores[row][: hits.size], np.ldexp(units[hits], -30))
                assert np.array_equal(found[row][: hits.size], ids[hits])
                assert not scores[row][hits.size :].any()
