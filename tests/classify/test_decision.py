import numpy as np
import pytest

from treewass import TreeWassersteinClassifier
from treewass.classify.decision import VOTES, NeighborVote
from treewass.documents import make_documents


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("calibrate", [True, False])
def test_a_vote_is_all_that_the_classifier_needs(vote, calibrate):
    X, y = make_documents(120, n_words=200, words_per_document=15, n_classes=3, random_state=0)
    classifier = TreeWassersteinClassifier("tfidf", n_neighbors=5, vote=vote, calibrate=calibrate).fit(X[:90], y[:90])
    distances, rows = classifier.kneighbors(X[90:])
    probabilities = classifier.neighbor_vote_.probabilities(np.searchsorted(classifier.classes_, y[rows]), distances)
    np.testing.assert_array_equal(probabilities, classifier.predict_proba(X[90:]))
    assert classifier.learner_ is None


def test_without_neighbours_the_class_shares_answer():
    vote = NeighborVote("distance", 3, np.array([0.25, 0.75]), 1.0)
    empty = np.zeros((2, 0))
    np.testing.assert_array_equal(vote.probabilities(empty.astype(int), empty), [[0.25, 0.75]] * 2)
