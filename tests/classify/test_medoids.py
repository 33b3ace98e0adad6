import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import documents, metrics
from treewass import EmptyDocumentWarning, ProfileTreeWasserstein, QuadtreeWasserstein
from treewass.classify import TreeKMedoids
from treewass.documents.synthetic import make_documents


@given(metrics(max_words=4), st.data())
@settings(max_examples=20)
def test_one_medoid_is_the_document_of_least_total_distance(metric, data):
    X = data.draw(documents(metric.n_words, max_rows=6))
    model = TreeKMedoids(1, metric=metric).fit(X)
    totals = metric.pairwise(X).sum(axis=0)
    assert totals[model.medoid_indices_[0]] == totals.min() == model.inertia_


def test_clusters_are_the_best_of_all_on_a_small_set():
    X, _ = make_documents(14, n_words=20, words_per_document=6, n_classes=3, random_state=0)
    model = TreeKMedoids(3, metric="bow", n_init=30).fit(X)
    distances = model.metric_.pairwise(X)
    best = min(distances[:, list(rows)].min(axis=1).sum() for rows in combinations(range(14), 3))
    assert model.inertia_ == pytest.approx(best)
    assert np.array_equal(model.labels_, distances[:, model.medoid_indices_].argmin(axis=1))
    assert np.array_equal(model.predict(X), model.labels_)


def test_labels_are_found_again_and_unknown_documents_are_apart():
    X, y = make_documents(60, n_words=90, words_per_document=25, n_classes=2, random_state=1)
    with_empty = np.vstack([np.asarray(X.todense()), np.zeros((1, 90))])
    with pytest.warns(EmptyDocumentWarning, match="cluster -1"):
        model = TreeKMedoids(2, metric=QuadtreeWasserstein(n_dimensions=4)).fit(with_empty)
    assert model.labels_[-1] == -1
    agreement = np.mean(model.labels_[:-1] == y)
    assert max(agreement, 1 - agreement) > 0.8
    learned = ProfileTreeWasserstein().fit(X, y).metric_
    assert len(set(TreeKMedoids(2, metric=learned).fit(X).labels_[y == 0])) == 1


def test_fewer_documents_than_clusters_and_metrics_that_need_labels():
    assert TreeKMedoids(3, metric="bow").fit([[1, 0], [0, 1], [2, 0]]).medoid_indices_.size == 2
    with pytest.raises(ValueError, match=r"n_samples=3, got n_clusters=5\. Lower n_clusters"):
        TreeKMedoids(5, metric="bow").fit([[1, 0], [0, 1], [2, 0]])
    for metric in (None, "profile", "stw", ProfileTreeWasserstein()):
        with pytest.raises(ValueError, match=re.escape(f"needs no labels, such as 'tfidf', got {metric!r}.")):
            TreeKMedoids(2, metric=metric).fit([[1, 0], [0, 1]])


def test_topics_need_no_labels():
    X, _ = make_documents(20, n_words=30, words_per_document=6, n_classes=2, random_state=0)
    assert set(TreeKMedoids(2, metric="topics").fit(X).labels_) == {0, 1}
