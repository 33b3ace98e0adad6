import math

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from treewass import TreeMetric
from treewass.trees import quadtree
from treewass.trees.quadtrees import CONVENTIONS

coordinates = st.integers(-8, 8).map(lambda number: number / 4)
points = st.tuples(st.integers(1, 9), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=coordinates)
)
conventions = st.sampled_from(CONVENTIONS)
seeds = st.integers(0, 1000)


def literal_distances(vectors, seed, convention, depth=32):
    """Walk down the levels of the shifted grid and add up the sides of the cells that two words do not share."""
    extent, words = np.ptp(vectors, axis=0).max(), range(len(vectors))
    if extent == 0:
        return np.zeros((len(vectors), len(vectors)))
    shift = np.random.RandomState(seed).uniform(size=vectors.shape[1])
    fractions = (vectors - vectors.min(axis=0)) / (2 * extent) + shift / 2
    cells = [[tuple(np.floor(row * 2**level).astype(int)) for row in fractions] for level in range(depth + 1)]

    def first_level_alone(word):
        for level, own in enumerate(cells):
            others = [other for other in words if own[other] == own[word]]
            if level and (vectors[others] == vectors[word]).all():
                return level
        raise AssertionError("the points are too close for this oracle")

    last = [first_level_alone(word) for word in words]
    if convention == "indyk-thaper":
        last = [max(last)] * len(last)

    def side_lengths(word, other):
        levels = range(1, last[word] + 1)
        return sum(2 * extent / 2**level for level in levels if cells[level][word] != cells[level][other])

    return np.array([[side_lengths(one, other) + side_lengths(other, one) for other in words] for one in words])


@given(points, seeds, conventions)
def test_distances_are_the_sides_of_cells_that_words_do_not_share(vectors, seed, convention):
    tree = quadtree(vectors, convention=convention, random_state=seed)
    words = np.arange(len(vectors))
    expected = literal_distances(vectors, seed, convention)
    assert tree.word_distances(words[:, None], words) == pytest.approx(expected, rel=1e-12)


@given(points, seeds, conventions, st.data())
def test_transport_costs_at_most_the_root_of_dimensions_times_the_tree_distance(vectors, seed, convention, data):
    """Even where the depth is not enough to set all points apart."""
    depth = data.draw(st.sampled_from([1, 2, 32]))
    tree = quadtree(vectors, convention=convention, depth=depth, random_state=seed)
    words = np.arange(len(vectors))
    along_tree = tree.word_distances(words[:, None], words)
    assert (cdist(vectors, vectors) <= math.sqrt(vectors.shape[1]) * along_tree + 1e-9).all()
    assert not along_tree[(vectors[:, None] == vectors[None]).all(axis=2)].any()


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize(("n_words", "n_dimensions"), [(30, 1), (30, 2), (30, 5), (12, 20)])
def test_bounds_of_the_theory(n_words, n_dimensions, convention):
    """W ≤ √d TW for every shift; the mean of TW over 200 shifts ≤ 2 · levels · √d W."""
    random = np.random.RandomState(n_dimensions)
    vectors = random.normal(size=(n_words, n_dimensions))
    x, y = random.multinomial(10, np.ones(n_words) / n_words, size=2)[:, None]
    exact = ot.emd2(x[0] / 10, y[0] / 10, cdist(vectors, vectors))
    root = math.sqrt(n_dimensions)
    costs, levels = [], 0
    for seed in range(200):
        tree = quadtree(vectors, convention=convention, random_state=seed)
        costs.append(TreeMetric(tree).pairwise(x, y)[0, 0])
        assert exact <= root * costs[-1] * (1 + 1e-6)
        side = 2 * np.ptp(vectors, axis=0).max()
        smallest = quadtree(vectors, random_state=seed).leaf_lengths.min()
        levels = max(levels, round(math.log2(side / smallest)))
    assert np.mean(costs) <= 2 * levels * root * exact


def test_chains_of_cells_are_one_node():
    vectors = np.array([[0.0], [1e-6], [1.0], [1 + 1e-6]])
    tree = quadtree(vectors, random_state=3)
    assert tree.n_nodes == 3
    assert tree.depth == 1
    counts = np.bincount(np.concatenate([tree.parents[1:], tree.word_nodes]))
    assert counts.min() >= 2


def test_equal_points_end_the_division():
    vectors = np.repeat([[0.0, 1.0], [0.5, 0.25]], 50, axis=0)
    tree = quadtree(vectors)
    assert not tree.word_distances(0, np.arange(50)).any()
    assert (tree.word_distances(0, np.arange(50, 100)) > 0).all()
    assert quadtree(np.ones((3, 2))).word_distances([0, 1], [1, 2]).tolist() == [0, 0]
    assert quadtree([[5.0]]).n_words == 1


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e12, 1e300])
@pytest.mark.parametrize("depth", [2, 32, 50])
def test_distinct_points_have_a_distance_however_far_an_outlier_is(convention, outlier, depth):
    """Places in the cube are rounded to the same number then; points are not."""
    random = np.random.RandomState(0)
    close = np.concatenate([np.zeros((1, 2)), -np.zeros((1, 2)), random.normal(size=(5, 2)) * 1e-12])
    vectors = np.concatenate([close, close[2:4], [[outlier, 0.0]]])
    tree = quadtree(vectors, convention=convention, depth=depth)
    words = np.arange(len(vectors))
    along_tree = tree.word_distances(words[:, None], words)
    equal = (vectors[:, None] == vectors[None]).all(axis=2)
    assert not along_tree[equal].any()
    assert (along_tree[~equal] > 0).all()
    apart = np.hypot(*np.moveaxis(vectors[:, None] - vectors[None], 2, 0))
    assert (apart <= math.sqrt(2) * along_tree * (1 + 1e-12)).all()


def test_same_seed_same_tree_and_another_seed_another_shift():
    vectors = np.random.RandomState(0).normal(size=(40, 2))
    assert quadtree(vectors, random_state=1) == quadtree(vectors, random_state=np.random.RandomState(1))
    assert quadtree(vectors, random_state=1) != quadtree(vectors, random_state=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vectors": [1.0, 2.0]}, r"shape \(n_words, n_dimensions\)"),
        ({"vectors": np.zeros((0, 2))}, r"shape \(n_words, n_dimensions\)"),
        ({"vectors": [[0.0], [np.inf]]}, "finite vectors.*rows 1"),
        ({"vectors": [[-1.7e308], [1.7e308]]}, "extent fits a float64"),
        ({"vectors": [[0.0], [8e307]]}, "extent fits a float64"),
        ({"vectors": [[0.0]], "convention": "other"}, "one of backurs, indyk-thaper, got 'other'"),
        ({"vectors": [[0.0]], "depth": 0}, "depth as an integer from 1 to 50, got 0"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        quadtree(**arguments)


def test_words_instead_of_numbers_are_refused():
    with pytest.raises(TypeError, match="real numbers"):
        quadtree([["a"], ["b"]])
