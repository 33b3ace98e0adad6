import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given

from tests.strategies import metrics
from treewass.trees.layout import MASS_BITS, METRIC, ROOM, EmbeddingRoom


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
    layout = metric.layout
    first = 0
    for tree, of_words, factors in zip(metric.trees, layout.words, metric.scaled_masses, strict=True):
        n_nodes = len(tree.parents)
        lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        scaled = lengths * 2.0 ** (metric.fraction_bits - MASS_BITS)
        assert np.array_equal(layout.lengths[first : first + scaled.size], scaled)
        for word, record in enumerate(of_words):
            assert climb(layout, int(record["node"])) == path_features(tree, int(tree.word_nodes[word]), first)
            assert record["leaf"] == first + n_nodes - 1 + word
            assert layout.above[record["leaf"]] == -1
            assert (record["factor"], record["length"]) == (factors[word], layout.lengths[record["leaf"]])
        first += n_nodes - 1 + metric.n_words
    assert first == metric.n_features == layout.above.size == layout.lengths.size


@given(metrics(max_components=3))
def test_the_description_tells_where_and_how_many(metric):
    layout = metric.layout
    longest = max(
        sum(len(path_features(tree, int(tree.word_nodes[word]), 0)) + 1 for tree in metric.trees)
        for word in range(metric.n_words)
    )
    expected = {
        "words": layout.words.ctypes.data,
        "above": layout.above.ctypes.data,
        "lengths": layout.lengths.ctypes.data,
        "n_words": metric.n_words,
        "n_features": metric.n_features,
        "n_components": metric.n_components,
        "longest": longest,
        "fraction_bits": metric.fraction_bits,
    }
    assert dict(zip(METRIC.names, layout.description.tolist(), strict=True)) == expected
    assert layout.words.ctypes.data % 64 == 0


@given(metrics())
def test_a_metric_keeps_one_layout_that_does_not_travel(metric):
    with ThreadPoolExecutor(4) as pool:
        layouts = list(pool.map(lambda _: metric.layout, range(8)))
    assert all(layout is layouts[0] for layout in layouts)
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert again.layout is not layouts[0]
    assert again.layout.description[0] == again.layout.words.ctypes.data


@given(metrics(max_components=2))
def test_room_is_as_large_as_its_description_says(metric):
    for in_order in (False, True):
        room = EmbeddingRoom(metric, in_order=in_order)
        described = dict(zip(ROOM.names, room.description.tolist(), strict=True))
        for name, array in room.arrays.items():
            assert described[name] == array.ctypes.data
        assert described["n_masses"] == room.arrays["masses"].size == metric.n_words
        assert described["n_sums"] == room.arrays["sums"].size == metric.n_features
        assert described["n_touched"] == room.arrays["touched"].size == room.arrays["amounts"].size
        assert described["n_touched"] > metric.n_features
        assert 64 * described["n_marks"] >= metric.n_features * in_order
