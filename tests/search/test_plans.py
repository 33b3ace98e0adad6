import numpy as np
import pytest

from tests.search.segment_kinds import KINDS, use_kind
from tests.search.test_index import random_metric
from treewass.documents.histograms import check_counts
from treewass.documents.synthetic import make_documents
from treewass.search.embedded import embedded_documents
from treewass.search.layout import layout_of
from treewass.search.plans import make_plan
from treewass.search.scratch import Scratch
from treewass.search.segments import EMBEDDED, EMBEDDED_BOUNDS, N_EMBEDDED, SEGMENT_SIZE, build_segment


@pytest.fixture
def metric():
    return random_metric(40, seed=0)


def make_segment(metric, n_documents, seed):
    counts, _ = make_documents(n_documents, n_words=40, words_per_document=5, random_state=seed)
    return build_segment(metric, check_counts(counts))


def test_a_plan_of_nothing_describes_metric_and_memory(metric):
    scratch = Scratch(metric.n_words, metric.n_features, 64)
    plan = make_plan(metric, scratch, [])
    assert plan.tolist() == [*layout_of(metric).description, *scratch.description]


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_joins_the_descriptions_of_all_segments(metric, kind, monkeypatch):
    use_kind(monkeypatch, kind)
    segments = [make_segment(metric, 130, 0), make_segment(metric, 70, 1), make_segment(metric, 5, 2)]
    segments[1] = segments[1].without(np.arange(70))  # compiled loops count on it all the same
    scratch = Scratch(metric.n_words, metric.n_features, 64)
    plan = make_plan(metric, scratch, segments)
    head = layout_of(metric).description.size + scratch.description.size
    described = plan[head:].reshape(-1, SEGMENT_SIZE)
    own = [EMBEDDED_BOUNDS, EMBEDDED, N_EMBEDDED]
    for segment, found in zip(segments, described, strict=True):
        assert np.array_equal(np.delete(found, own), np.delete(segment.description, own))
        embedded = embedded_documents(metric, segment)
        if kind in ("wide", "narrow, from words"):
            assert embedded is None
            assert found[own].tolist() == [0, 0, 0]
        else:
            arrays = (embedded.bounds.ctypes.data, embedded.entries.ctypes.data, embedded.entries.size)
            assert found[own].tolist() == list(arrays)
        assert segment.description[own].tolist() == [0, 0, 0]
