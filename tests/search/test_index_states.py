"""Documents come and go in any order; after every step the index answers as a dictionary would."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.search import integer_oracle as oracle
from tests.search import ranking_oracle
from tests.search.segment_kinds import use_kind
from tests.strategies import documents, metrics
from treewass import ShardedIndex, TreeIndex


class IndexMachine(RuleBasedStateMachine):
    """Drive an index and a dictionary of documents side by side."""

    kind = "wide"

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        use_kind(self.patch, self.kind)

    def teardown(self):
        self.patch.undo()

    @initialize(data=st.data())
    def start(self, data):
        self.metric = data.draw(metrics(max_components=2, max_words=5))
        self.index = self.make_index()
        self.held = {}
        self.next_id = 0

    def make_index(self):
        return TreeIndex(self.metric)

    @rule(data=st.data())
    def add(self, data):
        counts = data.draw(documents(self.metric.n_words, max_rows=6))
        expected = range(self.next_id, self.next_id + len(counts))
        assert self.index.add(counts).tolist() == list(expected)
        self._remember(expected, counts)

    @rule(data=st.data(), numbers=st.lists(st.integers(-20, 60), unique=True, min_size=1, max_size=6))
    def add_with_ids(self, data, numbers):
        counts = data.draw(documents(self.metric.n_words, min_rows=len(numbers), max_rows=len(numbers)))
        if set(numbers) & set(self.held):
            with pytest.raises(ValueError, match="are in the index"):
                self.index.add(counts, ids=numbers)
            return
        self.index.add(counts, ids=numbers)
        self._remember(numbers, counts)

    @rule(data=st.data())
    def remove(self, data):
        if self.held:
            gone = data.draw(st.lists(st.sampled_from(sorted(self.held)), min_size=1, unique=True))
            self.index.remove(gone)
            for number in gone:
                del self.held[number]

    @rule(data=st.data())
    def remove_and_add_again(self, data):
        if self.held:
            number = data.draw(st.sampled_from(sorted(self.held)))
            self.index.remove([number])
            self.index.add([self.held[number]], ids=[number])

    @rule(data=st.data(), k=st.integers(1, 12), n_jobs=st.sampled_from([None, 1, 2]))
    def search(self, data, k, n_jobs):
        queries = data.draw(documents(self.metric.n_words, max_rows=3))
        self.index.n_jobs = n_jobs
        found = self.index.search(queries, k)
        assert found[0].shape == found[1].shape == (len(queries), min(k, len(self.held)))
        if not self.held:
            return
        ids = np.array(sorted(self.held))
        expected = oracle.unit_distances(self.metric, queries, [self.held[number] for number in ids])
        for row, query in enumerate(queries):
            units, nearest = oracle.nearest(expected[row], ids, k)
            alone = self.index.search([query], k)
            for distances, neighbours in ((found[0][row], found[1][row]), (alone[0][0], alone[1][0])):
                assert np.array_equal(neighbours, nearest)
                assert np.array_equal(distances, np.ldexp(units, -self.metric.fraction_bits))
            assert np.array_equal(self.index.distances([query])[1], ids)

    @rule(data=st.data(), k=st.integers(1, 12), n_jobs=st.sampled_from([1, 2]), chosen=st.booleans())
    def rank(self, data, k, n_jobs, chosen):
        queries = data.draw(documents(self.metric.n_words, max_rows=3))
        self.index.n_jobs = n_jobs
        ids = np.array(sorted(self.held), dtype=np.int64)
        where = ids[::2] if chosen else None
        held = np.array([self.held[number] for number in ids]).reshape(ids.size, self.metric.n_words)
        expected = ranking_oracle.rank(self.metric, queries, held, ids, k, among=None if where is None else {*where})
        scores, numbers = self.index.rank(queries, k, where=where)
        for row, hits in enumerate(expected):
            assert scores[row, : len(hits)].tolist() == [score for score, _ in hits]
            assert numbers[row, : len(hits)].tolist() == [number for _, number in hits]
            assert not scores[row, len(hits) :].any()
            assert (numbers[row, len(hits) :] == -1).all()

    @invariant()
    def holds_what_the_dictionary_holds(self):
        if hasattr(self, "held"):
            assert self.index.ids.tolist() == sorted(self.held)
            assert len(self.index) == len(self.held)

    def _remember(self, numbers, counts):
        self.held.update(zip(numbers, counts, strict=True))
        self.next_id = max(self.next_id, max(numbers) + 1)


class NarrowMachine(IndexMachine):
    """The same with values of 16 bits, compared again from embedded documents."""

    kind = "narrow, one tile"


class TilesMachine(IndexMachine):
    """The same with many tiles."""

    kind = "narrow, many tiles"


class ShardsMachine(IndexMachine):
    """The same with documents in three shards."""

    def make_index(self):
        return ShardedIndex([TreeIndex(self.metric) for _ in range(3)])


TestIndex = IndexMachine.TestCase
TestNarrow = NarrowMachine.TestCase
TestTiles = TilesMachine.TestCase
TestShards = ShardsMachine.TestCase
for machine in (TestIndex, TestNarrow, TestTiles, TestShards):
    machine.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
