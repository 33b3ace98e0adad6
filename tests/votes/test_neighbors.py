import numpy as np
import pytest

from treewass import EmptyDocumentWarning, TreeWassersteinClassifier
from treewass.classify import ComparedNeighbors
from treewass.distances import SupervisedWordMover, flowtree
from treewass.documents import make_documents

X, LABELS = make_documents(30, n_words=20, words_per_document=5, n_classes=2, random_state=0)
VECTORS = np.random.RandomState(0).normal(size=(20, 3))
CLASSIFIERS = [
    TreeWassersteinClassifier("bow", n_neighbors=3, vote="majority"),
    ComparedNeighbors(distance=flowtree, word_vectors=VECTORS, n_neighbors=3),
    SupervisedWordMover(word_vectors=VECTORS, n_neighbors=3, max_iter=2),
]


@pytest.fixture(scope="module", params=CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def fitted(request):
    return request.param.fit(X, LABELS)


def test_the_label_is_that_of_the_largest_probability(fitted):
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(fitted.predict(X), fitted.classes_[probabilities.argmax(axis=1)])


def test_the_graph_holds_the_neighbours(fitted):
    for queries in (X[:4], None):
        distances, rows = fitted.kneighbors(queries, 2)
        graph = fitted.kneighbors_graph(queries, 2, mode="distance")
        assert graph.shape == (len(rows), 30)
        np.testing.assert_array_equal(np.take_along_axis(graph.toarray(), rows, axis=1), distances)
    assert (fitted.kneighbors_graph(X, 2).sum(axis=1) == 2).all()
    with pytest.raises(ValueError, match="mode"):
        fitted.kneighbors_graph(X, mode="similarity")


def test_nothing_known_gets_the_prior_and_has_no_neighbours(fitted):
    with_empty = np.vstack([np.zeros((1, 20)), X[:2].toarray() if hasattr(X, "toarray") else X[:2]])
    with pytest.warns(EmptyDocumentWarning, match=r"rows 0\): they get the class prior"):
        assert np.array_equal(fitted.predict_proba(with_empty)[0], fitted.class_prior_)
    with pytest.raises(ValueError, match=r"Expected a (known word|word with a vector) in each document, rows 0 hold"):
        fitted.kneighbors(with_empty)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.5, "3"])
def test_numbers_of_neighbours_that_are_none_are_refused(fitted, n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors as an integer of at least 1"):
        fitted.kneighbors(X, n_neighbors)
