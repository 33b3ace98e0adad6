import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from treewass import QuadtreeWasserstein, TreeMetric, TreeSlicedWasserstein
from treewass.distances import fit_edge_lengths
from treewass.distances.fitted_lengths import FittedLengths
from treewass.documents import AlignedVectors
from treewass.documents.synthetic import make_documents
from treewass.trees import star_tree
from treewass_bench.datasets import load_set, load_vectors

COUNTS, _ = make_documents(60, n_words=50, words_per_document=6, random_state=0)
VECTORS = np.random.RandomState(0).normal(size=(50, 3))


def mean_error(metric, counts, first, second):
    """How far a metric's distances of pairs of documents are from the true costs."""
    histograms = counts.toarray() / counts.toarray().sum(axis=1, keepdims=True)
    apart = cdist(VECTORS, VECTORS)
    truth = [ot.emd2(histograms[i], histograms[j], apart) for i, j in zip(first, second, strict=True)]
    return abs(metric.pairwise(counts)[first, second] - truth).mean()


@pytest.mark.parametrize("learner", [QuadtreeWasserstein(), TreeSlicedWasserstein(n_trees=3)], ids=str)
def test_error_on_held_out_pairs_is_lower_and_no_length_negative(learner):
    given = learner.set_params(word_vectors=VECTORS).fit(COUNTS).metric_
    fitted = fit_edge_lengths(given, COUNTS[:40], word_vectors=VECTORS, n_word_pairs=5000, n_document_pairs=50)
    pairs = different_rows(20, 100, np.random.RandomState(0))
    assert mean_error(fitted, COUNTS[40:], *pairs) < mean_error(given, COUNTS[40:], *pairs)
    for tree, old in zip(fitted.trees, given.trees, strict=True):
        assert min(tree.edge_lengths.min(), tree.leaf_lengths.min()) >= 0
        assert np.array_equal(tree.parents, old.parents)
        assert np.array_equal(tree.word_nodes, old.word_nodes)


def test_exact_lengths_are_found_where_the_tree_can_hold_the_distances():
    """On a line with the middle as a hub, a star holds all distances."""
    line = np.array([[-2.0], [0.0], [1.0]])
    metric = TreeMetric(star_tree(3))
    fitted = fit_edge_lengths(metric, np.eye(3), word_vectors=line, penalty=1e-7)
    assert fitted.pairwise(np.eye(3)) == pytest.approx(cdist(line, line), abs=1e-2)


def test_words_of_no_pair_change_like_the_others():
    vectors = np.array([[0.0], [10.0], [50.0]])
    fitted = fit_edge_lengths(TreeMetric(star_tree(3)), [[1, 0, 0], [0, 1, 0]], word_vectors=vectors)
    leaves = fitted.trees[0].leaf_lengths
    assert leaves[2] == pytest.approx(leaves[:2].mean())


def test_words_without_a_vector_are_left_out():
    aligned = AlignedVectors(np.array([[0.0], [2.0], [0.0]]), [True, True, False], ("yeti",))
    metric = TreeMetric(star_tree(3), masses=[1, 1, 0])
    fitted = fit_edge_lengths(metric, [[1, 0, 5], [0, 1, 0], [0, 0, 3]], word_vectors=aligned)
    assert fitted.pairwise([[1, 0, 1]], [[0, 1, 0]])[0, 0] == pytest.approx(2.0, rel=1e-6)
    assert np.array_equal(fitted.masses, metric.masses)


def test_word_masses_count_once():
    """Documents over weighted words are those with the weights in their counts."""
    masses = np.random.RandomState(1).uniform(0.1, 5, size=50)
    tree = QuadtreeWasserstein(word_vectors=VECTORS).fit(COUNTS).metric_.trees[0]
    options = {"word_vectors": VECTORS, "n_word_pairs": 5000, "n_document_pairs": 50}
    weighted = fit_edge_lengths(TreeMetric(tree, masses), COUNTS, **options)
    plain = fit_edge_lengths(TreeMetric(tree), COUNTS.multiply(masses).tocsr(), **options)
    assert weighted.trees[0].leaf_lengths == pytest.approx(plain.trees[0].leaf_lengths, rel=1e-9)
    assert weighted.pairwise(COUNTS) == pytest.approx(plain.pairwise(COUNTS.multiply(masses).tocsr()), rel=1e-5)


