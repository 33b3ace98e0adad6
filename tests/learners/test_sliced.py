import numpy as np
import pytest

from treewass import TreeMetric, TreeSlicedWasserstein, TreeWassersteinClassifier
from treewass.documents.synthetic import make_documents

COUNTS, LABELS = make_documents(30, n_words=60, words_per_document=8, random_state=0)
VECTORS = np.random.RandomState(0).normal(size=(60, 4))


@pytest.mark.parametrize("n_trees", [1, 5, 10])
def test_distance_is_the_mean_of_the_trees_distances(n_trees):
    metric = TreeSlicedWasserstein(n_trees=n_trees, word_vectors=VECTORS).fit(COUNTS).metric_
    assert metric.n_components == n_trees
    assert len(set(metric.trees)) == n_trees
    each = [TreeMetric(tree.scaled(n_trees), metric.masses[0]).pairwise(COUNTS) for tree in metric.trees]
    assert metric.pairwise(COUNTS) == pytest.approx(np.mean(each, axis=0), rel=1e-6)


def test_result_does_not_depend_on_threads():
    one, two = (TreeSlicedWasserstein(n_trees=4, word_vectors=VECTORS, n_jobs=jobs).fit(COUNTS) for jobs in (1, 2))
    assert one.metric_ == two.metric_


def test_arity_and_depth_reach_the_trees():
    learner = TreeSlicedWasserstein(n_trees=2, word_vectors=VECTORS, arity=2, max_depth=3).fit(COUNTS)
    for tree in learner.metric_.trees:
        assert tree.depth == 2
        assert np.bincount(tree.parents[1:]).max() == 2


def test_classifier_runs_on_the_engine():
    classifier = TreeWassersteinClassifier(TreeSlicedWasserstein(n_trees=2), n_neighbors=3).fit(COUNTS, LABELS)
    assert classifier.metric_.n_components == 2
    assert classifier.predict(COUNTS).shape == (30,)


def test_bad_number_of_trees_is_refused():
    with pytest.raises(ValueError, match="n_trees as an integer of at least 1, got 0"):
        TreeSlicedWasserstein(n_trees=0).fit(COUNTS)
