import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from treewass import EmptyDocumentWarning
from treewass.classify import ComparedNeighbors
from treewass.distances import flowtree, wmd, wmd_neighbors
from treewass.documents import AlignedVectors, svd_vectors
from treewass.documents.synthetic import make_documents
from treewass.votes import fallback_vote

COUNTS, LABELS = make_documents(60, n_words=40, words_per_document=6, random_state=0)
VECTORS = np.random.RandomState(0).normal(size=(40, 3))


def test_votes_of_the_nearest_rows():
    model = ComparedNeighbors(distance=flowtree, word_vectors=VECTORS, n_neighbors=5).fit(COUNTS[:40], LABELS[:40])
    distances = flowtree(COUNTS[40:], COUNTS[:40], word_vectors=VECTORS)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :5]
    codes = np.searchsorted(model.classes_, LABELS[:40])
    assert np.array_equal(model.predict_proba(COUNTS[40:]), fallback_vote(codes[nearest], model.classes_.size))
    assert clone(model).get_params()["n_neighbors"] == 5


def test_settings_reach_the_function_and_ties_go_to_the_earlier_row():
    seen = {}

    def constant(X, Y, *, word_vectors, power):
        seen["power"], seen["vectors"] = power, word_vectors
        return np.zeros((X.shape[0], Y.shape[0]))

    model = ComparedNeighbors(distance=constant, word_vectors=VECTORS, settings={"power": 2}, n_neighbors=1)
    assert (model.fit(COUNTS, LABELS).predict(COUNTS[5:8]) == LABELS[0]).all()
    assert seen["power"] == 2
    assert seen["vectors"] is VECTORS


def test_an_estimator_is_fitted_and_asked_for_distances():
    class Learned(BaseEstimator):
        def fit(self, X, y):
            self.seen_ = X.shape, len(set(y))
            return self

        def pairwise(self, X, Y):
            assert self.seen_ == (COUNTS.shape, len(set(LABELS)))
            return flowtree(X, Y, word_vectors=VECTORS)

    learned = ComparedNeighbors(distance=Learned(), word_vectors=VECTORS).fit(COUNTS, LABELS)
    plain = ComparedNeighbors(distance=flowtree, word_vectors=VECTORS).fit(COUNTS, LABELS)
    assert np.array_equal(learned.predict_proba(COUNTS), plain.predict_proba(COUNTS))


def test_documents_without_a_vector_get_the_prior_and_are_no_neighbours():
    vectors = AlignedVectors(np.array([[0.0], [1.0], [0.0]]), [True, True, False], ("yeti",))
    model = ComparedNeighbors(distance=flowtree, word_vectors=vectors, n_neighbors=1)
    with pytest.warns(EmptyDocumentWarning, match=r"rows 2\): they are never neighbours"):
        model.fit([[1, 0, 1], [0, 1, 0], [0, 0, 2], [1, 0, 0]], ["a", "b", "b", "a"])
    with pytest.warns(EmptyDocumentWarning, match="class prior"):
        found = model.predict_proba([[0, 0, 9], [0, 3, 0]])
    assert found.tolist() == [[0.5, 0.5], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors as an integer of at least 1"),
        ({"word_vectors": VECTORS[:7]}, "each of the 40 columns of X, got 7"),
        (
            {"word_vectors": AlignedVectors(VECTORS, np.zeros(40, bool), tuple("abcd" * 10))},
            "at least one document with a word",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::treewass.documents.EmptyDocumentWarning")
def test_bad_parameters_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ComparedNeighbors(**{"distance": flowtree, "word_vectors": VECTORS} | settings).fit(COUNTS, LABELS)


def test_vectors_are_made_from_the_documents_by_default():
    plain = ComparedNeighbors(distance=flowtree, n_neighbors=5).fit(COUNTS, LABELS)
    given = ComparedNeighbors(distance=flowtree, word_vectors=svd_vectors(COUNTS), n_neighbors=5).fit(COUNTS, LABELS)
    assert np.array_equal(plain.predict_proba(COUNTS), given.predict_proba(COUNTS))


def test_a_search_answers_as_all_distances_do():
    counts, labels = make_documents(40, n_words=30, words_per_document=6, random_state=0)
    vectors = np.random.RandomState(0).normal(size=(30, 3))
    by_distance = ComparedNeighbors(distance=wmd, word_vectors=vectors, n_neighbors=5).fit(counts, labels)
    by_search = ComparedNeighbors(search=wmd_neighbors, word_vectors=vectors, n_neighbors=5).fit(counts, labels)
    assert np.array_equal(by_search.predict_proba(counts), by_distance.predict_proba(counts))


def test_neighbours_are_those_of_all_distances():
    counts, labels = make_documents(40, n_words=30, words_per_document=6, random_state=0)
    vectors = np.random.RandomState(0).normal(size=(30, 3))
    expected = wmd(counts[:7], counts[7:], word_vectors=vectors)
    order = np.argsort(expected, axis=1, kind="stable")[:, :5]
    for chosen in ({"distance": wmd}, {"search": wmd_neighbors}):
        model = ComparedNeighbors(word_vectors=vectors, n_neighbors=3, **chosen).fit(counts[7:], labels[7:])
        distances, rows = model.kneighbors(counts[:7], 5)
        assert np.array_equal(rows, order)
        assert np.allclose(distances, np.take_along_axis(expected, order, axis=1))
        assert np.array_equal(model.kneighbors(counts[:7], return_distance=False), order[:, :3])
        assert model.kneighbors(counts[:1], 99)[1].shape == (1, 33)


@pytest.mark.parametrize("given", [{"distance": wmd}, {"search": wmd_neighbors}])
def test_training_documents_find_others(given):
    model = ComparedNeighbors(**given, word_vectors=VECTORS, n_neighbors=3).fit(COUNTS[:20], LABELS[:20])
    expected = wmd(COUNTS[:20], word_vectors=VECTORS)
    np.fill_diagonal(expected, np.inf)
    rows = np.argsort(expected, axis=1, kind="stable")[:, :3]
    distances, found = model.kneighbors()
    assert np.array_equal(found, rows)
    assert np.allclose(distances, np.take_along_axis(expected, rows, axis=1))


def test_training_documents_without_a_vector_are_neither_asked_for_nor_found():
    vectors = AlignedVectors(np.array([[0.0], [1.0], [0.0]]), [True, True, False], ("yeti",))
    model = ComparedNeighbors(distance=flowtree, word_vectors=vectors)
    with pytest.warns(EmptyDocumentWarning, match="never neighbours"):
        model.fit([[0, 0, 2], [1, 0, 1], [0, 1, 0]], ["a", "b", "b"])
    assert model.kneighbors(return_distance=False).tolist() == [[2], [1]]


def test_neighbours_of_nothing_are_refused():
    model = ComparedNeighbors(distance=wmd, word_vectors=[[0.0], [1.0]]).fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.raises(ValueError, match="rows 1 hold none"):
        model.kneighbors([[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="at least 1"):
        model.kneighbors([[1, 0]], 0)


@pytest.mark.parametrize("given", [{}, {"distance": wmd, "search": wmd_neighbors}])
def test_either_a_distance_or_a_search_is_demanded(given):
    with pytest.raises(ValueError, match="either distance or search"):
        ComparedNeighbors(word_vectors=[[0.0], [1.0]], **given).fit([[1, 0], [0, 1]], ["a", "b"])
