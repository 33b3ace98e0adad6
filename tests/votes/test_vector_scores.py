from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from treewass.votes.channels import TermRows, select_rows
from treewass.votes.vector_scores import VectorScores


@st.composite
def documents(draw):
    """Up to twelve documents over six words, one of them without a vector, of two or three classes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_documents, n_classes = draw(st.integers(3, 12)), draw(st.integers(2, 3))
    counts = random.integers(0, 3, (n_documents, 6)) * (random.random((n_documents, 6)) < 0.6)
    codes = np.append(np.arange(n_classes), random.integers(0, n_classes, n_documents))[:n_documents]
    vectors = random.normal(size=(6, 4))
    vectors[2] = 0
    return counts, codes, n_classes, vectors


def rows(counts):
    found = [(np.flatnonzero(row).tolist(), row[row > 0].tolist()) for row in np.asarray(counts)]
    return partial(select_rows, TermRows.of(found))


@given(documents())
def test_scores_are_those_of_logistic_regression_on_mean_vectors(case):
    counts, codes, n_classes, vectors = case
    channel = VectorScores(rows(counts), codes, n_classes, np.ones(codes.size), vectors).prepare(np.arange(codes.size))(
        3.0
    )
    lengths = np.linalg.norm(vectors, axis=1)
    frequency = 1 + np.log((1 + codes.size) / (1 + (counts > 0).sum(axis=0)))
    weights = counts * frequency * (lengths > 0)
    known = weights.sum(axis=1) > 0
    means = weights @ (vectors / np.maximum(lengths, 1e-9)[:, None]) / np.maximum(weights.sum(axis=1), 1e-9)[:, None]
    center = means[known].mean(axis=0) if known.any() else 0.0
    spread = ((means[known] - center) ** 2).sum(axis=1).mean() ** 0.5 if known.any() else 1.0
    features = np.where(known[:, None], (means - center) / (spread or 1.0), 0.0)
    machine = LogisticRegression(C=3.0, max_iter=1000).fit(features, codes)
    expected = machine.decision_function(features)
    if n_classes == 2:
        expected = np.stack([-expected, expected], axis=1) / 2
    found = channel.scores(rows(counts)(np.arange(len(counts))))
    np.testing.assert_allclose(found[known], expected[known], atol=1e-3)
    assert not found[~known].any()


def test_a_class_without_documents_and_words_without_vectors():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    learner = VectorScores(rows(np.eye(3)), np.array([0, 2, 2]), 3, np.ones(3), vectors)
    channel = learner.prepare(np.arange(3))(1.0)
    assert channel.columns.tolist() == [0, 1]
    assert channel.weights[:, 1].tolist() == [-1, -1]
    assert not channel.scores(rows([[0, 0, 1]])(np.arange(1))).any()


def test_weight_is_repetition():
    counts, codes = np.array([[2, 1, 0], [0, 1, 1], [1, 0, 3]]), np.array([0, 1, 1])
    vectors = np.random.default_rng(0).normal(size=(3, 2))
    weighted = VectorScores(rows(counts), codes, 2, np.array([1.0, 3.0, 2.0]), vectors).prepare(np.arange(3))(1.0)
    repeated = np.repeat(np.arange(3), [1, 3, 2])
    plain = VectorScores(rows(counts[repeated]), codes[repeated], 2, np.ones(6), vectors).prepare(np.arange(6))(1.0)
    np.testing.assert_allclose(weighted.weights, plain.weights, atol=1e-4)
    assert weighted.factors == pytest.approx(plain.factors)
