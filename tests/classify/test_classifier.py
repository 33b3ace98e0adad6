import numpy as np
import pytest

from treewass import TreeWassersteinClassifier
from treewass.documents import make_documents


@pytest.fixture(scope="module")
def fitted():
    X, y = make_documents(300, n_words=400, words_per_document=12, n_classes=3, random_state=1)
    return TreeWassersteinClassifier().fit(X[:200], y[:200]), X[200:], y[200:]


def test_neighbours_of_training_documents_leave_themselves_out(fitted):
    classifier, _, _ = fitted
    distances, rows = classifier.kneighbors(n_neighbors=5)
    table = classifier.metric_.pairwise(classifier._documents)
    for row in range(200):
        others = np.delete(np.arange(200), row)
        order = others[np.lexsort((others, table[row, others]))][:5]
        assert rows[row].tolist() == order.tolist()
        assert distances[row].tolist() == table[row, order].tolist()


def test_duplicated_documents_still_leave_only_themselves_out():
    X = np.ones((6, 2))
    classifier = TreeWassersteinClassifier("bow", n_neighbors=2).fit(X, [0, 0, 0, 1, 1, 1])
    assert classifier.kneighbors(return_distance=False).tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]


def test_graph_has_one_entry_a_neighbour(fitted):
    classifier, X, _ = fitted
    distances, rows = classifier.kneighbors(X, 4)
    graph = classifier.kneighbors_graph(X, 4, mode="distance")
    assert graph.shape == (len(rows), 200)
    assert np.array_equal(np.take_along_axis(graph.toarray(), rows, axis=1), distances)
    connectivity = classifier.kneighbors_graph(X, 4)
    assert (connectivity.sum(axis=1) == 4).all()
    with pytest.raises(ValueError, match="mode"):
        classifier.kneighbors_graph(X, 4, mode="similarity")


@pytest.mark.parametrize("vote", ["distance", "fallback", "majority"])
def test_predict_is_the_argmax_of_predict_proba(fitted, vote):
    _, X, y = fitted
    classifier = TreeWassersteinClassifier("tfidf", vote=vote).fit(X, y)
    probabilities = classifier.predict_proba(X)
    assert np.array_equal(classifier.predict(X), classifier.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_result_is_the_same_for_every_number_of_threads(fitted):
    classifier, X, _ = fitted
    expected = classifier.predict_proba(X)
    training = classifier._documents
    for n_jobs in (2, 3, -1):
        other = TreeWassersteinClassifier(n_jobs=n_jobs).fit(training, classifier.classes_[classifier._labels])
        assert other.metric_ == classifier.metric_
        assert np.array_equal(other.predict_proba(X), expected)


def test_fewer_documents_than_neighbours():
    classifier = TreeWassersteinClassifier("bow").fit([[1, 0], [0, 1]], ["a", "b"])
    assert classifier.predict([[3, 1]]).tolist() == ["a"]
    assert classifier.kneighbors([[1, 0]], return_distance=False).shape == (1, 2)


def test_one_document_decides_everything():
    classifier = TreeWassersteinClassifier().fit([[1, 1]], ["only"])
    assert classifier.predict([[0, 5]]).tolist() == ["only"]
    assert classifier.kneighbors(return_distance=False).shape == (1, 0)


def test_topical_documents_are_told_apart(fitted):
    classifier, X, y = fitted
    assert classifier.score(X, y) > 0.6
