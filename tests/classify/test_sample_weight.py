import numpy as np
import pytest

from treewass import ProfileTreeWasserstein, TreeWassersteinClassifier
from treewass.documents import make_documents
from treewass.learners import QuadtreeWasserstein

X, y = make_documents(120, n_words=150, words_per_document=15, n_classes=3, random_state=0)
WEIGHTS = np.random.RandomState(0).randint(0, 4, 80).astype(float)
REPEATED = np.repeat(np.arange(80), WEIGHTS.astype(int))


@pytest.mark.parametrize(
    "settings",
    [
        {"linear": False},
        {"metric": "bow", "linear": False},
        {"metric": "tfidf", "calibrate": False},
        {"metric": "tfidf", "vote": "fallback"},
        {"metric": ProfileTreeWasserstein(refine=False), "vote": "majority", "n_neighbors": 4},
    ],
    ids=str,
)
def test_weight_is_repetition(settings):
    weighted = TreeWassersteinClassifier(**settings).fit(X[:80], y[:80], sample_weight=WEIGHTS)
    repeated = TreeWassersteinClassifier(**settings).fit(X[:80][REPEATED], y[:80][REPEATED])
    assert weighted.temperature_ == pytest.approx(repeated.temperature_, rel=1e-9)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_)
    np.testing.assert_allclose(weighted.predict_proba(X[80:]), repeated.predict_proba(X[80:]), rtol=1e-4)


def test_weight_is_repetition_in_the_channel_but_for_the_tolerance_of_its_solver():
    weighted = TreeWassersteinClassifier().fit(X[:80], y[:80], sample_weight=WEIGHTS)
    repeated = TreeWassersteinClassifier().fit(X[:80][REPEATED], y[:80][REPEATED])
    found, expected = weighted.predict_proba(X[80:]), repeated.predict_proba(X[80:])
    np.testing.assert_allclose(found, expected, atol=0.1)
    is_close = np.subtract(*np.sort(expected, axis=1)[:, :-3:-1].T) < 0.2  # between two classes: either may win
    assert is_close.sum() < 10
    np.testing.assert_array_equal(found.argmax(axis=1)[~is_close], expected.argmax(axis=1)[~is_close])


def test_documents_of_weight_zero_are_left_out_and_rows_keep_their_numbers():
    kept = np.flatnonzero(WEIGHTS)
    ones = (WEIGHTS > 0).astype(float)
    labels = np.where(WEIGHTS > 0, y[:80], 9)
    weighted = TreeWassersteinClassifier().fit(X[:80], labels, sample_weight=ones)
    without = TreeWassersteinClassifier().fit(X[kept], y[kept])
    assert weighted.classes_.tolist() == without.classes_.tolist()
    np.testing.assert_array_equal(weighted.predict_proba(X[80:]), without.predict_proba(X[80:]))
    np.testing.assert_array_equal(weighted.kneighbors(X[80:])[1], kept[without.kneighbors(X[80:])[1]])


def test_no_weights_are_weights_of_one():
    plain, ones = TreeWassersteinClassifier().fit(X, y), TreeWassersteinClassifier().fit(X, y, np.ones(120))
    np.testing.assert_array_equal(plain.predict_proba(X), ones.predict_proba(X))


def test_a_learner_without_weights_is_refused():
    model = TreeWassersteinClassifier(QuadtreeWasserstein(), vote="majority")
    with pytest.raises(ValueError, match=r"QuadtreeWasserstein\.fit does not\. Leave the weights out"):
        model.fit(X[:80], y[:80], sample_weight=WEIGHTS)
    model.fit(X[:80], y[:80], sample_weight=np.ones(80))


@pytest.mark.parametrize(
    ("weights", "message"),
    [(-np.ones(80), "finite weights of zero or more"), (np.zeros(80), "only zeros"), (np.ones(3), r"shape \(80,\)")],
)
def test_unsound_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        TreeWassersteinClassifier("bow").fit(X[:80], y[:80], sample_weight=weights)
