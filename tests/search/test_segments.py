import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from tests.search.segment_kinds import use_kind
from tests.search.test_index import random_metric
from treewass import TreeIndex
from treewass.documents.histograms import check_counts
from treewass.documents.synthetic import make_documents
from treewass.search import segments
from treewass.search.segments import build_segment
from treewass.trees.embedding import embed_units


def embedded_documents(metric, segment):
    return segment.embedded.get(metric, segment)


@pytest.fixture
def metric():
    return random_metric(40, seed=0, lengths=True, masses=True, n_trees=2)


@pytest.fixture
def counts():
    return check_counts(make_documents(130, n_words=40, words_per_document=5, random_state=0)[0])


@pytest.mark.parametrize("kind", ["narrow, in pieces", "narrow, many tiles"])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_entries_are_the_embedding(metric, counts, kind, scale, monkeypatch):
    use_kind(monkeypatch, kind)
    bounds, entries = embedded_documents(metric, build_segment(metric, counts * scale))
    expected = embed_units(metric, counts * scale)
    assert np.array_equal(bounds, expected.indptr)
    assert np.array_equal(entries >> 32, expected.indices)
    assert np.array_equal(entries & 0xFFFFFFFF, expected.data)


def test_they_are_kept_with_the_segment_and_when_documents_go(metric, counts, monkeypatch):
    use_kind(monkeypatch, "narrow, in pieces")
    segment = build_segment(metric, counts)
    fewer = segment.without(np.array([5]))
    made = embedded_documents(metric, segment)
    assert embedded_documents(metric, segment) is made
    assert embedded_documents(metric, segment.without(np.array([3, 4]))) is made
    assert embedded_documents(metric, fewer) is made
    assert fewer.n_bytes == segment.n_bytes > sum(array.nbytes for array in made)


def test_an_index_keeps_them_when_documents_go(metric, counts, monkeypatch):
    use_kind(monkeypatch, "narrow, in pieces")
    index = TreeIndex(metric)
    index.add(counts)
    index.search(counts, 3)
    made = embedded_documents(metric, index._snapshot.segments[0])
    index.remove([0, 7])
    assert embedded_documents(metric, index._snapshot.segments[0]) is made
    index.remove(np.arange(20, 120))
    rebuilt = embedded_documents(metric, index._snapshot.segments[0])
    assert rebuilt.bounds.size == 29


def test_they_do_not_travel_with_the_segment(metric, counts, monkeypatch):
    use_kind(monkeypatch, "narrow, in pieces")
    segment = build_segment(metric, counts)
    made = embedded_documents(metric, segment)
    again = pickle.loads(pickle.dumps(segment))
    assert len(pickle.dumps(again)) == len(pickle.dumps(segment))
    assert embedded_documents(metric, again) is not made
    assert np.array_equal(embedded_documents(metric, again).entries, made.entries)


def test_there_are_none_of_wide_segments_nor_of_large_ones(metric, counts, monkeypatch):
    assert embedded_documents(metric, build_segment(metric, counts)) is None
    monkeypatch.setattr(segments, "WIDE_LIMIT", 0)
    segment = build_segment(metric, counts)
    monkeypatch.setattr(segments, "EMBEDDED_LIMIT", 129)
    assert embedded_documents(metric, segment) is None
    monkeypatch.setattr(segments, "EMBEDDED_LIMIT", 130)
    assert embedded_documents(metric, segment) is not None


def test_there_are_none_of_documents_that_a_damaged_file_holds(metric, counts, monkeypatch):
    use_kind(monkeypatch, "narrow, in pieces")
    segment = build_segment(metric, counts)
    segment.words[0] = 40
    assert embedded_documents(metric, segment) is None


def test_threads_that_come_at_once_are_given_the_same(metric, counts, monkeypatch):
    """A plan holds addresses: what one thread searches must not go away because another made it anew."""
    use_kind(monkeypatch, "narrow, in pieces")
    segment = build_segment(metric, counts)
    both, made = threading.Barrier(2), []
    embed_documents = segments._embed_documents

    def embed_together(*arguments):
        with suppress(threading.BrokenBarrierError):  # one after the other is as good
            both.wait(timeout=0.5)
        made.append(embed_documents(*arguments))
        return made[-1]

    monkeypatch.setattr(segments, "_embed_documents", embed_together)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: embedded_documents(metric, segment), range(2))
    assert first is second
    assert len(made) == 1
    assert embedded_documents(metric, segment) is first
