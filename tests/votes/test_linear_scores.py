from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

from treewass.documents import make_documents
from treewass.votes.channels import TermRows, select_rows
from treewass.votes.linear_scores import LinearScores, support_vectors


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
    np.testing.assert_allclose(found, expected, atol=0.04)  # the tolerance of the solver
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


@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_terms_are_counted_twice_with_weights_too(corpus, weight):
    X, codes = corpus
    asked = []

    def counted(rows):
        asked.append(rows)
        return select_rows(X, rows)

    LinearScores(counted, codes, 3, np.full(codes.size, weight)).prepare(np.arange(codes.size))(1.0)
    assert len(asked) == 2


def test_a_weight_of_two_is_a_document_twice_and_one_of_zero_none(corpus):
    X, codes = corpus
    weights = np.random.RandomState(0).randint(0, 3, codes.size).astype(float)
    weighted = LinearScores(partial(select_rows, X), codes, 3, weights).prepare(np.flatnonzero(weights))(1.0)
    repeated = np.repeat(np.arange(codes.size), weights.astype(int))
    twice = LinearScores(partial(select_rows, select_rows(X, repeated)), codes[repeated], 3, np.ones(repeated.size))
    other = twice.prepare(np.arange(repeated.size))(1.0)
    np.testing.assert_array_equal(weighted.columns, other.columns)
    np.testing.assert_array_equal(weighted.factors, other.factors)
    np.testing.assert_allclose(weighted.scores(X), other.scores(X), atol=0.04)  # the tolerance of the solver


@given(
    terms=st.lists(st.sets(st.integers(0, 12), min_size=1), min_size=2, max_size=8),
    weighted=st.booleans(),
    most=st.integers(1, 14),
    at_once=st.integers(1, 5),
)
def test_terms_are_chosen_by_frequency_and_then_by_number(terms, weighted, most, at_once):
    X = TermRows.of([(sorted(row), [1.0] * len(row)) for row in terms])
    weights = np.where(weighted, 0.25 + np.arange(len(terms)) % 3, 1.0)
    frequencies = np.bincount(X.indices, np.repeat(weights, np.diff(X.indptr)), 13)
    by_rank = sorted(np.flatnonzero(frequencies).tolist(), key=lambda term: (-frequencies[term], term))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treewass.votes.linear_scores.MOST_TERMS", most)
        patch.setattr("treewass.votes.linear_scores._ENTRIES", at_once)
        learner = LinearScores(partial(select_rows, X), np.arange(len(terms)) % 2, 2, weights)
        columns, factors = learner._terms(np.arange(len(terms)))
    assert columns.tolist() == sorted(by_rank[:most])
    expected = 1 + np.log((1 + weights.sum()) / (1 + frequencies[columns]))
    np.testing.assert_array_equal(factors, expected.astype(np.float32))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", [0.1, 3.2, 1000.0])
def test_many_passes_reach_the_least_objective(corpus, n_classes, penalty, monkeypatch):
    monkeypatch.setattr("treewass.votes.linear_scores._MOST_PASSES", 3000)
    monkeypatch.setattr("treewass.votes.linear_scores._TOLERANCE", 1e-5)
    X, codes = corpus
    rows = np.flatnonzero(codes < n_classes)
    weighed, codes = csr_array(TfidfTransformer().fit_transform(X[rows]), dtype=np.float32), codes[rows]
    costs = penalty * np.random.RandomState(0).randint(1, 4, codes.size)
    features = weighed.indptr.astype(np.int64), weighed.indices, weighed.data
    weights, intercepts = support_vectors(features, codes, n_classes, weighed.shape[1], costs)
    machine = LinearSVC(tol=1e-8, max_iter=100_000, random_state=0).fit(weighed, codes, sample_weight=costs)
    least = machine.coef_.T, machine.intercept_
    for column in range(intercepts.size):
        signs = np.where(codes == (1 if n_classes == 2 else column), 1, -1)
        found, best = (
            (w[:, column] @ w[:, column] + b[column] ** 2) / 2
            + costs @ np.maximum(0, 1 - signs * (weighed @ w[:, column] + b[column])) ** 2
            for w, b in ((weights.astype(float), intercepts.astype(float)), least)
        )
        assert found <= best * (1 + 1e-4)
        assert best <= found * (1 + 1e-4)


@pytest.mark.parametrize("weight", [0.0, 1e-60])
def test_a_document_of_next_to_no_weight_changes_nothing(corpus, weight):
    X, codes = corpus
    weights = np.ones(codes.size)
    weights[5] = weight
    found = LinearScores(partial(select_rows, X), codes, 3, weights).prepare(np.arange(codes.size))(1.0).scores(X)
    others = np.delete(np.arange(codes.size), 5)
    expected = LinearScores(partial(select_rows, X), codes, 3, np.ones(codes.size)).prepare(others)(1.0).scores(X)
    np.testing.assert_allclose(found, expected, atol=0.04)  # the tolerance of the solver
    full = LinearScores(partial(select_rows, X), codes, 3, np.ones(codes.size)).prepare(np.arange(codes.size))(1.0)
    assert abs(full.scores(X) - expected).max() > 0.04


def test_documents_that_disagree_and_documents_of_no_term_have_finite_scores():
    X = TermRows.of([([0], [1.0]), ([0], [1.0]), ([], []), ([1], [1.0])])
    learner = LinearScores(partial(select_rows, X), np.array([0, 1, 1, 2]), 3, np.ones(4))
    assert np.isfinite(learner.prepare(np.arange(4))(1000.0).scores(X)).all()


def test_the_loop_is_compiled_once_for_any_number_of_classes(corpus):
    from treewass.votes.support_vector_kernels import ascend

    X, codes = corpus
    for n_classes in (2, 3):
        rows = np.flatnonzero(codes < n_classes)
        LinearScores(partial(select_rows, X), codes, n_classes, np.ones(codes.size)).prepare(rows)(1.0)
    assert len(ascend.signatures) == 1
