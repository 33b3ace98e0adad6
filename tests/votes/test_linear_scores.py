from functools import partial

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

from treewass.documents import make_documents
from treewass.votes.channels import TermRows, select_rows
from treewass.votes.linear_scores import LinearScores


@pytest.fixture(scope="module")
def corpus():
    X, y = make_documents(200, n_words=150, words_per_document=20, n_classes=3, random_state=0)
    return X, np.unique(y, return_inverse=True)[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_the_support_vectors(corpus, n_classes):
    X, codes = corpus
    rows = np.flatnonzero(codes < n_classes)
    channel = LinearScores(partial(select_rows, X), codes, n_classes, np.ones(codes.size)).prepare(rows)(3.2)
    weighed = TfidfTransformer(sublinear_tf=True).fit_transform(X[rows])
    machine = LinearSVC(C=3.2, random_state=0).fit(weighed, codes[rows])
    expected = machine.decision_function(weighed)
    found = channel.scores(X[rows])
    if n_classes == 2:
        np.testing.assert_array_equal(found[:, 0], -found[:, 1])
        found = found[:, 1] - found[:, 0]
    np.testing.assert_allclose(found, expected, atol=0.2)  # the tolerance of the solver
    assert channel.weights.dtype == channel.factors.dtype == channel.intercepts.dtype == np.float32


def test_a_class_without_documents_has_the_score_of_no_member(corpus):
    X, codes = corpus
    channel = LinearScores(partial(select_rows, X), codes, 4, np.ones(codes.size)).prepare(np.flatnonzero(codes != 1))(
        1.0
    )
    assert (channel.scores(X)[:, [1, 3]] == -1).all()


def test_the_terms_of_the_most_documents_are_kept(corpus, monkeypatch):
    monkeypatch.setattr("treewass.votes.linear_scores.MOST_TERMS", 10)
    X, codes = corpus
    channel = LinearScores(partial(select_rows, X), codes, 3, np.ones(codes.size)).prepare(np.arange(codes.size))(1.0)
    frequencies = np.diff(X.tocsc().indptr)
    assert channel.columns.size == 10
    assert frequencies[channel.columns].min() >= np.sort(frequencies)[-10]


@pytest.mark.parametrize(("weights", "kept"), [([1.0, 1.0, 1.0], [1, 3, 4, 9]), ([1.0, 3.0, 1.0], [1, 3, 5, 9])])
def test_of_equally_frequent_terms_the_first_are_kept(weights, kept, monkeypatch):
    monkeypatch.setattr("treewass.votes.linear_scores.MOST_TERMS", 4)
    X = TermRows.of([([1, 4, 7], [1, 1, 1]), ([3, 5, 9], [1, 1, 1]), ([3, 9], [1, 2])])
    learner = LinearScores(partial(select_rows, X), np.array([0, 1, 1]), 2, np.array(weights))
    assert learner.prepare(np.arange(3))(1.0).columns.tolist() == kept


def test_a_weight_of_two_is_a_document_twice_and_one_of_zero_none(corpus):
    X, codes = corpus
    weights = np.random.RandomState(0).randint(0, 3, codes.size).astype(float)
    weighted = LinearScores(partial(select_rows, X), codes, 3, weights).prepare(np.flatnonzero(weights))(1.0)
    repeated = np.repeat(np.arange(codes.size), weights.astype(int))
    twice = LinearScores(partial(select_rows, select_rows(X, repeated)), codes[repeated], 3, np.ones(repeated.size))
    other = twice.prepare(np.arange(repeated.size))(1.0)
    np.testing.assert_array_equal(weighted.columns, other.columns)
    np.testing.assert_array_equal(weighted.factors, other.factors)
    np.testing.assert_allclose(weighted.scores(X), other.scores(X), atol=0.2)  # the tolerance of the solver
