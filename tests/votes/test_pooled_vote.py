import numpy as np
import pytest

from treewass import TreeWassersteinClassifier
from treewass.documents import make_documents
from treewass.votes.pooled_vote import PULL, WIDTHS, _HeldOutLoss, fit_pool

PRIOR = np.array([0.5, 0.5])


def noisy_neighbours(reliability, n_queries=2000, k=7):
    random = np.random.RandomState(0)
    truth = random.randint(0, 2, n_queries)
    wrong = random.rand(n_queries, k) > reliability
    return truth, np.where(wrong, 1 - truth[:, None], truth[:, None]), np.sort(random.rand(n_queries, k), axis=1)


@pytest.mark.parametrize("reliability", [0.5, 0.6, 0.75, 0.95])
def test_confidence_is_accuracy(reliability):
    truth, labels, distances = noisy_neighbours(reliability)
    pool, _ = fit_pool(PRIOR, 0.5, labels, distances, truth)
    probabilities = pool.probabilities(labels, distances)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    right = probabilities.argmax(axis=1) == truth
    assert probabilities.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.05)


def test_without_held_out_documents_the_vote_is_plain():
    nobody = np.zeros(0, dtype=int)
    pool, _ = fit_pool(PRIOR, 2.0, np.zeros((0, 3), dtype=int), np.zeros((0, 3)), nobody)
    assert pool.weights == tuple(float(width == 1) for width in WIDTHS)
    assert pool.probabilities(np.array([[0, 0, 0]]), np.zeros((1, 3))).round(4).tolist() == [[0.99, 0.01]]


def test_no_class_is_impossible_and_neighbours_are_always_heard():
    truth, labels, distances = noisy_neighbours(0.3, n_queries=50)
    pool, _ = fit_pool(PRIOR, 0.5, labels, distances, truth)
    assert min(pool.weights) > 0
    assert (pool.probabilities(labels, distances) > 0).all()


@pytest.mark.parametrize("doubted", [0.0, 0.2])
def test_the_gradient_is_that_of_the_loss(doubted):
    truth = noisy_neighbours(0.7, n_queries=40)[0]
    random = np.random.RandomState(1)
    plain = np.array([0.0, 1.0, 0.0, 0.0, 1.0])
    loss = _HeldOutLoss(random.randn(40, 2, 5), truth, PRIOR, random.rand(40), plain, PULL)
    values = random.rand(5)
    numeric = [(loss(values + step, doubted)[0] - loss(values - step, doubted)[0]) / 2e-6 for step in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(loss(values, doubted)[1], numeric, atol=1e-8)


@pytest.mark.parametrize(("n_queries", "is_doubted"), [(60, True), (200, False)])
def test_labels_are_doubted_where_there_are_few(n_queries, is_doubted):
    truth, labels, distances = noisy_neighbours(0.8, n_queries)
    given = np.where(np.arange(n_queries) % 5 == 0, 1 - truth, truth)
    believing, default = (
        fit_pool(PRIOR, 0.5, labels, distances, given, pull=pull)[0] for pull in (PULL._replace(doubt=0.0), PULL)
    )
    assert (default.weights != believing.weights) is is_doubted


def test_calibration_can_be_left_out():
    X, y = make_documents(120, n_words=60, n_classes=2, random_state=0)
    plain = TreeWassersteinClassifier(calibrate=False).fit(X, y)
    assert plain.pooled_vote_ is None
    calibrated = TreeWassersteinClassifier().fit(X, y)
    assert calibrated.metric_ == plain.metric_
    assert calibrated.n_neighbors == 19
    assert TreeWassersteinClassifier(vote="fallback").fit(X, y).pooled_vote_ is None
