import numpy as np
import pytest

from treewass import QuadtreeWasserstein
from treewass.documents.synthetic import make_documents
from treewass.learners import fit_edge_lengths
from treewass.learners.fitted_lengths import FittedLengths


def test_the_metric_is_the_quadtree_with_fitted_lengths():
    counts, _ = make_documents(30, n_words=20, words_per_document=6, random_state=0)
    vectors = np.random.RandomState(0).normal(size=(20, 3))
    grown = QuadtreeWasserstein(word_vectors=vectors).fit(counts).metric_
    fitted = FittedLengths(word_vectors=vectors).fit(counts)
    assert fitted.metric_ == fit_edge_lengths(grown, counts, word_vectors=vectors)
    assert fitted.n_features_in_ == 20
    with pytest.raises(ValueError, match="each of the 20 columns of X, got 7"):
        FittedLengths(word_vectors=vectors[:7]).fit(counts)
