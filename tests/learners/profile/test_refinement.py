import numpy as np
import pytest

from treewass.documents.histograms import check_counts
from treewass.learners.profile.class_profiles import ClassProfiles, ColumnCounts
from treewass.learners.profile.refinement import (
    RefinementSettings,
    _batches,
    _with_words_left_out,
    leave_one_out_documents,
)
from treewass.learners.profile.soft_neighbors import NeighborBatch


def prepare(counts, labels, weights=None):
    counts, labels = check_counts(counts), np.asarray(labels)
    weights = np.ones(labels.size) if weights is None else np.asarray(weights, dtype=float)
    profiles = ClassProfiles(ColumnCounts.of(counts, labels, labels.max() + 1, weights), 5.0)
    return leave_one_out_documents(counts, labels, weights, profiles, floor=0.02)


def test_words_of_no_other_document_vanish_and_documents_without_words_too():
    documents = prepare([[1, 1, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 1])
    assert documents.counts.shape[0] == 2
    assert documents.counts.indices.tolist() == [1, 1]


def test_copies_of_a_class_become_one_and_copies_of_two_classes_share_a_group():
    documents = prepare([[1, 2], [1, 2], [1, 2], [2, 1]], [0, 0, 1, 1])
    assert sorted(documents.weights.tolist()) == [1, 1, 2]
    assert sorted(np.bincount(documents.groups).tolist()) == [1, 2]


def test_order_and_the_writing_of_weights_do_not_matter():
    random = np.random.RandomState(0)
    counts, labels = random.randint(0, 3, (20, 6)), random.randint(0, 2, 20)
    weights = random.randint(1, 4, 20)
    one = prepare(counts, labels, weights)
    order = random.permutation(np.repeat(np.arange(20), weights))
    other = prepare(counts[order], labels[order])
    assert (one.counts != other.counts).nnz == 0
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.weights, other.weights)


def test_dense_counts_are_prepared_as_sparse_ones():
    counts, labels = np.random.RandomState(0).randint(0, 3, (20, 6)).astype(float), np.arange(20) % 2
    sparse = check_counts(counts)
    profiles = ClassProfiles(ColumnCounts.of(sparse, labels, 2, np.ones(20)), 5.0)
    one, other = (leave_one_out_documents(kind, labels, np.ones(20), profiles, floor=0.02) for kind in (sparse, counts))
    assert (one.counts != other.counts).nnz == 0
    assert one.counts.indices.dtype == one.counts.indptr.dtype == np.int32


@pytest.mark.parametrize(("n_classes", "size"), [(3, 50), (100, 50), (40, 1000)])
def test_batches_hold_every_document_once(n_classes, size):
    labels = np.arange(400) % n_classes
    documents = NeighborBatch(check_counts(np.ones((400, 1))), labels, np.arange(400), np.ones(400))
    settings = RefinementSettings(4, 0.02, size, 0.2, 0.001)
    batches = list(_batches(documents, settings, np.random.RandomState(0)))
    assert len(batches) == settings.steps(400)
    assert sorted(np.concatenate(batches).tolist()) == list(range(400))
    with_partner = [np.isin(np.bincount(labels[rows])[labels[rows]], [0, 1], invert=True).mean() for rows in batches]
    assert np.mean(with_partner) > 0.7


def test_no_document_loses_all_its_words():
    counts = check_counts(np.eye(50)[:, np.arange(100) % 50])
    batch = NeighborBatch(counts, np.zeros(50, dtype=int), np.arange(50), np.ones(50))
    thinned = _with_words_left_out(batch, 0.9, np.random.RandomState(0)).counts
    assert (np.diff(thinned.indptr) >= 1).all()
    assert thinned.nnz < counts.nnz
    assert ((counts - thinned).toarray() >= 0).all()
