import numpy as np
import pytest

from treewass import TreeIndex, TreeMetric
from treewass.documents import make_documents, to_histograms
from treewass.documents.histograms import fingerprints
from treewass.learners.stw import tree_fitting
from treewass.learners.stw.contrastive_batches import LabelledHistograms
from treewass.trees import perfect_tree


def test_equal_documents_are_held_out_together():
    counts = np.repeat(np.eye(20), 3, axis=0)
    held = tree_fitting.hold_out(LabelledHistograms(to_histograms(counts), np.arange(60) % 2), 0.2, seed=0)
    assert held.sum() == 12
    assert (held.reshape(20, 3).sum(axis=1) % 3 == 0).all()


def held_out(counts, labels, seed, fraction=0.2):
    return tree_fitting.hold_out(LabelledHistograms(to_histograms(counts), labels), fraction, seed)


@pytest.mark.parametrize("n_equal", [15, 60])
def test_many_equal_documents_do_not_end_the_choice(n_equal):
    counts = np.vstack([np.tile(np.eye(121)[0], (n_equal, 1)), np.eye(121)[1 : 121 - n_equal]])
    for seed in range(10):
        held = held_out(counts, np.arange(120) % 2, seed)
        assert 22 <= held.sum() <= 24
        assert held[:n_equal].sum() in (0, n_equal)
        assert n_equal < 24 or not held[0]


def test_every_class_keeps_a_document_to_learn_from():
    labels = np.repeat([0, 1, 2], [56, 3, 1])
    counts = np.eye(60)
    counts[57] = counts[58] = counts[56]  # all of a class, equal
    for seed in range(10):
        held = held_out(counts, labels, seed, fraction=0.5)
        assert held.sum() == 30
        assert set(labels[~held]) == {0, 1, 2}


@pytest.mark.parametrize("seed", range(5))
def test_otherwise_documents_are_held_out_in_their_random_order(seed):
    random = np.random.default_rng(seed)
    counts = np.repeat(np.eye(200), random.integers(1, 4, 200), axis=0)
    held = held_out(counts, random.integers(0, 3, len(counts)), seed)
    groups = np.unique(fingerprints(to_histograms(counts)), return_inverse=True)[1]
    sizes = np.bincount(groups)
    order = np.random.default_rng([seed, 1]).permutation(200)
    assert np.array_equal(held, np.isin(groups, order[np.cumsum(sizes[order]) <= 0.2 * len(counts)]))


@pytest.mark.parametrize("n_documents", [5, 60])
def test_few_documents_are_compared_as_by_an_index(n_documents, monkeypatch):
    X, y = make_documents(n_documents + 9, n_words=30, words_per_document=4, n_classes=3, random_state=0)
    documents = LabelledHistograms(to_histograms(X), y.astype(np.int64))
    some, queries = documents.rows(np.arange(n_documents)), documents.rows(np.arange(n_documents, n_documents + 9))
    metric = TreeMetric(perfect_tree(2, 3).with_words(np.arange(30) % 15))
    index = TreeIndex(metric)
    index.add(some.histograms)
    expected = index.search(queries.histograms, 19)[1]
    for most in (2**24, 0):
        monkeypatch.setattr(tree_fitting, "_FEW", most)
        assert np.array_equal(tree_fitting.nearest_rows(metric, some, queries, None), expected)
