import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from scipy.sparse import csr_array

from treewass_bench.feature_hierarchy import feature_hierarchy, hierarchy_tree, make_diffusion

LENGTHS = ["geodesics", "heights"]


def literal_densities(squares, width, scale):
    n = len(squares)
    median = np.median([squares[i, j] for i in range(n) for j in range(i)])
    affinity = np.exp(-squares / (width * median))
    even = np.array([[affinity[i, j] / (affinity[i].sum() * affinity[j].sum()) for j in range(n)] for i in range(n)])
    operator = np.array([even[i] / even[i].sum() for i in range(n)])
    return np.maximum(fractional_matrix_power(operator, 2.0**-scale), 1e-6)


def half_space_distance(x, y):
    return np.arccosh(1 + ((x - y) ** 2).sum() / (2 * x[-1] * y[-1]))


def half_space_middle(x, y):
    """Walk half the length of the semicircle through both points that meets the border at right angles."""
    apart, low, high = np.linalg.norm(x[:-1] - y[:-1]), x[-1], y[-1]
    if apart < 1e-12:
        return np.append(x[:-1], np.sqrt(low * high))
    centre = (apart**2 + high**2 - low**2) / (2 * apart)
    radius = np.hypot(centre, low)
    angles = np.arctan2(low, -centre), np.arctan2(high, apart - centre)
    angle = 2 * np.arctan(np.sqrt(np.prod(np.tan(np.array(angles) / 2))))
    along = (centre + radius * np.cos(angle)) / apart
    return np.append(x[:-1] + along * (y[:-1] - x[:-1]), radius * np.sin(angle))


def literal_word_distances(squares, width, n_scales, lengths):
    n = len(squares)
    places = {  # of each node, one point in each half-space
        j: [np.append(np.sqrt(literal_densities(squares, width, k)[j]), 2.0 ** (k / 2 - 2)) for k in range(n_scales)]
        for j in range(n)
    }

    def ancestor(i, j):
        tops = [half_space_middle(x, y)[-1] for x, y in zip(places[i], places[j], strict=True)]
        return np.prod(tops) ** (1 / n_scales)

    heights = {j: ancestor(j, j) for j in range(n)}
    pairs = sorted((ancestor(i, j), i, j) for i in range(n) for j in range(i))
    root = {j: j for j in range(n)}
    above = {}
    for height, i, j in pairs:
        left, right = root[i], root[j]
        if left == right:
            continue
        node = len(places)
        places[node] = [half_space_middle(x, y) for x, y in zip(places[left], places[right], strict=True)]
        heights[node] = height
        above[left] = above[right] = node
        root = {leaf: node if own in (left, right) else own for leaf, own in root.items()}

    def edge(child):
        if lengths == "heights":
            return np.log(heights[above[child]] / heights[child])
        return sum(half_space_distance(x, y) for x, y in zip(places[child], places[above[child]], strict=True))

    def path(leaf):
        return [leaf, *path(above[leaf])] if leaf in above else [leaf]

    return np.array([[sum(map(edge, set(path(i)) ^ set(path(j)))) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("n_words", "n_scales", "width"), [(3, 1, 1.0), (6, 3, 0.5), (8, 5, 0.2), (8, 2, 1.0)])
def test_distances_are_those_of_the_literal_version(n_words, n_scales, width, lengths):
    points = np.random.default_rng(n_words).normal(size=(n_words, 6))
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    tree = hierarchy_tree(make_diffusion(squares, width), n_scales, lengths=lengths)
    rows, columns = np.triu_indices(n_words, 1)
    expected = literal_word_distances(squares, width, n_scales, lengths)
    np.testing.assert_allclose(tree.word_distances(rows, columns), expected[rows, columns], rtol=1e-4)


def clades(tree):
    below = [set() for _ in range(tree.n_nodes)]
    for word, node in enumerate(tree.word_nodes):
        below[node].add(word)
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parents[node]] |= below[node]
    return {frozenset(words) for words in below}


@pytest.mark.parametrize("n_scales", [1, 3, 10])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_a_known_hierarchy_of_words_is_found(lengths, n_scales):
    rng = np.random.default_rng(0)
    groups = np.arange(40) // 5  # eight leaves of a binary tree, five words each
    shared = np.array([[1.0, 4.0, 16.0, 64.0][3 - int(i ^ j).bit_length()] for i in range(8) for j in range(8)])
    topics = shared.reshape(8, 8)[:, groups]
    counts = csr_array(np.array([rng.multinomial(200, topic / topic.sum()) for topic in np.tile(topics, (40, 1))]))
    shuffled = rng.permutation(40)
    metric = feature_hierarchy(counts[:, shuffled], lengths=lengths, n_scales=n_scales)
    found = clades(metric.trees[0])
    for size in (5, 10, 20):
        for first in range(0, 40, size):
            assert frozenset(np.flatnonzero((shuffled >= first) & (shuffled < first + size)).tolist()) in found


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_words_of_few_documents_are_left_out(lengths):
    counts = csr_array([[3, 1, 0, 1], [1, 2, 0, 0], [1, 1, 9, 0], [0, 1, 0, 2]])  # word 2 is in one document
    metric = feature_hierarchy(counts, lengths=lengths, n_scales=2, max_words=3)
    np.testing.assert_array_equal(metric.known_words, [True, True, False, True])
    alone = feature_hierarchy(counts[:, [0, 1, 3]], lengths=lengths, n_scales=2)
    words = np.eye(4)[[0, 1, 3]]
    np.testing.assert_allclose(metric.pairwise(words), alone.pairwise(np.eye(3)))
