import numpy as np
import pytest

from tests.distances.cases import each_pair, topics, word_costs
from treewass.distances.swmd_loss import (
    LabelledDocuments,
    SwmdMetric,
    TransportSettings,
    batch_distances,
    nearest_centroids,
)
from treewass.distances.swmd_training import mean_cost, scaled_start, start_metric
from treewass.documents.histograms import check_counts


@pytest.fixture
def documents():
    X, y, vectors = topics(n_documents=30)
    return LabelledDocuments(check_counts(X), y, vectors)


def test_mean_cost_is_that_of_independent_words(documents):
    metric = SwmdMetric(np.random.RandomState(0).randn(3, 8), np.zeros(60))
    costs = word_costs(metric.points(documents.vectors), "squared")
    X = documents.counts.toarray()
    expected = each_pair(lambda x, y: x @ costs @ y, X, X).mean()
    assert mean_cost(documents, metric, np.arange(30)) == pytest.approx(expected)


def test_centroids_of_a_class_come_together(documents):
    def spread(metric):
        """Share of the variance that lies within classes."""
        centroids = metric.histograms(documents.counts) @ metric.points(documents.vectors)
        within = sum(centroids[documents.labels == label].var(axis=0).sum() for label in range(3)) / 3
        return within / centroids.var(axis=0).sum()

    start = start_metric(documents, np.arange(30), 2, seed=0)
    assert start.linear_map.shape == (2, 8)
    assert not start.log_weights.any()
    assert spread(start) < 0.9 * spread(SwmdMetric(np.eye(8), np.zeros(60)))


def test_regularization_keeps_its_share_of_the_cost(documents):
    rows = np.arange(30)
    start = start_metric(documents, rows, 2, seed=0)
    scaled, solving = scaled_start(documents, start, rows, 10, TransportSettings(0.1, 0.01, 100))
    assert solving.regularization == pytest.approx(0.1 * mean_cost(documents, scaled, rows))
    ratio = scaled.linear_map / start.linear_map
    assert ratio == pytest.approx(ratio[0, 0])


def test_equal_documents_give_a_start_too():
    documents = LabelledDocuments(check_counts(np.ones((4, 3))), np.arange(4) % 2, np.zeros((3, 2)))
    start = start_metric(documents, np.arange(4), 2, seed=0)
    scaled, solving = scaled_start(documents, start, np.arange(4), 3, TransportSettings(0.1, 0.01, 100))
    assert np.isfinite(scaled.linear_map).all()
    assert solving.regularization > 0


def test_without_neighbours_to_choose_by_the_median_distance_becomes_one(documents):
    settings = TransportSettings(0.1, 0.01, 100)
    alone = LabelledDocuments(documents.counts, np.arange(30), documents.vectors)
    start = start_metric(documents, np.arange(30), 2, seed=0)
    scaled, solving = scaled_start(alone, start, np.arange(30), 29, settings)
    neighbors = nearest_centroids(alone, scaled, np.arange(30), np.arange(30), 29)
    assert np.median(batch_distances(alone, scaled, np.arange(30), neighbors, solving)) == pytest.approx(1.0)
