import numpy as np
import pytest

from treewass import (
    ProfileTreeWasserstein,
    QuadtreeWasserstein,
    SupervisedTreeWasserstein,
    TreeMetric,
    TreeWassersteinClassifier,
)
from treewass.classify.metric_parameter import METRICS, learn_metric, metric_learner, needs_labels
from treewass.documents import make_documents
from treewass.documents.histograms import check_counts
from treewass.learners import bow_metric, tfidf_metric

X, LABELS = make_documents(40, n_words=30, words_per_document=6, n_classes=2, random_state=0)
COUNTS = check_counts(X)


def test_names_and_objects_mean_the_same():
    profile = ProfileTreeWasserstein(random_state=3)
    expected = profile.fit(COUNTS, LABELS).metric_
    for metric in (None, "profile", profile):
        learned, learner = learn_metric(metric, COUNTS, LABELS, random_state=3)
        assert learned == expected
        assert isinstance(learner, ProfileTreeWasserstein)
        assert learner is not metric
    for name, plain in (("bow", bow_metric(30)), ("tfidf", tfidf_metric(COUNTS))):
        assert learn_metric(name, COUNTS, LABELS) == (plain, None)
        assert learn_metric(plain, COUNTS, LABELS) == (plain, None)
    assert metric_learner(bow_metric(2)) is None


def test_settings_go_to_learners_given_by_name_only():
    for name, kind in (("profile", ProfileTreeWasserstein), ("stw", SupervisedTreeWasserstein)):
        learner = metric_learner(name, random_state=5, verbose=True, n_jobs=2)
        assert isinstance(learner, kind)
        assert (learner.random_state, learner.verbose, learner.n_jobs) == (5, True, 2)
    assert metric_learner(QuadtreeWasserstein(random_state=1), random_state=5).random_state == 1


@pytest.mark.parametrize("name", METRICS)
def test_every_name_is_a_metric_of_the_classifier(name):
    metric = SupervisedTreeWasserstein(depth=1, epochs=1) if name == "stw" else name  # the name alone trains for long
    classifier = TreeWassersteinClassifier(metric, calibrate=False).fit(COUNTS, LABELS)
    assert isinstance(classifier.metric_, TreeMetric)
    assert (classifier.learner_ is None) == (name in ("bow", "tfidf"))


@pytest.mark.parametrize("metric", ["cosine", 3, ProfileTreeWasserstein, np.zeros(3)])
def test_other_words_are_refused_with_the_vocabulary(metric):
    message = 'Expected metric to be None, "profile", "stw", "topics", "bow", "tfidf", an unfitted transformer'
    with pytest.raises(ValueError, match=message):
        metric_learner(metric)


def test_who_needs_labels():
    learners = (ProfileTreeWasserstein(), SupervisedTreeWasserstein())
    assert all(needs_labels(metric) for metric in (None, "profile", "stw", *learners))
    assert not any(needs_labels(metric) for metric in ("topics", "bow", "tfidf", QuadtreeWasserstein(), bow_metric(2)))
