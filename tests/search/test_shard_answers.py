"""Merging the answers of shards, and sharing documents out among them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewass import ShardedIndex, TreeIndex, TreeMetric
from treewass.search import Shard
from treewass.search.shard_answers import even_shares, merged, split_by_shard
from treewass.trees import star_tree

METRIC = TreeMetric(star_tree(3))


def index_of(ids, metric=METRIC):
    index = TreeIndex(metric)
    index.add(np.ones((len(ids), metric.n_words)), ids)
    return index


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 30))
def test_shares_level_the_shards(sizes, count):
    shares = even_shares(sizes, count)
    assert sum(shares) == count
    assert min(shares) >= 0
    filled = [size + share for size, share in zip(sizes, shares, strict=True)]
    grown = [size for size, share in zip(filled, shares, strict=True) if share]
    assert max(grown, default=0) - min(filled) <= 1 or not count


@given(st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=4), st.integers(1, 8))
def test_merging_is_sorting_by_distance_and_id(shards, k):
    every = [(float(d), number) for number, d in enumerate(d for shard in shards for d in shard)]
    found, start = [], 0
    for shard in shards:
        own = sorted(every[start : start + len(shard)])[:k]
        found.append((np.array([[d for d, _ in own]]), np.array([[n for _, n in own]], dtype=np.int64)))
        start += len(shard)
    values, ids = merged(found, k, rising=True)
    assert list(zip(values[0].tolist(), ids[0].tolist(), strict=True)) == sorted(every)[:k]


def test_ids_that_no_shard_holds_are_named():
    with pytest.raises(ValueError, match="No document in the index has id 9"):
        split_by_shard(np.array([1, 9]), [np.array([1]), np.array([], dtype=np.int64)])


def test_shards_that_do_not_fit_each_other_are_refused():
    other = TreeMetric(star_tree(3), masses=[1, 2, 3])
    with pytest.raises(ValueError, match="at least one shard"):
        ShardedIndex([])
    with pytest.raises(ValueError, match=r"one metric, but shard\(s\) 1, 2 have another one \(\w{12}…\)"):
        ShardedIndex([index_of([0]), index_of([1], other), index_of([2], other)])
    with pytest.raises(ValueError, match=r"the ids 4, 7 are in several, the first in shards 0 and 2"):
        ShardedIndex([index_of([7, 4, 1]), index_of([2]), index_of([7, 4])])
    with pytest.raises(TypeError, match="got list as shard 1"):
        ShardedIndex([index_of([0]), []])
    with pytest.raises(ValueError, match="n_jobs"):
        ShardedIndex([index_of([0])], n_jobs=0)


class Elsewhere:
    """A shard that is no TreeIndex: it passes on what it is asked, until it is gone."""

    def __init__(self, index):
        self.index, self.is_gone = index, False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.is_gone:
            raise OSError("the shard does not answer")
        return getattr(self.index, name)


def test_shards_may_live_elsewhere():
    here, there = index_of([0, 2]), Elsewhere(index_of([1, 3]))
    assert isinstance(there, Shard)
    index, one = ShardedIndex([here, there], n_jobs=2), index_of(range(4))
    for both in (index, one):
        both.add([[1, 0, 0], [0, 1, 0], [0, 0, 3]])
        both.remove([1, 4])
    query = [[2, 1, 0]]
    for ask in (
        lambda asked: asked.search(query, 4),
        lambda asked: asked.search(query, 4, where=[3, 0]),
        lambda asked: asked.rank(query, 4),
        lambda asked: asked.distances(query),
        lambda asked: asked.within(query, 1.0),
    ):
        for found, expected in zip(ask(index), ask(one), strict=True):
            assert np.array_equal(found, expected)
    with pytest.raises(TypeError, match="elsewhere cannot be taken out"):
        ShardedIndex.from_index(index, 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_shard_that_is_gone_is_an_error_and_never_a_shorter_answer(n_jobs):
    shards = [index_of([0]), Elsewhere(index_of([1])), index_of([2])]
    index = ShardedIndex(shards, n_jobs=n_jobs)
    assert index.search([[1, 0, 0]])[1].size == 3
    shards[1].is_gone = True
    for ask in (index.search, index.rank, index.distances, lambda query: index.within(query, 9.0)):
        with pytest.raises(OSError, match="does not answer"):
            ask([[1, 0, 0]])
    shards[1].is_gone = False
    assert index.search([[1, 0, 0]])[1].size == 3
