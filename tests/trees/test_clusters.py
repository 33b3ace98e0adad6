import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from treewass.trees import cluster_tree

points = st.tuples(st.integers(1, 14), st.integers(1, 3)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(-6, 6).map(float))
)


def literal_parts(vectors, members, arity, draw):
    """Divide one cluster."""
    chosen = [members[int(draw * len(members))]]
    while len(chosen) < arity and (nearest := cdist(vectors[members], vectors[chosen]).min(axis=1)).max() > 0:
        chosen.append(members[nearest.argmax()])
    part = cdist(vectors[members], vectors[chosen]).argmin(axis=1)
    return [members[part == number] for number in range(len(chosen))]


def literal_paths(vectors, arity, depth, seed):
    """Divide clusters one at a time; return the centres above each of the distinct points, from the root down."""
    random, paths = np.random.RandomState(seed), {}
    level = [(np.arange(len(vectors)), [vectors.mean(axis=0)])]
    for _ in range(depth - 1):
        following = []
        for (members, centres), draw in zip(level, random.uniform(size=len(level)), strict=True):
            for cluster in literal_parts(vectors, members, arity, draw):
                if len(cluster) == 1:
                    paths[cluster[0]] = centres
                else:
                    following.append((cluster, [*centres, vectors[cluster].mean(axis=0)]))
        level = following
    return paths | {word: centres for members, centres in level for word in members}


def literal_distance(vectors, paths, one, other):
    """Walk up from both words to the last centre that they share."""
    shared = sum(a is b for a, b in zip(paths[one], paths[other], strict=False)) - 1
    ways = [np.array([*paths[word][shared:], vectors[word]]) for word in (one, other)]
    return sum(np.linalg.norm(np.diff(way, axis=0), axis=1).sum() for way in ways)


@given(points, st.integers(2, 4), st.integers(1, 5), st.integers(0, 100))
def test_agrees_with_dividing_one_cluster_at_a_time(vectors, arity, depth, seed):
    distinct = np.array(list(dict.fromkeys(map(tuple, vectors.tolist()))))
    tree = cluster_tree(distinct, arity=arity, depth=depth, random_state=seed)
    words = np.arange(len(distinct))
    paths = literal_paths(distinct, arity, depth, seed)
    expected = [[literal_distance(distinct, paths, a, b) if a != b else 0.0 for b in words] for a in words]
    assert tree.word_distances(words[:, None], words) == pytest.approx(np.array(expected), abs=1e-9)


@given(points, st.integers(2, 4), st.integers(1, 4), st.integers(0, 100))
def test_documents_can_be_held_by_the_clusters_of_the_deepest_level(vectors, arity, depth, seed):
    distinct = np.array(list(dict.fromkeys(map(tuple, vectors.tolist()))))
    tree = cluster_tree(distinct, arity=arity, depth=depth, words="clusters", random_state=seed)
    paths = literal_paths(distinct, arity, depth + 1, seed)
    places = np.array([path[-1] if len(path) > depth else point for path, point in zip_words(paths, distinct)])
    words = np.arange(len(distinct))
    expected = [[literal_distance(places, paths, a, b) if a != b else 0.0 for b in words] for a in words]
    assert tree.word_distances(words[:, None], words) == pytest.approx(np.array(expected), abs=1e-9)


def zip_words(paths, vectors):
    return [(paths[word], vectors[word]) for word in range(len(vectors))]


@given(points, st.integers(2, 5), st.integers(1, 6), st.integers(0, 100))
def test_no_shorter_than_the_ground_distance_and_zero_on_equal_points(vectors, arity, depth, seed):
    tree = cluster_tree(vectors, arity=arity, depth=depth, random_state=seed)
    words = np.arange(len(vectors))
    along_tree = tree.word_distances(words[:, None], words)
    assert (along_tree >= cdist(vectors, vectors) - 1e-9).all()
    assert np.array_equal(along_tree == 0, (vectors[:, None] == vectors[None]).all(axis=2))


def test_shape_is_bounded_by_arity_and_depth():
    vectors = np.random.RandomState(0).normal(size=(3000, 4))
    tree = cluster_tree(vectors, arity=3, depth=5)
    assert tree.depth == 4
    assert np.bincount(tree.parents[1:]).max() == 3
    assert cluster_tree(vectors, depth=1).n_nodes == 1


def test_same_seed_same_tree():
    vectors = np.random.RandomState(0).normal(size=(60, 2))
    assert cluster_tree(vectors, random_state=1) == cluster_tree(vectors, random_state=np.random.RandomState(1))
    assert cluster_tree(vectors, random_state=1) != cluster_tree(vectors, random_state=2)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_neither_tiny_nor_huge_vectors_lose_their_distances(scale):
    vectors = np.random.RandomState(0).normal(size=(20, 3))
    plain, scaled = cluster_tree(vectors), cluster_tree(vectors * scale)
    assert scaled.leaf_lengths / scale == pytest.approx(plain.leaf_lengths, rel=1e-9)


def test_words_of_one_cluster_are_one_place():
    vectors = np.random.RandomState(0).normal(size=(200, 4))
    shallow = cluster_tree(vectors, arity=3, depth=2, words="clusters")
    assert np.unique(shallow.word_nodes).size <= 1 + 3 + 9
    assert (shallow.leaf_lengths == 0).sum() > 150
    with pytest.raises(ValueError, match="words to be one of leaves, clusters, got 'nodes'"):
        cluster_tree(vectors, words="nodes")


@pytest.mark.parametrize(("name", "value"), [("arity", 1), ("arity", 2.5), ("depth", 0), ("depth", True)])
def test_bad_arguments_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} as an integer of at least .*, got {value}"):
        cluster_tree([[0.0]], **{name: value})