def test_tiny_vectors_give_the_same_lengths_smaller():
    given = QuadtreeWasserstein(word_vectors=VECTORS).fit(COUNTS).metric_
    options = {"n_word_pairs": 5000, "n_document_pairs": 50}
    fitted, tiny = (
        fit_edge_lengths(given, COUNTS, word_vectors=np.ldexp(VECTORS, exponent), **options) for exponent in (0, -60)
    )
    assert np.ldexp(tiny.trees[0].leaf_lengths, 60) == pytest.approx(fitted.trees[0].leaf_lengths, rel=1e-9)


def test_equal_vectors_give_lengths_of_zero():
    fitted = fit_edge_lengths(TreeMetric(star_tree(2)), [[1, 0], [0, 1]], word_vectors=np.ones((2, 2)))
    assert not fitted.pairwise([[1, 0]], [[0, 1]]).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": 0}, "penalty as a finite number above zero"),
        ({"n_word_pairs": 0}, "n_word_pairs as an integer"),
        ({"n_document_pairs": 1.5}, "n_document_pairs as an integer"),
        ({"word_vectors": VECTORS[:3]}, "each of the metric's 50 words, got 3"),
        ({"X": np.eye(1, 50)}, "two documents or more"),
        ({"metric": TreeMetric([star_tree(50)] * 2, [np.ones(50), np.arange(1, 51)])}, "same word masses"),
    ],
)
def test_bad_arguments_are_refused(settings, message):
    arguments = {"metric": TreeMetric(star_tree(50)), "X": COUNTS, "word_vectors": VECTORS} | settings
    with pytest.raises(ValueError, match=message):
        fit_edge_lengths(arguments.pop("metric"), arguments.pop("X"), **arguments)


@pytest.mark.data
@pytest.mark.slow
def test_error_on_held_out_documents_of_bbcsport_is_lower(data_folder):
    split = load_set("bbcsport", data_folder).split(0)
    vectors = load_vectors(split.words, data_folder)
    given = QuadtreeWasserstein(word_vectors=vectors).fit(split.X_train).metric_
    fitted = fit_edge_lengths(given, split.X_train, word_vectors=vectors, n_document_pairs=200)
    counts = split.X_test[np.flatnonzero(split.X_test[:60] @ vectors.covered)]
    pairs = different_rows(counts.shape[0], 150, np.random.RandomState(0))
    truth = np.array([_true_cost(counts, vectors, i, j) for i, j in zip(*pairs, strict=True)])
    before, after = (metric.pairwise(counts)[pairs] for metric in (given, fitted))
    scaled = before * (before @ truth) / (before @ before)
    assert abs(after - truth).mean() < 0.8 * abs(scaled - truth).mean() < abs(before - truth).mean()


def different_rows(n_rows, n_pairs, random):
    """Draw pairs of different rows."""
    first = random.randint(n_rows, size=n_pairs)
    return first, (first + random.randint(1, n_rows, size=n_pairs)) % n_rows


def _true_cost(counts, vectors, one, other):
    rows = [counts[[row]].toarray().ravel() * vectors.covered for row in (one, other)]
    words = [np.flatnonzero(row) for row in rows]
    apart = cdist(*(vectors.vectors[own].astype(float) for own in words))
    return ot.emd2(*(row[own] / row.sum() for row, own in zip(rows, words, strict=True)), apart)


def test_the_metric_is_the_quadtree_with_fitted_lengths():
    counts, _ = make_documents(30, n_words=20, words_per_document=6, random_state=0)
    vectors = np.random.RandomState(0).normal(size=(20, 3))
    grown = QuadtreeWasserstein(word_vectors=vectors).fit(counts).metric_
    fitted = FittedLengths(word_vectors=vectors).fit(counts)
    assert fitted.metric_ == fit_edge_lengths(grown, counts, word_vectors=vectors)
    assert fitted.n_features_in_ == 20
    with pytest.raises(ValueError, match="each of the 20 columns of X, got 7"):
        FittedLengths(word_vectors=vectors[:7]).fit(counts)
