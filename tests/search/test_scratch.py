import numpy as np
import pytest

from tests.search.segment_kinds import KINDS, use_kind
from tests.search.test_index import random_metric
from treewass import TreeIndex
from treewass.documents.histograms import check_counts
from treewass.documents.synthetic import make_documents
from treewass.search import scratch as plans
from treewass.search.scratch import SCRATCH, Scratch, make_plan
from treewass.search.segments import SEGMENT, WEIGHT_KINDS, build_segment
from treewass.trees.layout import METRIC, ROOM


@pytest.fixture
def metric():
    return random_metric(40, seed=0)


def make_segment(metric, n_documents, seed):
    counts, _ = make_documents(n_documents, n_words=40, words_per_document=5, random_state=seed)
    return build_segment(metric, check_counts(counts))


def head_size():
    return len(METRIC.names) + len(ROOM.names) + len(SCRATCH.names)


def test_a_plan_of_nothing_describes_metric_and_memory(metric):
    scratch = Scratch(metric, 64)
    plan = make_plan(metric, scratch, [])
    assert plan.tolist() == [*metric.layout.description, *scratch.description]
    assert plan.size == head_size()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_joins_the_descriptions_of_all_segments(metric, kind, monkeypatch):
    use_kind(monkeypatch, kind)
    segments = [make_segment(metric, 130, 0), make_segment(metric, 70, 1), make_segment(metric, 5, 2)]
    segments[1] = segments[1].without(np.arange(70))  # compiled loops count on it all the same
    plan = make_plan(metric, Scratch(metric, 64), segments)
    described = plan[head_size() :].view(SEGMENT)
    for segment, found in zip(segments, described, strict=True):
        for name in (
            "ids",
            "norms",
            "directory",
            "tiles",
            "starts",
            "dense",
            "postings",
            "document_bounds",
            "words",
            "weights",
        ):
            assert found[name] == getattr(segment, name).ctypes.data
        assert (found["n_tiles"], found["n_rows"], found["tile"]) == segment.dense.shape
        assert found["shift"] == segment.shift
        sizes = [found[name] for name in ("n_documents", "n_postings", "n_directory", "n_weights", "n_places")]
        assert sizes == [
            a.size for a in (segment.ids, segment.postings, segment.directory, segment.weights, segment.tiles)
        ]
        assert WEIGHT_KINDS[found["weight_kind"]] == segment.weights.dtype.name


def test_memory_is_as_large_as_its_description_says(metric):
    scratch = Scratch(metric, 100)
    (described,) = scratch.description[len(ROOM.names) :].view(SCRATCH)
    for name, array in scratch.arrays.items():
        assert described[name] == array.ctypes.data
    sizes = {name: array.size for name, array in scratch.arrays.items()}
    assert described["tile"] == scratch.tile == 128
    assert sizes["keys"] >= described["tile"]
    for name in ("query", "rows", "row_values", "lists", "list_values"):
        assert sizes[name] == described["room"]
    assert described["room"] >= metric.n_features + 8
    assert sizes["sums"] == described["places"] == 8192
    assert (sizes["classes"], sizes["found"], sizes["ranked"]) == (plans.CLASSES, plans.FOUND_ROOM, plans.FOUND_ROOM)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_writes_to_no_memory_but_its_own(metric, kind, monkeypatch):
    """Each array lies between two others that must stay as they are."""
    use_kind(monkeypatch, kind)
    made = []

    def guarded(array):
        room = np.full(array.nbytes + 2 * 4096, 171, np.uint8)
        middle = room[4096:-4096].view(array.dtype)
        middle[:] = array
        made.append(room)
        return middle

    describe = plans.describe
    monkeypatch.setattr(
        plans, "describe",
        lambda kind, **fields: describe(
            kind, **{name: guarded(one) if isinstance(one, np.ndarray) else one for name, one in fields.items()}
        ),
    )  # fmt: skip
    index = TreeIndex(metric)
    counts, _ = make_documents(330, n_words=40, words_per_document=5, random_state=0)
    index.add(counts[:300])
    for k in (1, 19, 40, 64, 65, 300):
        index.search(counts[300:], k)
        index.search(counts[[300]], k)
    assert len(made) == len(SCRATCH.names) - 3
    for room in made:
        assert (room[:4096] == 171).all()
        assert (room[-4096:] == 171).all()
