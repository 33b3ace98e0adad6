import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewass.documents.histograms import check_counts, fingerprints
from treewass.learners.profile.class_profiles import ClassProfiles, ColumnCounts


@st.composite
def labelled(draw):
    seed = draw(st.integers(0, 10_000))
    random = np.random.RandomState(seed)
    n_documents, n_words, n_classes = draw(st.integers(2, 12)), draw(st.integers(1, 8)), draw(st.integers(1, 4))
    counts = check_counts(random.randint(0, 3, (n_documents, n_words)) * (random.rand(n_documents, n_words) < 0.6))
    labels = np.append(np.arange(n_classes), random.randint(0, n_classes, n_documents))[:n_documents]
    return counts, labels, n_classes, random.randint(1, 4, n_documents).astype(float)


def dense_profiles(counts, labels, n_classes, weights, smoothing):
    present = counts.toarray() > 0
    by_word = np.stack([weights[labels == label] @ present[labels == label] for label in range(n_classes)], axis=1)
    shares = np.bincount(labels, weights, n_classes) / weights.sum()
    return (by_word + smoothing * shares) / (by_word.sum(axis=1) + smoothing)[:, None], shares


@given(labelled(), st.sampled_from([0.5, 5.0]))
def test_profiles_and_informativeness_follow_their_definition(case, smoothing):
    counts, labels, n_classes, weights = case
    expected, shares = dense_profiles(counts, labels, n_classes, weights, smoothing)
    profiles = ClassProfiles(ColumnCounts.of(counts, labels, n_classes, weights), smoothing)
    words = np.arange(counts.shape[1])
    np.testing.assert_allclose(profiles.shares(words), expected, atol=1e-12)
    present = shares > 0
    divergence = (expected[:, present] * np.log(expected[:, present] / shares[present])).sum(axis=1)
    np.testing.assert_allclose(profiles.informativeness, divergence, atol=1e-12)
    distances = np.linalg.norm(profiles.points(words)[:, None] - profiles.points(words), axis=2)
    hellinger = np.linalg.norm(np.sqrt(expected)[:, None] - np.sqrt(expected), axis=2)
    np.testing.assert_allclose(distances, hellinger, atol=1e-6)


@given(labelled())
def test_leaving_a_document_out_is_counting_without_it(case):
    counts, labels, n_classes, weights = case
    whole = ColumnCounts.of(counts, labels, n_classes, weights)
    profiles = ClassProfiles(whole, 2.0)
    for row in range(len(labels)):
        words = counts[[row]].indices
        kept = np.arange(len(labels)) != row
        fewer = ColumnCounts.of(counts[kept], labels[kept], n_classes, weights[kept])
        expected = ClassProfiles(ColumnCounts(fewer.by_word, whole.by_class), 2.0)  # the class shares stay
        found = profiles.without_own(counts[[row]], labels[[row]], weights[[row]])
        alone = expected.document_counts[words] == 0
        assert np.array_equal(found == -1, alone)
        np.testing.assert_allclose(found[~alone], expected.informativeness[words][~alone], atol=1e-12)


@given(labelled())
def test_counts_add_up(case):
    counts, labels, n_classes, weights = case
    whole = ColumnCounts.of(counts, labels, n_classes, weights)
    parts = ColumnCounts.of(counts[:1], labels[:1], n_classes, weights[:1]) + ColumnCounts.of(
        counts[1:], labels[1:], n_classes, weights[1:]
    )
    assert (whole.by_word != parts.by_word).nnz == 0
    assert np.array_equal(whole.by_class, parts.by_class)


def test_widening_renumbers_classes_and_appends_words():
    counted = ColumnCounts.of(check_counts([[1, 0], [1, 1]]), np.array([0, 1]), 2).widened(3, np.array([0, 2]), 3)
    assert counted.by_word.toarray().tolist() == [[1, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert counted.by_class.tolist() == [1, 0, 1]


def test_words_with_the_same_counts_are_found():
    counts = check_counts([[1, 1, 0, 1], [1, 2, 1, 0], [0, 0, 0, 1]])
    profiles = ClassProfiles(ColumnCounts.of(counts, np.array([0, 1, 1]), 2), 1.0)
    examples, place = profiles.distinct()
    assert place[0] == place[1] == place[3] != place[2]
    assert sorted(examples.tolist()) == [0, 2]


def test_fingerprints_see_columns_and_values_but_not_the_order_of_rows():
    rows = check_counts([[0, 2, 1], [0, 1, 2], [2, 0, 1], [0, 2, 1], [0, 0, 0], [0, 2, 1.0000001]])
    prints = fingerprints(rows)
    assert prints[0] == prints[3]
    assert len(set(prints.tolist())) == 5
    assert np.array_equal(fingerprints(rows[::-1]), prints[::-1])


@pytest.mark.parametrize("n_classes", [1, 300])
def test_any_number_of_classes(n_classes):
    counts = check_counts(np.eye(n_classes))
    profiles = ClassProfiles(ColumnCounts.of(counts, np.arange(n_classes), n_classes), 1.0)
    assert np.isfinite(profiles.informativeness).all()
    assert (profiles.informativeness > 0.1).all() == (n_classes > 1)
