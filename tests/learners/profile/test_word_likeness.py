import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treewass.documents.histograms import check_counts
from treewass.learners.profile.class_profiles import ClassProfiles, ColumnCounts
from treewass.learners.profile.word_likeness import smoothed_profiles


@st.composite
def documents_with_vectors(draw):
    """A few documents over up to 30 words, some never used, some without a vector."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_documents, n_words, n_classes = draw(st.integers(2, 8)), draw(st.integers(1, 30)), draw(st.integers(1, 3))
    counts = random.integers(0, 3, (n_documents, n_words)) * (random.random((n_documents, n_words)) < 0.4)
    vectors = random.normal(size=(n_words, 3)) * (random.random((n_words, 1)) < 0.8)
    labels, weights = random.integers(0, n_classes, n_documents), random.integers(1, 4, n_documents).astype(float)
    return check_counts(counts), labels, n_classes, weights, vectors.astype(np.float32)


def lent(vectors, by_word):
    """How much of each word's documents each word borrows, written down as in the documentation."""
    shares = np.zeros((len(vectors), len(vectors)))
    lengths = np.linalg.norm(vectors, axis=1)
    for word in np.flatnonzero(lengths):
        others = [u for u in np.flatnonzero(lengths) if u != word and by_word[u].sum() > 0]
        likeness = {u: max(vectors[word] @ vectors[u] / lengths[word] / lengths[u], 0.0) for u in others}
        nearest = sorted(others, key=lambda u: -likeness[u])[:10]
        total = sum(likeness[u] * by_word[u].sum() for u in nearest)
        for u in nearest:
            shares[word, u] = 10 * likeness[u] / (total + 5)
    return shares


@given(documents_with_vectors())
def test_every_word_with_a_vector_borrows_from_the_ten_nearest_labelled_words(case):
    counts, labels, n_classes, weights, vectors = case
    counted = ClassProfiles(ColumnCounts.of(counts, labels, n_classes, weights), 2.0)
    by_word = counted.counts.by_word.toarray()
    smoothed = smoothed_profiles(counted, vectors)
    expected = by_word + lent(vectors, by_word) @ by_word
    np.testing.assert_allclose(smoothed.counts.by_word.toarray(), expected, atol=1e-5)
    assert np.array_equal(smoothed.counts.by_class, counted.counts.by_class)


@given(documents_with_vectors())
def test_what_is_left_of_a_document_does_not_depend_on_its_label(case):
    counts, labels, n_classes, weights, vectors = case
    shares = ColumnCounts.of(counts, labels, n_classes, weights).by_class  # held fixed
    for row in range(len(labels)):
        found = []
        for label in range(n_classes):
            changed = np.where(np.arange(len(labels)) == row, label, labels)
            counted = ColumnCounts.of(counts, changed, n_classes, weights)
            profiles = smoothed_profiles(ClassProfiles(ColumnCounts(counted.by_word, shares + 1), 2.0), vectors)
            found.append(profiles.without_own(counts[[row]], changed[[row]], weights[[row]]))
        np.testing.assert_allclose(found, np.tile(found[0], (n_classes, 1)), atol=1e-6)


@given(documents_with_vectors())
def test_leaving_a_document_out_takes_its_counts_from_every_lender(case):
    counts, labels, n_classes, weights, vectors = case
    counted = ColumnCounts.of(counts, labels, n_classes, weights)
    shares = lent(vectors, counted.by_word.toarray())  # how much is lent stays
    profiles = smoothed_profiles(ClassProfiles(counted, 2.0), vectors)
    for row in range(len(labels)):
        kept = np.arange(len(labels)) != row
        fewer = ColumnCounts.of(counts[kept], labels[kept], n_classes, weights[kept]).by_word.toarray()
        expected = ClassProfiles(ColumnCounts(check_counts(fewer + shares @ fewer), counted.by_class), 2.0)
        words = counts[[row]].indices
        found = profiles.without_own(counts[[row]], labels[[row]], weights[[row]])
        np.testing.assert_allclose(np.maximum(found, 0), expected.informativeness[words], atol=1e-5)
