"""Random trees, metrics and documents for hypothesis."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treewass import Tree, TreeMetric

lengths = st.just(0.0) | st.floats(0.0078125, 10, allow_nan=False, width=32)
positive = st.floats(0.0078125, 100, allow_nan=False, width=32)


def _array(draw, elements, size):
    return np.array(draw(st.lists(elements, min_size=size, max_size=size)))


@st.composite
def trees(draw, min_words=1, max_words=8, max_nodes=9):
    """A tree of any shape, from a star to a path, with any lengths, zero among them."""
    n_nodes = draw(st.integers(1, max_nodes))
    parents = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, n_nodes)]
    n_words = draw(st.integers(min_words, max_words))
    word_nodes = _array(draw, st.integers(0, n_nodes - 1), n_words).astype(int)
    return Tree(parents, _array(draw, lengths, n_nodes), word_nodes, _array(draw, lengths, n_words))


@st.composite
def metrics(draw, max_components=1, **shape):
    """A metric of one tree or several over the same words, with positive masses."""
    first = draw(trees(**shape))
    more = draw(st.integers(0, max_components - 1))
    others = [draw(trees(min_words=first.n_words, max_words=first.n_words)) for _ in range(more)]
    masses = np.array([_array(draw, positive, first.n_words) for _ in range(more + 1)])
    return TreeMetric([first, *others], masses)


@st.composite
def documents(draw, n_words, min_rows=1, max_rows=4):
    """Counts without an empty row."""
    n_rows = draw(st.integers(min_rows, max_rows))
    counts = draw(hnp.arrays(np.int64, (n_rows, n_words), elements=st.integers(0, 5)))
    for row in np.flatnonzero(counts.sum(axis=1) == 0):
        counts[row, draw(st.integers(0, n_words - 1))] = 1
    return counts
