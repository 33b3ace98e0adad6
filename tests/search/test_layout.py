import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given

from tests.strategies import metrics
from treewass.search.layout import MASS_BITS, RECORD, layout_of


def path_features(tree, node, first):
    """The features of a node and of those above it, without the root."""
    features = []
    while node > 0:
        features.append(first + node - 1)
        node = int(tree.parents[node])
    return features


def climb(layout, feature):
    features = []
    while feature >= 0:
        features.append(feature)
        feature = int(layout.above[feature])
    return features


@given(metrics(max_components=3))
def test_words_climb_the_path_to_the_root_in_every_tree(metric):
    layout = layout_of(metric)
    records = layout.records.reshape(metric.n_components, metric.n_words, RECORD)
    first = 0
    for tree, of_words, factors in zip(metric.trees, records, metric.scaled_masses, strict=True):
        n_nodes = len(tree.parents)
        lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        scaled = lengths * 2.0 ** (metric.fraction_bits - MASS_BITS)
        assert np.array_equal(layout.lengths[first : first + scaled.size], scaled)
        for word, record in enumerate(of_words):
            assert climb(layout, int(record[2])) == path_features(tree, int(tree.word_nodes[word]), first)
            assert record[3] == first + n_nodes - 1 + word
            assert layout.above[record[3]] == -1
            assert record[:2].view(np.float64).tolist() == [factors[word], layout.lengths[record[3]]]
        first += n_nodes - 1 + metric.n_words
    assert first == metric.n_features == layout.above.size == layout.lengths.size


@given(metrics(max_components=3))
def test_the_description_tells_where_and_how_many(metric):
    layout = layout_of(metric)
    addresses = [array.ctypes.data for array in (layout.records, layout.above, layout.lengths)]
    longest = max(
        sum(len(path_features(tree, int(tree.word_nodes[word]), 0)) + 1 for tree in metric.trees)
        for word in range(metric.n_words)
    )
    numbers = [metric.n_words, metric.n_features, metric.n_components, longest, metric.fraction_bits]
    assert layout.description.tolist() == addresses + numbers
    assert layout.records.ctypes.data % 64 == 0


@given(metrics())
def test_a_metric_keeps_one_layout_that_does_not_travel(metric):
    with ThreadPoolExecutor(4) as pool:
        layouts = list(pool.map(lambda _: layout_of(metric), range(8)))
    assert all(layout is layouts[0] for layout in layouts)
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert layout_of(again) is not layouts[0]
    assert layout_of(again).description[0] == layout_of(again).records.ctypes.data
