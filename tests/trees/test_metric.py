import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.trees import PrecisionWarning, embed, perfect_tree, star_tree


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


@given(st.data())
def test_float32_adds_distances_up_exactly_in_any_order(data):
    metric = data.draw(metrics(max_components=2)).for_float32()
    assert metric.for_float32() is metric
    units = np.ldexp(embed(metric, data.draw(documents(metric.n_words, min_rows=2))).toarray(), metric.fraction_bits)
    assert units.sum(axis=1).max() < 2**23
    difference = abs(units[0] - units[1])
    for order in (difference, difference[::-1]):
        assert np.add.accumulate(order.astype(np.float32), dtype=np.float32)[-1] == difference.sum()


def test_a_metric_with_a_coarse_unit_stays_as_it_is():
    metric = TreeMetric(star_tree(3), fraction_bits=4)
    assert metric.for_float32() is metric


@given(metrics(max_components=2))
def test_equal_metrics_have_equal_digests(metric):
    same = TreeMetric(list(metric.trees), metric.masses.tolist(), metric.fraction_bits)
    assert same.digest == metric.digest
    assert len(metric.digest) == 64
    others = [
        TreeMetric(metric.trees, metric.masses * 2),
        TreeMetric(metric.trees, metric.masses, metric.fraction_bits - 1),
        TreeMetric([tree.scaled(1.5) for tree in metric.trees], metric.masses),
        TreeMetric([*metric.trees, metric.trees[0]], [*metric.masses, metric.masses[0]]),
    ]
    assert all((other.digest == metric.digest) == (other == metric) for other in others)


def outlier_metric(distance, n_words=40, **settings):
    """Words at random distances of about one, and one that is far away."""
    lengths = np.random.default_rng(0).uniform(0.5, 1.5, n_words)
    lengths[7] = distance
    return TreeMetric(star_tree(n_words, leaf_lengths=lengths), **settings)


def test_lengths_that_leave_few_digits_are_told_of_with_figures():
    outlier_metric(1e4)
    with pytest.warns(PrecisionWarning, match=r"up to 1e\+05 long.*units of 0.00024.*a quarter of .* most \d{4} units"):
        outlier_metric(1e5)
    with pytest.raises(ValueError, match=r"up to 1e\+08 long.*units of 0.25.*half of them at most 8\. Look for"):
        outlier_metric(1e8)


def test_a_precision_that_is_given_is_taken():
    assert outlier_metric(1e8, fraction_bits=2).fraction_bits == 2
    again = pickle.loads(pickle.dumps(outlier_metric(1e8, fraction_bits=2)))
    assert again.fraction_bits == 2


def test_words_in_one_place_and_unknown_words_are_no_outliers():
    TreeMetric(star_tree(4, leaf_lengths=[0, 0, 1e9, 0]))
    TreeMetric(star_tree(4, leaf_lengths=[1, 2, 1e9, 1]), masses=[1, 1, 0, 1])
    TreeMetric(Tree([-1, 0, 1, 1], edge_lengths=[0, 1e9, 1, 1], word_nodes=[2, 3, 0], leaf_lengths=[1e9, 1e9, 1e9]))


@pytest.mark.filterwarnings("ignore::treewass.trees.PrecisionWarning")
def test_lengths_that_are_accepted_leave_the_neighbours_right():
    """The oracle does not round; a pair that is as near as the fifth, within a percent, may take its place."""
    counts = np.random.default_rng(0).integers(0, 3, (60, 40))
    accepted = 0
    for distance in 10.0 ** np.arange(9):
        try:
            metric = outlier_metric(distance)
        except ValueError:
            continue
        accepted += 1
        rows = embed(metric, counts, fixed_point=False).toarray()
        exact = np.abs(rows[:, None] - rows).sum(axis=2)
        found = np.argsort(metric.pairwise(counts), axis=1)[:, :6]
        sixth = np.sort(exact, axis=1)[:, 5]
        assert (np.take_along_axis(exact, found, 1) <= 1.01 * sixth[:, None]).all()
    assert 5 <= accepted < 9
