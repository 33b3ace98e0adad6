import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from treewass import SupervisedTreeWasserstein
from treewass.documents import make_documents, to_histograms
from treewass.learners.stw import parent_probabilities, soft_distances
from treewass.trees import perfect_tree

SMALL = {"arity": 3, "depth": 2, "epochs": 3, "batch_size": 20}


@pytest.fixture(scope="module")
def documents():
    X, y = make_documents(120, n_words=60, words_per_document=8, n_classes=3, random_state=0)
    return csr_array(X, dtype=float), y


@pytest.fixture(scope="module")
def fitted(documents):
    return SupervisedTreeWasserstein(**SMALL).fit(*documents)


def test_variants_of_the_distance(documents, fitted):
    X, _ = documents
    first, second = X[:4], X[4:10]
    plain = fitted.pairwise(first, second)
    smooth = fitted.pairwise(first, second, variant="smooth", smoothness=1e6)
    assert np.allclose(smooth, plain, atol=1e-4)
    assert (fitted.pairwise(first, second, variant="smooth") < plain).all()
    soft = fitted.pairwise(first, second, variant="soft-smooth")
    assert np.array_equal(soft, fitted.pairwise(first, second, variant="soft-smooth", smoothness=10.0, n_jobs=2))
    assert np.allclose(fitted.pairwise(first, variant="soft-smooth").diagonal(), 0)
    for variant in ("smooth", "soft-smooth"):
        distances = fitted.pairwise(X, variant=variant)
        assert np.array_equal(distances, distances.T)
    with pytest.raises(ValueError, match='variant to be "stw", "smooth" or "soft-smooth"'):
        fitted.pairwise(first, variant="hard")
    with pytest.raises(ValueError, match="smoothness as a finite number above zero"):
        fitted.pairwise(first, variant="smooth", smoothness=0)
    with pytest.raises(ValueError, match="smoothness as a finite number above zero, got 'a'"):
        fitted.pairwise(first, variant="smooth", smoothness="a")


@pytest.mark.parametrize("absolute", ["tanh", "huber"])
def test_variants_agree_with_equation_three(documents, absolute):
    X, y = documents
    learner = SupervisedTreeWasserstein(**SMALL, absolute=absolute).fit(X, y)
    rows = torch.tensor(to_histograms(X[:6]).toarray())
    hard = torch.nn.functional.one_hot(torch.tensor(learner.scores_.argmax(axis=1)), 13).double()
    soft = parent_probabilities(torch.tensor(learner.scores_).double())
    for variant, parents in (("smooth", hard), ("soft-smooth", soft)):
        expected = soft_distances(rows, rows, parents, perfect_tree(3, 2), smoothness=4.0, absolute=absolute)
        found = learner.pairwise(X[:6], variant=variant, smoothness=4.0)
        assert np.allclose(found, expected, atol=1e-6)
