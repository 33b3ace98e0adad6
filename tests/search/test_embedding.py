import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from tests.oracles import equation_one, linear_program
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.search.embedding import MASS_BITS, embed, embed_units, mass_units
from treewass.trees import perfect_tree, star_tree


@st.composite
def metric_and_documents(draw, min_rows=2, **options):
    metric = draw(metrics(max_components=3, **options))
    return metric, draw(documents(metric.n_words, min_rows=min_rows))


@settings(max_examples=300)
@given(metric_and_documents())
def test_l1_distance_is_the_linear_program_under_the_tree_metric(case):
    metric, counts = case
    rows = embed(metric, counts, fixed_point=False).toarray()
    expected = linear_program(metric, counts[0], counts[1])
    assert abs(rows[0] - rows[1]).sum() == pytest.approx(expected, abs=1e-9)


@settings(max_examples=300)
@given(metric_and_documents())
def test_l1_distance_is_equation_one(case):
    metric, counts = case
    rows = embed(metric, counts, fixed_point=False).toarray()
    assert abs(rows[0] - rows[1]).sum() == pytest.approx(equation_one(metric, counts[0], counts[1]), abs=1e-9)


@settings(max_examples=300)
@given(metric_and_documents())
def test_fixed_point_stays_within_its_bound(case):
    metric, counts = case
    rounded, real = embed(metric, counts).toarray(), embed(metric, counts, fixed_point=False).toarray()
    features = ((real[0] > 0) | (real[1] > 0)).sum()
    deviation = abs(abs(rounded[0] - rounded[1]).sum() - abs(real[0] - real[1]).sum())
    assert deviation <= features * metric.resolution


@given(metric_and_documents())
def test_fixed_point_entries_are_whole_units_and_exactly_summable(case):
    metric, counts = case
    embedded = embed(metric, counts)
    units = np.ldexp(embedded.data, metric.fraction_bits)
    assert np.array_equal(units, np.rint(units))
    assert (units >= 1).all()
    assert np.array_equal(embedded.toarray(), np.ldexp(embed_units(metric, counts).toarray(), -metric.fraction_bits))
    assert embed_units(metric, counts).toarray().astype(np.int64).sum(axis=1).max() < 2**30


@given(metric_and_documents(min_rows=1), st.integers(1, 7))
def test_embedding_does_not_depend_on_scale_or_on_the_other_rows(case, factor):
    metric, counts = case
    together = embed_units(metric, counts).toarray()
    for row, alone in enumerate(counts):
        assert np.array_equal(embed_units(metric, alone[None] * factor).toarray()[0], together[row])


@given(metric_and_documents(min_rows=1))
def test_masses_add_up_to_exactly_one(case):
    metric, counts = case
    for component in range(metric.n_components):
        masses = mass_units(metric, counts, component).toarray()
        assert (masses.sum(axis=1) == 2**MASS_BITS).all()
        assert (masses >= 0).all()


def test_remainder_goes_to_the_first_of_the_heaviest_words():
    masses = mass_units(TreeMetric(star_tree(4)), [[0, 1, 1, 1]]).toarray()[0]
    third = round(2**MASS_BITS / 3)
    assert masses.tolist() == [0, 2**MASS_BITS - 2 * third, third, third]


def test_a_word_of_mass_zero_is_unknown():
    metric = TreeMetric(star_tree(3), masses=[1, 1, 0])
    assert np.array_equal(embed(metric, [[1, 1, 0]]).toarray(), embed(metric, [[1, 1, 9]]).toarray())
    assert embed(metric, [[0, 0, 4]]).nnz == 0


def test_empty_documents_give_rows_of_zeros_anywhere():
    metric = TreeMetric(perfect_tree(2, 2).with_words([3, 4, 5]))
    counts = np.array([[0, 0, 0], [1, 2, 0], [0, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]])
    embedded = embed(metric, counts).toarray()
    assert (embedded[[0, 2, 3, 5]] == 0).all()
    assert np.array_equal(embedded[[1, 4]], embed(metric, counts[[1, 4]]).toarray())
    assert embed(metric, np.zeros((2, 3))).nnz == 0
    assert embed(metric, np.zeros((0, 3))).shape == (0, metric.n_features)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float32, bool, np.float64])
def test_any_real_type_and_container_gives_the_same_embedding(kind):
    metric = TreeMetric(perfect_tree(3, 2).with_words(np.arange(13)))
    counts = (np.random.default_rng(0).random((5, 13)) < 0.4).astype(kind)
    counts[:, 0] = 1
    expected = embed(metric, counts).toarray()
    for container in (csr_array, lambda dense: csr_array(dense).tocsc(), lambda dense: csr_array(dense).tocoo()):
        assert np.array_equal(embed(metric, container(counts)).toarray(), expected)


def test_lengths_of_any_magnitude_keep_their_relative_precision():
    counts = [[3, 1], [1, 5]]
    plain = cdist(*[embed(TreeMetric(star_tree(2)), counts).toarray()] * 2, "cityblock")[0, 1]
    for factor in (1e-200, 1e-3, 1e12, 1e200):
        metric = TreeMetric(star_tree(2, np.full(2, factor)))
        rows = embed(metric, counts).toarray()
        assert abs(rows[0] - rows[1]).sum() / factor == pytest.approx(plain, rel=1e-7)


def test_wrong_width_is_refused():
    with pytest.raises(ValueError, match="X has 2 features, but TreeMetric is expecting 3"):
        embed(TreeMetric(Tree([-1], word_nodes=[0, 0, 0])), [[1, 2]])
