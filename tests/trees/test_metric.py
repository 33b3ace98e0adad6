import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.search import embed
from treewass.trees import perfect_tree, star_tree


@given(metrics(max_components=3))
def test_metrics_are_values(metric):
    same = TreeMetric(list(metric.trees), metric.masses.tolist(), metric.fraction_bits)
    assert same == metric
    assert hash(same) == hash(metric)
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert not metric.masses.flags.writeable


@given(metrics(max_components=2))
def test_default_resolution_is_the_finest_that_fits_32_bits(metric):
    assert metric.height * 2.0**metric.fraction_bits <= 2**29
    if metric.height:
        assert metric.height * 2.0 ** (metric.fraction_bits + 1) > 2**29
        with pytest.raises(ValueError, match="Expected fraction_bits between"):
            TreeMetric(metric.trees, metric.masses, metric.fraction_bits + 1)


@given(st.data())
def test_the_average_has_the_mean_distance(data):
    one = data.draw(metrics())
    other = data.draw(metrics(min_words=one.n_words, max_words=one.n_words))
    counts = data.draw(documents(one.n_words, min_rows=2))

    def distance(metric):
        rows = embed(metric, counts, fixed_point=False).toarray()
        return abs(rows[0] - rows[1]).sum()

    mean = (distance(one) + distance(other)) / 2
    assert distance(TreeMetric.average([one, other])) == pytest.approx(mean, abs=1e-9)


def test_feature_names_match_the_embedding():
    tree = perfect_tree(2, 1).with_words([1, 1, 2])
    metric = TreeMetric(tree)
    names = metric.feature_names(["a", "b", "c"])
    row = embed(metric, [[0, 1, 0]]).toarray()[0]
    assert names[row > 0].tolist() == ["node1", "word_b"]
    both = TreeMetric([tree, star_tree(3)])
    assert len(both.feature_names()) == both.n_features == len(set(both.feature_names()))
    assert both.feature_names()[-1] == "tree1_word2"
    with pytest.raises(ValueError, match="one name per word"):
        metric.feature_names(["a"])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "at least one tree"),
        (("star",), TypeError, "sequence of them, got str"),
        (([star_tree(2), star_tree(3)],), ValueError, r"same words, got \[2, 3\]"),
        ((star_tree(2), [1, -1]), ValueError, "non-negative masses"),
        ((star_tree(2), [1, np.nan]), ValueError, "finite"),
        ((star_tree(2), [1, 1, 1]), ValueError, r"masses of shape \(2,\)"),
        (([star_tree(2)] * 2, [[1, 1]] * 3), ValueError, r"2 component\(s\), got 3"),
        (([star_tree(2)] * 2, [[1, 1], [1, 0]]), ValueError, "in all components or in none"),
        ((Tree([-1, 0], [1, 1e308], [1], [1e308]),), ValueError, "overflow"),
        ((star_tree(1, [1.5e308]),), ValueError, "longest paths between"),
        ((star_tree(1, [5e-324]),), ValueError, "longest paths between"),
        ((star_tree(1), 3.0), ValueError, r"masses of shape \(n_words,\) or \(n_components, n_words\)"),
        ((star_tree(1), None, 2.7), TypeError, "fraction_bits as an integer, got float"),
        ((star_tree(1), None, "3"), TypeError, "fraction_bits as an integer, got str"),
        ((star_tree(1), None, -5000), ValueError, "between 0 and 29"),
    ],
)
def test_invalid_metrics_are_refused(arguments, error, message):
    with pytest.raises(error, match=message), np.errstate(over="ignore"):
        TreeMetric(*arguments)


def test_what_is_derived_cannot_be_changed():
    metric = TreeMetric(star_tree(2))
    for array in (metric.word_features[0].data, metric.known_words, metric.masses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_components_are_counted_from_zero():
    metric = TreeMetric([star_tree(2), perfect_tree(2, 1).with_words([1, 2])])
    assert metric.component(1).depth == 1
    for number in (-1, 2):
        with pytest.raises(ValueError, match=f"component between 0 and 1, got {number}"):
            metric.component(number)


def test_averaging_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one metric"):
        TreeMetric.average([])


def test_a_metric_of_length_zero_is_allowed():
    metric = TreeMetric(star_tree(2, [0, 0]))
    assert metric.height == 0
    assert embed(metric, [[1, 2]]).nnz == 0
