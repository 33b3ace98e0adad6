"""Random documents with word vectors, and slow, obvious forms of the distances on them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from tests.strategies import documents
from treewass.distances.document_pairs import fill_costs

coordinates = st.integers(-3, 3).map(float)  # few values, so that vectors repeat and costs tie


@st.composite
def comparisons(draw, max_words=7, max_rows=4):
    """Counts on both sides and the vectors of the words, some of them equal."""
    n_words = draw(st.integers(1, max_words))
    vectors = draw(hnp.arrays(np.float64, (n_words, draw(st.integers(1, 6))), elements=coordinates))
    X = draw(documents(n_words, max_rows=max_rows))
    return X, draw(documents(n_words, max_rows=max_rows)), vectors


def topics(seed=0, n_documents=40, n_words=60, n_dimensions=8, n_classes=3, length=12):
    """Counts, labels and vectors that belong together: words of a class lie around one point."""
    random_state = np.random.RandomState(seed)
    centres = random_state.randn(n_classes, n_dimensions)
    classes = np.arange(n_words) % n_classes
    vectors = centres[classes] + 0.7 * random_state.randn(n_words, n_dimensions)
    labels = np.arange(n_documents) % n_classes
    chances = np.where(classes == labels[:, None], 3.0, 1.0)
    counts = np.array([random_state.multinomial(length, row / row.sum()) for row in chances])
    return counts, labels, vectors


def word_costs(vectors, cost="euclidean"):
    return cdist(vectors, vectors, "sqeuclidean" if cost == "squared" else "euclidean")


def each_pair(distance, X, Y):
    """Apply a function of two histograms to each pair of rows."""
    return np.array([[distance(x / x.sum(), y / y.sum()) for y in np.asarray(Y)] for x in np.asarray(X)])


def full_wmd(X, Y, vectors, cost="euclidean"):
    """The optimal transport cost over the whole vocabulary, by POT's network simplex."""
    import ot

    costs = word_costs(vectors, cost)
    return each_pair(lambda x, y: ot.emd2(x, y, costs), X, Y)


def act_forward(x, y, costs, iterations):
    """Send each word's mass to its nearest words, the definition word for word."""
    targets, total = np.flatnonzero(y), 0.0
    for word in np.flatnonzero(x):
        nearest = targets[np.argsort(costs[word, targets], kind="stable")]
        mass = x[word]
        for target in nearest[: min(iterations, len(nearest) - 1)]:
            part = min(mass, y[target])
            total += part * costs[word, target]
            mass -= part
        total += mass * costs[word, nearest[min(iterations, len(nearest) - 1)]]
    return total


def full_act(X, Y, vectors, iterations, direction, cost="euclidean"):
    """Both directions, over distinct vectors: words with the same one are one place with the mass of all."""
    vectors, places = np.unique(vectors, axis=0, return_inverse=True)
    X, Y = (counts @ np.eye(len(vectors))[places] for counts in (X, Y))
    costs = word_costs(vectors, cost)
    forward = each_pair(lambda x, y: act_forward(x, y, costs, iterations), X, Y)
    backward = each_pair(lambda x, y: act_forward(y, x, costs, iterations), X, Y)
    return {"forward": forward, "backward": backward, "max": np.maximum(forward, backward)}[direction]


def feasible_cost(x, y, costs):
    """Price the plan that fills targets in their order: feasible, so never cheaper than the best one."""
    x, y, total = x.copy(), y.copy(), 0.0
    source = target = 0
    while source < len(x) and target < len(y):
        part = min(x[source], y[target])
        total += part * costs[source, target]
        x[source] -= part
        y[target] -= part
        source, target = (source + 1, target) if x[source] <= y[target] else (source, target + 1)
    return total


def costs_between(points, others, squared=False):
    """Compute the ground costs between points."""
    found = np.empty((len(points), len(others)))
    fill_costs(points, np.ascontiguousarray(others.T), squared, found)
    return found
