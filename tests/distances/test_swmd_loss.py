from dataclasses import replace

import numpy as np
import ot
import pytest

from tests.distances.cases import topics, word_costs
from treewass.distances.swmd_loss import (
    LabelledDocuments,
    SwmdMetric,
    TransportSettings,
    batch_distances,
    batch_gradient,
    mean_loss,
    nearest_centroids,
)
from treewass.documents.histograms import check_counts

EXACT = TransportSettings(regularization=0.2, tolerance=1e-13, max_iter=100_000)
STEP = 1e-6


@pytest.fixture
def documents():
    X, y, vectors = topics(n_documents=18, n_words=25, n_dimensions=4)
    return LabelledDocuments(check_counts(X), y, vectors)


@pytest.fixture
def metric(documents):
    random_state = np.random.RandomState(0)
    return SwmdMetric(random_state.randn(3, 4) / 2, random_state.randn(25) / 3)


def shifted(metric, name, place, step):
    arrays = {"linear_map": metric.linear_map.copy(), "log_weights": metric.log_weights.copy()}
    arrays[name][place] += step
    return SwmdMetric(**arrays)


def differences(loss, metric, name):
    """Differentiate a function of the metric numerically."""
    found = np.empty(getattr(metric, name).shape)
    for place in np.ndindex(found.shape):
        found[place] = (loss(shifted(metric, name, place, STEP)) - loss(shifted(metric, name, place, -STEP))) / (
            2 * STEP
        )
    return found


@pytest.mark.parametrize("name", ["linear_map", "log_weights"])
def test_gradient_equals_finite_differences(documents, metric, name):
    batch = np.arange(5)
    neighbors = nearest_centroids(documents, metric, batch, np.arange(18), 7)
    same = documents.labels[neighbors] == documents.labels[batch][:, None]

    def loss(moved):
        return mean_loss(batch_distances(documents, moved, batch, neighbors, EXACT), same)

    value, gradient = batch_gradient(documents, metric, batch, neighbors, EXACT)
    expected = differences(loss, metric, name)
    assert value == pytest.approx(loss(metric), rel=1e-12)
    assert abs(expected).max() > 0.01
    np.testing.assert_allclose(getattr(gradient, name), expected, atol=1e-7 * abs(expected).max() + 1e-8)


@pytest.mark.parametrize("name", ["linear_map", "log_weights"])
def test_gradient_approaches_that_of_exact_transport(name):
    """With a tight regularization it is the derivative of POT's linear programs."""
    random_state = np.random.RandomState(3)
    documents = LabelledDocuments(check_counts(random_state.rand(6, 5)), np.arange(6) % 2, random_state.randn(5, 3))
    metric = SwmdMetric(random_state.randn(2, 3), random_state.randn(5) / 3)
    batch, neighbors = np.array([0, 1]), np.array([[1, 2, 3], [0, 3, 5]])
    same = documents.labels[neighbors] == documents.labels[batch][:, None]

    def loss(moved):
        costs = word_costs(moved.points(documents.vectors), "squared")
        masses = moved.histograms(documents.counts).toarray()
        rows = [
            [ot.emd2(masses[i], masses[j], costs) for j in others] for i, others in zip(batch, neighbors, strict=True)
        ]
        return mean_loss(np.array(rows), same)

    tight = TransportSettings(regularization=1e-3, tolerance=1e-9, max_iter=1_000_000)
    value, gradient = batch_gradient(documents, metric, batch, neighbors, tight)
    assert value == pytest.approx(loss(metric), abs=0.01)
    np.testing.assert_allclose(getattr(gradient, name), differences(loss, metric, name), atol=0.01)


def test_distances_are_those_of_pot(documents, metric):
    neighbors = np.array([[1, 2, 3]])
    found = batch_distances(documents, metric, np.array([0]), neighbors, EXACT)[0]
    costs = word_costs(metric.points(documents.vectors), "squared")
    masses = metric.histograms(documents.counts).toarray()
    for other, distance in zip(neighbors[0], found, strict=True):
        a, b = masses[0], masses[other]
        own = np.ascontiguousarray(costs[np.ix_(a > 0, b > 0)])
        options = {"method": "sinkhorn_log", "stopThr": 1e-12, "numItermax": 100_000}
        plan = ot.sinkhorn(a[a > 0], b[b > 0], own, 0.2, **options)
        entropy = (plan * np.log(plan / np.outer(a[a > 0], b[b > 0]))).sum()
        assert distance == pytest.approx((plan * own).sum() + 0.2 * entropy, abs=1e-8)


def test_extreme_scales_stay_finite(documents):
    metric = SwmdMetric(1e4 * np.eye(4), np.linspace(-4, 2, 25))
    settings = TransportSettings(regularization=1e-3, tolerance=0.01, max_iter=50)
    neighbors = nearest_centroids(documents, metric, np.arange(3), np.arange(18), 5)
    loss, gradient = batch_gradient(documents, metric, np.arange(3), neighbors, settings)
    assert np.isfinite(loss)
    assert np.isfinite(gradient.linear_map).all()
    assert np.isfinite(gradient.log_weights).all()


def test_gradient_does_not_depend_on_threads(documents, metric):
    settings = TransportSettings(regularization=0.5, tolerance=0.01, max_iter=100)
    neighbors = nearest_centroids(documents, metric, np.arange(18), np.arange(18), 6)
    alone = batch_gradient(documents, metric, np.arange(18), neighbors, settings)
    both = batch_gradient(documents, metric, np.arange(18), neighbors, replace(settings, n_jobs=3))
    assert alone[0] == both[0]
    assert np.array_equal(alone[1].linear_map, both[1].linear_map)
    assert np.array_equal(alone[1].log_weights, both[1].log_weights)


def test_neighbours_hold_one_of_the_same_class_and_never_the_document(documents, metric):
    neighbors = nearest_centroids(documents, metric, np.arange(18), np.arange(18), 3)
    assert neighbors.shape == (18, 3)
    assert not (neighbors == np.arange(18)[:, None]).any()
    assert (documents.labels[neighbors] == documents.labels[:, None]).any(axis=1).all()
    nearest = nearest_centroids(documents, metric, np.arange(18), np.arange(18), 17)
    assert np.array_equal(np.sort(nearest, axis=1), [np.delete(np.arange(18), row) for row in range(18)])


def test_documents_whose_neighbours_are_all_alike_count_for_nothing():
    distances = np.array([[1.0, 2.0], [1.0, 2.0]])
    assert mean_loss(distances, np.array([[True, True], [False, False]])) == 0.0
