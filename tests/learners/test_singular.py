import numpy as np
import ot
import pytest
from scipy.spatial.distance import squareform

from treewass import EmptyDocumentWarning
from treewass.documents.synthetic import make_documents
from treewass.learners import SingularTreeWasserstein

COUNTS, LABELS = make_documents(60, n_words=50, words_per_document=12, random_state=0)


def transport(histograms, apart):
    """The exact costs between all rows, the largest one."""
    costs = np.array([[ot.emd2(one, other, apart) for other in histograms] for one in histograms])
    return costs / costs.max()


def singular_vectors(counts, steps=100):
    """Distances between words and between documents by power iterations with exact transport."""
    documents, words = (np.ascontiguousarray(rows / rows.sum(axis=1, keepdims=True)) for rows in (counts, counts.T))
    between_words = 1.0 - np.eye(len(words))
    for _ in range(steps):
        between_documents = transport(documents, between_words)
        between_words = transport(words, between_documents)
    return between_words, between_documents


@pytest.mark.parametrize("seed", range(4))
def test_with_three_words_and_documents_it_is_exact_transport(seed):
    """A tree holds any distances between three points: so nothing is lost to trees, and the vectors are the same."""
    counts = np.random.RandomState(seed).uniform(0.1, 1.0, size=(3, 3)) + np.eye(3)
    expected, between_documents = singular_vectors(counts)
    learner = SingularTreeWasserstein(max_iter=1000, tol=1e-9).fit(counts)
    found = squareform(learner.metric_.trees[0].word_distances(*np.triu_indices(3, 1)))
    assert found.max() == pytest.approx(1.0)
    assert np.allclose(found, expected, atol=1e-3)
    documents = learner.pairwise(counts)
    assert np.allclose(documents / documents.max(), between_documents, atol=1e-3)


def test_lengths_stay_as_they_are_at_the_end():
    learner = SingularTreeWasserstein(tol=1e-6, max_iter=3000).fit(COUNTS)
    assert learner.changes_[-1] <= 1e-6 < learner.changes_[0]
    assert learner.n_iter_ == learner.changes_.size < 3000
    longer = SingularTreeWasserstein(tol=1e-9, max_iter=learner.n_iter_ + 10).fit(COUNTS)
    trees = [one.metric_.trees[0] for one in (learner, longer)]
    pairs = np.triu_indices(50, 1)
    assert np.allclose(*(tree.word_distances(*pairs) for tree in trees), atol=1e-3)


def test_words_that_share_documents_come_near():
    random = np.random.RandomState(0)
    counts = np.kron(np.eye(2), np.ones((20, 10))) * random.poisson(2, size=(40, 20))
    learner = SingularTreeWasserstein(arity=2).fit(counts)
    apart = squareform(learner.metric_.trees[0].word_distances(*np.triu_indices(20, 1)))
    assert apart[:10, :10].max() < apart[:10, 10:].min()
    documents = learner.pairwise(counts)
    assert documents[:20, :20].max() < documents[:20, 20:].min()


def test_a_word_of_no_document_carries_no_mass_and_an_empty_document_is_told():
    counts = np.pad(COUNTS.toarray(), ((0, 1), (0, 1)))
    with pytest.warns(EmptyDocumentWarning):
        metric = SingularTreeWasserstein(max_iter=5).fit(counts).metric_
    plain = SingularTreeWasserstein(max_iter=5).fit(COUNTS).metric_
    assert metric.known_words.tolist() == [True] * 50 + [False]
    assert np.array_equal(metric.pairwise(counts[:60]), plain.pairwise(COUNTS))


def test_one_word_or_one_document():
    assert SingularTreeWasserstein().fit([[1], [2]]).pairwise([[1], [2]]).tolist() == [[0, 0], [0, 0]]
    assert SingularTreeWasserstein().fit([[1, 2]]).metric_.n_words == 2


def test_refusals():
    with pytest.raises(ValueError, match="max_iter"):
        SingularTreeWasserstein(max_iter=0).fit(COUNTS)
    with pytest.raises(ValueError, match="only empty ones"), pytest.warns(EmptyDocumentWarning):
        SingularTreeWasserstein().fit(np.zeros((2, 3)))
