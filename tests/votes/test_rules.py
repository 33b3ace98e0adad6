from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treewass import TreeWassersteinClassifier
from treewass.documents import make_documents
from treewass.votes.rules import VOTES, NeighborVote, distance_vote, fallback_vote, majority_vote, vote_temperature

labels_of_neighbours = hnp.arrays(
    np.intp, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 3)
)


def literal_fallback(labels):
    """The rule as DESIGN states it, one document at a time."""
    k = len(labels)
    while True:
        label, count = Counter(labels[:k]).most_common(1)[0]
        if count > k / 2:
            return label
        k = max(k - 2, 1)


@given(labels_of_neighbours)
def test_fallback_is_the_papers_rule(labels):
    shares = fallback_vote(labels, 4)
    assert shares.argmax(axis=1).tolist() == [literal_fallback(row.tolist()) for row in labels]
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@given(labels_of_neighbours)
def test_majority_counts(labels):
    expected = [[Counter(row.tolist())[label] / len(row) for label in range(4)] for row in labels]
    np.testing.assert_allclose(majority_vote(labels, 4), expected)


@given(labels_of_neighbours, st.floats(0.01, 100))
def test_distance_vote_weighs_by_the_distance_beyond_the_nearest(labels, temperature):
    distances = np.sort(np.random.default_rng(0).random(labels.shape), axis=1)
    weights = np.exp((distances[:, :1] - distances) / temperature)
    expected = np.stack([np.where(labels == label, weights, 0).sum(axis=1) for label in range(4)], axis=1)
    shares = distance_vote(labels, distances, 4, temperature)
    np.testing.assert_allclose(shares, expected / weights.sum(axis=1, keepdims=True))


@given(labels_of_neighbours)
def test_equal_distances_make_it_a_majority(labels):
    shares = distance_vote(labels, np.full(labels.shape, 3.0), 4, temperature=1e-8)
    np.testing.assert_allclose(shares, majority_vote(labels, 4))


def test_the_nearest_decides_where_all_others_are_far():
    distances = np.array([[0.0, 1e6, 1e6]])
    assert distance_vote(np.array([[2, 1, 1]]), distances, 3, 1e-8).tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(("distances", "expected"), [([[1.0, 3.0]], 1.0), ([[2.0, 2.0]], 0.5), (np.ones((3, 0)), 0.5)])
def test_temperature_is_never_below_the_resolution(distances, expected):
    assert vote_temperature(np.asarray(distances), resolution=0.5) == expected


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("calibrate", [True, False])
def test_a_vote_is_all_that_the_classifier_needs(vote, calibrate):
    X, y = make_documents(120, n_words=200, words_per_document=15, n_classes=3, random_state=0)
    classifier = TreeWassersteinClassifier("tfidf", n_neighbors=5, vote=vote, calibrate=calibrate).fit(X[:90], y[:90])
    distances, rows = classifier.kneighbors(X[90:])
    codes, scores = (
        np.searchsorted(classifier.classes_, y[rows]),
        [c.scores(X[90:]) for c in classifier.channels_.values()],
    )
    probabilities = classifier.neighbor_vote_.probabilities(codes, distances, scores)
    np.testing.assert_array_equal(probabilities, classifier.predict_proba(X[90:]))
    assert classifier.learner_ is None


def test_without_neighbours_the_class_shares_answer():
    vote = NeighborVote("distance", 3, np.array([0.25, 0.75]), 1.0)
    empty = np.zeros((2, 0))
    np.testing.assert_array_equal(vote.probabilities(empty.astype(int), empty), [[0.25, 0.75]] * 2)
