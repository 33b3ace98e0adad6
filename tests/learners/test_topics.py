import numpy as np
import pytest
from scipy.sparse import csr_array

from treewass import EmptyDocumentWarning, ProfileTreeWasserstein, TopicTreeWasserstein
from treewass.documents import make_documents


def test_it_is_the_profile_tree_of_its_topics():
    counts, _ = make_documents(120, n_words=60, n_classes=4, random_state=0)
    learner = TopicTreeWasserstein(random_state=3).fit(counts)
    assert np.unique(learner.topics_).size == 11  # about the square root of 120
    random = np.random.RandomState(3)
    random.randint(2**31 - 1, size=2)  # of the decomposition and of k-means
    plain = ProfileTreeWasserstein(refine=False, random_state=random.randint(2**31 - 1)).fit(counts, learner.topics_)
    assert np.array_equal(learner.pairwise(counts), plain.pairwise(counts))


def test_documents_of_separate_words_have_topics_of_their_own():
    rng = np.random.default_rng(0)
    blocks = [np.zeros((20, 40)) for _ in range(2)]
    for number, block in enumerate(blocks):
        block[:, 20 * number : 20 * number + 20] = rng.poisson(1.0, size=(20, 20)) + np.eye(20)
    learner = TopicTreeWasserstein(n_topics=2).fit(np.vstack(blocks))
    assert np.array_equal(learner.topics_, np.repeat(learner.topics_[[0, 20]], 20))
    distances = learner.pairwise(np.vstack(blocks))
    assert distances[:20, :20].max() < distances[:20, 20:].min()


def test_numbers_of_threads_and_forms_of_counts_do_not_matter():
    counts, _ = make_documents(60, n_words=30, random_state=1)
    one, other = TopicTreeWasserstein().fit(counts), TopicTreeWasserstein().fit(csr_array(counts).toarray())
    assert np.array_equal(one.topics_, other.topics_)
    assert one.metric_ == other.metric_ or np.array_equal(one.pairwise(counts), other.pairwise(counts))


@pytest.mark.parametrize("documents", [[[1, 2]], [[1, 0], [1, 0], [1, 0]], [[1, 0], [0, 1]]], ids=str)
def test_few_or_equal_documents_are_enough(documents):
    learner = TopicTreeWasserstein().fit(documents)
    assert np.isfinite(learner.pairwise(documents)).all()
    assert (learner.topics_ >= 0).all()


def test_empty_documents_are_warned_of_and_have_no_topic():
    with pytest.warns(EmptyDocumentWarning, match=r"rows 1\): nothing is learned"):
        learner = TopicTreeWasserstein().fit([[1, 2, 0], [0, 0, 0], [0, 1, 3]])
    assert learner.topics_.tolist().index(-1) == 1
    with pytest.raises(ValueError, match="at least one document with a word"):
        TopicTreeWasserstein().fit([[0, 0]])


def test_a_wrong_number_of_topics_is_refused():
    with pytest.raises(ValueError, match="n_topics"):
        TopicTreeWasserstein(n_topics=0).fit([[1, 2]])
