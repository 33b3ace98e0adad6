import numpy as np
import pytest

from treewass.learners.profile.word_trees import CenterTree, cluster

SHAPE = {"arity": 3, "depth": 2, "min_weight": 1.0}


@pytest.fixture
def points():
    return np.random.RandomState(0).rand(200, 4).astype(np.float32)


def make(points, **changes):
    sizes = np.ones(len(points), dtype=np.int64)
    settings = {**SHAPE, **changes}
    return cluster(points, np.ones(len(points)), sizes, random_state=np.random.RandomState(0), **settings)


def test_every_point_ends_under_the_nearest_centre_at_every_level(points):
    tree = make(points)
    for point, node in zip(points, tree.descend(points), strict=True):
        while node > 0:
            siblings = np.flatnonzero(tree.parents == tree.parents[node])
            distances = np.linalg.norm(tree.centers[siblings] - point, axis=1)
            assert siblings[distances.argmin()] == node
            node = tree.parents[node]


def test_depth_arity_and_weight_bound_the_tree(points):
    assert make(points, depth=0).parents.tolist() == [-1]
    assert len(make(points, depth=1).parents) == 4
    assert len(make(points).parents) == 13
    assert make(points, min_weight=201.0).parents.tolist() == [-1]


def test_recentring_with_the_same_points_changes_little(points):
    tree = make(points)
    again = tree.recentered(points, np.ones(len(points)), tree.descend(points))
    np.testing.assert_allclose(again.centers[1:], tree.centers[1:], atol=0.05)


def test_nodes_without_points_attract_none():
    tree = CenterTree(np.array([-1, 0, 0], dtype=np.int32), np.array([[0.0], [1.0], [2.0]], dtype=np.float32))
    points = np.array([[0.9], [1.1]], dtype=np.float32)
    moved = tree.recentered(points, np.ones(2), np.array([1, 1], dtype=np.int32))
    assert moved.descend(points).tolist() == [1, 1]
    assert moved.centers[1] == pytest.approx(1.0)
