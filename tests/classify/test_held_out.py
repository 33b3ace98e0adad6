import numpy as np

from treewass.classify.held_out import _parts, hold_out
from treewass.documents import make_documents
from treewass.documents.histograms import check_counts
from treewass.learners import bow_metric


def test_equal_documents_are_held_out_together():
    counts = check_counts(np.random.RandomState(0).randint(0, 2, (200, 3)) + np.array([1, 0, 0]))
    rows = [tuple(row) for row in counts.toarray()]
    parts = list(_parts(counts, np.zeros(counts.shape[0], dtype=int), np.ones(counts.shape[0])))
    assert sorted(np.concatenate([queries for queries, _ in parts]).tolist()) == list(range(200))
    for queries, others in parts:
        assert not {rows[row] for row in queries} & {rows[row] for row in others}


def test_every_part_has_its_share_of_each_class():
    counts = check_counts(np.stack([np.arange(1.0, 401.0), np.ones(400)], axis=1))
    labels = (np.arange(400) % 40 == 0).astype(int)
    parts = list(_parts(counts, labels, np.ones(400)))
    assert len(parts) == 3
    assert {labels[queries].sum() for queries, _ in parts} <= {3, 4}


def test_many_documents_are_held_out_only_once():
    counts = check_counts(np.stack([np.arange(1.0, 7001.0), np.ones(7000)], axis=1))
    ((queries, others),) = _parts(counts, np.zeros(counts.shape[0], dtype=int), np.ones(counts.shape[0]))
    assert (queries.size, others.size) == (1750, 3500)


def test_held_out_neighbours_come_from_the_other_documents():
    X, y = make_documents(300, n_words=40, n_classes=2, random_state=0)
    seen = []

    def learn(counts, labels, weights):
        seen.append(counts.shape[0])
        return bow_metric(40)

    held = hold_out(check_counts(X), y, learn, 5)
    assert held.labels.shape == held.distances.shape == (300, 5)
    assert len(seen) == 3
    assert sum(seen) == 600
    assert len(held.parts) == 3
    few = hold_out(check_counts(X[:60]), y[:60], learn, 5)
    assert (few.truth.size, len(few.parts)) == (60, 10)


def test_copies_of_one_document_are_never_held_out_from_each_other():
    held = hold_out(check_counts(np.ones((30, 2))), np.arange(30) % 2, lambda *_: bow_metric(2), 5)
    assert held.truth.shape == (0,)
    assert held.labels.shape == held.distances.shape == (0, 5)


def test_nothing_is_held_out_where_most_documents_are_the_only_ones_of_their_class():
    X, _ = make_documents(24, n_words=40, n_classes=2, random_state=0)
    for n_alone, n_queries in ((12, 24), (13, 0)):
        labels = np.maximum(np.arange(24) - (24 - n_alone), -1) + 1
        assert hold_out(check_counts(X), labels, lambda *_: bow_metric(40), 3).truth.size == n_queries


def test_nothing_is_learned_from_documents_of_one_class():
    X, _ = make_documents(30, n_words=40, n_classes=2, random_state=0)
    labels = np.zeros(30, dtype=np.intp)
    labels[0] = 1
    seen = []

    def learn(counts, known, weights):
        seen.append(np.unique(known).size)
        return bow_metric(40)

    held = hold_out(check_counts(X), labels, learn, 5)
    assert seen == [2] * 9
    assert held.truth.tolist() == [0] * held.truth.size
