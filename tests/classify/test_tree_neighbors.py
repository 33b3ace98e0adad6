import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline

from treewass import EmptyDocumentWarning, QuadtreeWasserstein, TreeNeighbors, TreeWassersteinClassifier
from treewass.documents import make_documents


@pytest.fixture(scope="module")
def documents():
    """Two groups of documents that share no word, and a few new ones."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 60)
    counts = np.zeros((60, 20))
    for row, label in enumerate(labels):
        counts[row] = np.bincount(random.integers(0, 10, 12) + 10 * label, minlength=20)
    return counts[:50], labels[:50], counts[50:], labels[50:]


@pytest.mark.parametrize("metric", ["bow", "tfidf", "profile", QuadtreeWasserstein()], ids=str)
def test_neighbours_are_those_of_brute_force(metric, documents):
    train, labels, new, _ = documents
    model = TreeNeighbors(metric, n_neighbors=4, radius=0.9).fit(train, labels)
    brute = NearestNeighbors(n_neighbors=4, radius=0.9, metric="precomputed").fit(model.metric_.pairwise(train))
    between = model.metric_.pairwise(new, train)
    assert np.array_equal(model.kneighbors(new)[0], brute.kneighbors(between)[0])
    assert np.array_equal(model.kneighbors()[0], brute.kneighbors()[0])
    assert np.array_equal(model.kneighbors_graph(new).sum(axis=1), np.full(10, 4))
    for queries, others in ((new, between), (None, None)):
        distances, rows = model.radius_neighbors(queries)
        expected = brute.radius_neighbors(others, return_distance=False)
        assert [sorted(own) for own in rows] == [sorted(own) for own in expected]
        assert all((np.diff(own) >= 0).all() for own in distances)
        graph = model.radius_neighbors_graph(queries, mode="distance")
        assert (graph != brute.radius_neighbors_graph(others, mode="distance")).nnz == 0
        assert np.array_equal(model.radius_neighbors(queries, return_distance=False)[3], rows[3])


def test_scikit_learns_classifier_takes_the_graph(documents):
    train, labels, new, truth = documents
    for mode in ("distance", "connectivity"):
        graph = TreeNeighbors(n_neighbors=5, mode=mode).fit_transform(train)
        assert graph.shape == (50, 50)
        assert set(np.diff(graph.indptr)) == {6 if mode == "distance" else 5}
    chain = make_pipeline(TreeNeighbors(n_neighbors=5), KNeighborsClassifier(5, metric="precomputed"))
    ours = TreeWassersteinClassifier("bow", n_neighbors=5, vote="majority").fit(train, labels)
    predicted = chain.fit(train, labels).predict(new)
    assert np.array_equal(predicted, truth)
    assert np.array_equal(predicted, ours.predict(new))


def test_clusterings_and_maps_take_the_graph(documents):
    train, labels, _, _ = documents
    near = TreeNeighbors(radius=1.9).fit(train).radius_neighbors_graph(mode="distance")
    found = DBSCAN(eps=1.9, metric="precomputed", min_samples=2).fit_predict(near)
    assert np.array_equal(found == found[0], labels == labels[0])
    graph = TreeNeighbors(n_neighbors=49).fit_transform(train)
    found = HDBSCAN(metric="precomputed", min_cluster_size=10, copy=True).fit_predict(graph.toarray())
    assert np.array_equal(found == found[0], labels == labels[0])
    maps = Isomap(n_neighbors=40, metric="precomputed").fit_transform(graph)
    assert abs(np.corrcoef(maps[:, 0], labels)[0, 1]) > 0.9


def test_documents_without_a_known_word(documents):
    train, _, new, _ = documents
    model = TreeNeighbors(n_neighbors=2).fit(train)
    with_empty = np.vstack([new[:1], np.zeros((1, 20)), new[1:2]])
    with pytest.warns(EmptyDocumentWarning, match=r"1 document\(s\).*rows 1.*no neighbours"):
        graph = model.transform(with_empty)
    assert np.diff(graph.indptr).tolist() == [3, 0, 3]
    assert (graph[[0, 2]] != model.transform(new[:2])).nnz == 0
    with pytest.warns(EmptyDocumentWarning):
        assert model.transform(np.zeros((2, 20))).nnz == 0
    with pytest.raises(ValueError, match="Expected a known word in each document, rows 1 hold none"):
        model.radius_neighbors(with_empty)
    with pytest.warns(EmptyDocumentWarning, match="never returned"):
        model.fit(with_empty)
    assert set(model.kneighbors(new, 9, return_distance=False).ravel()) == {0, 2}


def test_a_metric_to_learn_needs_labels():
    X, y = make_documents(30, n_classes=2, random_state=0)[:2]
    with pytest.raises(ValueError, match="requires y to be passed"):
        TreeNeighbors("profile").fit(X)
    assert TreeNeighbors("profile").fit(X, y).learner_ is not None
    with pytest.raises(ValueError, match="Expected mode to be one of distance, connectivity, got 'near'"):
        TreeNeighbors(mode="near").fit(X)
    assert sp.issparse(TreeNeighbors().fit_transform(X))
