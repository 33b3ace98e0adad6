import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from tests.oracles import equation_one, linear_program
from tests.search import integer_oracle
from tests.strategies import documents, metrics
from treewass import Tree, TreeMetric
from treewass.documents.histograms import check_counts
from treewass.trees import embedding, perfect_tree, star_tree
from treewass.trees.embedding import MASS_BITS, embed, embed_units, mass_units, unknown_rows


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


def assert_identical(one, other):
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=150)
@given(metric_and_documents())
def test_embedding_is_the_sparse_product_bit_for_bit(case):
    metric, counts = case
    expected = integer_oracle.units(metric, counts)
    assert_identical(embed_units(metric, counts).astype(np.int64), expected)
    unrounded = integer_oracle.scaled_units(metric, counts)
    unrounded.data = np.ldexp(unrounded.data, -metric.fraction_bits)
    assert_identical(embed(metric, counts, fixed_point=False), unrounded)


def test_embedding_of_many_features_is_the_sparse_product_bit_for_bit():
    random = np.random.default_rng(0)
    shape = perfect_tree(7, 4)
    lengths = random.exponential(size=shape.n_nodes)
    tree = Tree(shape.parents, lengths, random.integers(0, shape.n_nodes, 3000), random.exponential(size=3000))
    metric = TreeMetric([tree, tree.scaled(0.3)], random.exponential(size=3000))
    counts = random.poisson(0.02, (200, 3000)) * random.exponential(size=3000)
    assert_identical(embed_units(metric, counts).astype(np.int64), integer_oracle.units(metric, counts))


def test_blocks_of_rows_make_one_matrix(monkeypatch):
    counts = np.random.default_rng(0).poisson(0.4, (50, 9))
    metric = TreeMetric(perfect_tree(2, 2).with_words([0, 1, 2, 3, 4, 5, 6, 3, 4]))
    expected = embed_units(metric, counts)
    for block in (1, 7, 49, 50):
        monkeypatch.setattr(embedding, "_BLOCK", block)
        assert_identical(embed_units(metric, counts), expected)


def test_rows_that_overlap_are_checked_before_they_fill_more_than_there_is_room_for():
    metric = TreeMetric(star_tree(50))
    row, words = np.ones(50), np.arange(50, dtype=np.int32)
    broken = csr_array((3, 50))
    broken.data, broken.indices = row, words
    broken.indptr = np.array([0, 50, 0, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="indptr"):
        embed(metric, broken)


def test_totals_that_overflow_are_refused():
    with pytest.raises(ValueError, match="row 1 overflows"):
        embed(TreeMetric(star_tree(8)), [[1] * 8, [1e308] * 8])


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


def test_documents_without_a_known_word_are_found_in_blocks(monkeypatch):
    metric = TreeMetric(star_tree(3), masses=[1, 0, 1])
    counts = check_counts([[0, 2, 0], [1, 2, 0], [0, 0, 0], [0, 0, 3], [0, 1, 0]])
    for rows in (1, 2, 5):
        monkeypatch.setattr(embedding, "_CHECKED", rows)
        assert unknown_rows(metric, counts).tolist() == [0, 2, 4]
    assert unknown_rows(metric, counts[:0]).tolist() == []


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


def test_tiny_masses_and_counts_do_not_vanish():
    tiny = TreeMetric(star_tree(2), [1e-200, 1e-200])
    plain = TreeMetric(star_tree(2))
    counts = [[1e-200, 1e-200], [1, 0]]
    assert np.array_equal(embed(tiny, counts).toarray(), embed(plain, [[1, 1], [1, 0]]).toarray())
    assert tiny.pairwise(counts)[0, 1] == plain.pairwise([[1, 1], [1, 0]])[0, 1] == 1


def test_weights_too_small_for_a_float_are_refused_not_zero():
    metric = TreeMetric(star_tree(2), [1.0, 1e-300])
    with pytest.raises(ValueError, match="at least one known word"):
        metric.pairwise([[0, 1e-200]], [[1, 0]])
    with pytest.raises(ValueError, match="at least one known word"):
        metric.pairwise([[1, 0]], [[0, 1e-200]])
