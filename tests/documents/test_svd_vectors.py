import numpy as np
import pytest

from treewass.documents.histograms import check_counts
from treewass.documents.svd_vectors import svd_word_vectors


def test_inner_products_are_those_of_the_columns():
    counts = check_counts(np.random.RandomState(0).randint(0, 4, (12, 8)))
    vectors = svd_word_vectors(counts, n_components=8)
    logarithms = np.log1p(counts.toarray())
    assert vectors @ vectors.T == pytest.approx(logarithms.T @ logarithms)


def test_there_are_no_more_components_than_documents_or_words():
    assert svd_word_vectors(check_counts([[1, 2, 0]])).shape == (3, 1)
    assert svd_word_vectors(check_counts([[1], [2]])).shape == (1, 1)


def test_words_of_no_document_stand_at_zero():
    assert not svd_word_vectors(check_counts([[1, 2, 0], [3, 0, 0]]))[2].any()


def test_a_seed_gives_the_same_vectors():
    counts = check_counts(np.random.RandomState(0).poisson(0.2, (60, 50)))
    assert np.array_equal(svd_word_vectors(counts, 5), svd_word_vectors(counts, 5))
