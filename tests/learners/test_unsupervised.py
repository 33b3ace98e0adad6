import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from treewass import (
    EmptyDocumentWarning,
    QuadtreeWasserstein,
    TreeMetric,
    TreeSlicedWasserstein,
    TreeWassersteinClassifier,
)
from treewass.documents import AlignedVectors, WordVectors
from treewass.documents.synthetic import make_documents
from treewass.documents.word_vectors import UncoveredWordsWarning, finite_vectors
from treewass.trees import cluster_tree, quadtree

VECTORS = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1], [9.0, 0.0]])
PARTLY = AlignedVectors(VECTORS * [[1], [1], [1], [1], [0]], [True, True, True, True, False], ("yeti",))
COUNTS = np.array([[1, 2, 0, 0, 0], [2, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 2, 1, 1]])
MANY, LABELS = make_documents(30, n_words=60, words_per_document=8, random_state=0)
MANY_VECTORS = np.random.RandomState(0).normal(size=(60, 4))


@pytest.mark.parametrize("convention", ["backurs", "indyk-thaper"])
def test_metric_is_the_quadtree_over_the_vectors(convention):
    learner = QuadtreeWasserstein(word_vectors=VECTORS, convention=convention, depth=7, random_state=5).fit(COUNTS)
    random = np.random.RandomState(5)
    assert learner.metric_.trees == (quadtree(VECTORS, convention=convention, depth=7, random_state=random),)
    assert (learner.metric_.masses == 1).all()


def test_a_word_without_a_vector_is_unknown():
    learner = QuadtreeWasserstein(word_vectors=PARTLY).fit(COUNTS)
    assert learner.metric_.known_words.tolist() == [True, True, True, True, False]
    with_and_without = [[0, 0, 2, 1, 1], [0, 0, 2, 1, 0]]
    assert learner.pairwise(with_and_without)[0, 1] == 0
    assert not learner.transform([[0, 0, 0, 0, 3]]).nnz
    with pytest.raises(ValueError, match="at least one known word"):
        learner.pairwise([[0, 0, 0, 0, 3]])


def test_classifier_runs_on_the_engine():
    classifier = TreeWassersteinClassifier(QuadtreeWasserstein(word_vectors=PARTLY), n_neighbors=1, vote="fallback")
    classifier.fit(COUNTS, ["a", "a", "b", "b"])
    assert classifier.predict([[1, 0, 0, 0, 0], [0, 0, 0, 1, 0]]).tolist() == ["a", "b"]
    with pytest.warns(EmptyDocumentWarning, match="class prior"):
        assert classifier.predict_proba([[0, 0, 0, 0, 1]]).tolist() == [[0.5, 0.5]]


def test_pipeline_from_texts_with_vectors_and_without():
    texts, labels = ["cat purrs", "cat meows", "dog barks", "dog growls"] * 3, [0, 0, 1, 1] * 3
    words = CountVectorizer().fit(texts).get_feature_names_out()
    known = ("barks", "cat", "dog", "meows", "purrs")
    vectors = WordVectors(known, [[9.0, 9.0], [0.0, 0.0], [9.0, 8.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.warns(UncoveredWordsWarning):
        aligned = vectors.align(words)
    for given in (aligned, None):
        learner = QuadtreeWasserstein(word_vectors=given)
        model = make_pipeline(CountVectorizer(), TreeWassersteinClassifier(learner, n_neighbors=3, vote="majority"))
        assert model.fit(texts, labels).predict(["a cat", "dog dog"]).tolist() == [0, 1]


def test_repeated_words_and_equal_documents():
    learner = QuadtreeWasserstein(word_vectors=VECTORS).fit(COUNTS)
    assert learner.pairwise([[1, 1, 0, 0, 0]], [[3, 3, 0, 0, 0]])[0, 0] == 0
    same = QuadtreeWasserstein(word_vectors=np.zeros((5, 2))).fit(COUNTS)
    assert not same.pairwise(COUNTS).any()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (VECTORS[:4], "each of the 5 columns of X, got 4"),
        (VECTORS * np.nan, "finite word_vectors"),
        (VECTORS[0], "shape"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, message):
    with pytest.raises(ValueError, match=message):
        QuadtreeWasserstein(word_vectors=vectors).fit(COUNTS)


def test_the_numbers_of_vectors_are_checked_once(monkeypatch):
    checked = []

    def finite(found, words, *, caller):
        checked.append(caller)
        return finite_vectors(found, words, caller=caller)

    monkeypatch.setattr("treewass.documents.word_vectors.finite_vectors", finite)
    QuadtreeWasserstein(word_vectors=VECTORS).fit(COUNTS)
    assert len(checked) == 1


@pytest.mark.parametrize("n_trees", [1, 5, 10])
def test_distance_is_the_mean_of_the_trees_distances(n_trees):
    metric = TreeSlicedWasserstein(n_trees=n_trees, word_vectors=MANY_VECTORS).fit(MANY).metric_
    assert metric.n_components == n_trees
    assert len(set(metric.trees)) == n_trees
    each = [TreeMetric(tree.scaled(n_trees), metric.masses[0]).pairwise(MANY) for tree in metric.trees]
    assert metric.pairwise(MANY) == pytest.approx(np.mean(each, axis=0), rel=1e-6)


def test_result_does_not_depend_on_threads():
    one, two = (TreeSlicedWasserstein(n_trees=4, word_vectors=MANY_VECTORS, n_jobs=jobs).fit(MANY) for jobs in (1, 2))
    assert one.metric_ == two.metric_


def test_arity_and_depth_reach_the_trees():
    learner = TreeSlicedWasserstein(n_trees=2, word_vectors=MANY_VECTORS, arity=2, depth=3).fit(MANY)
    for tree in learner.metric_.trees:
        assert tree.depth == 2
        assert np.bincount(tree.parents[1:]).max() == 2


def test_classifier_runs_on_several_trees():
    classifier = TreeWassersteinClassifier(TreeSlicedWasserstein(n_trees=2), n_neighbors=3).fit(MANY, LABELS)
    assert classifier.metric_.n_components == 2
    assert classifier.predict(MANY).shape == (30,)


def test_bad_number_of_trees_is_refused():
    with pytest.raises(ValueError, match="n_trees as an integer of at least 1, got 0"):
        TreeSlicedWasserstein(n_trees=0).fit(MANY)


@pytest.mark.parametrize("words", ["leaves", "clusters"])
def test_sliced_trees_hold_words_as_asked(words):
    learner = TreeSlicedWasserstein(n_trees=1, word_vectors=MANY_VECTORS, depth=2, words=words).fit(MANY)
    seed = int(np.random.RandomState(0).randint(2**31 - 1, size=1)[0])
    assert learner.metric_.trees == (cluster_tree(MANY_VECTORS, depth=2, words=words, random_state=seed).scaled(1.0),)
