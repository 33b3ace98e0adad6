import numpy as np
import pytest

from tests.report.cases import labelled_texts
from treewass import DocumentModel, EmptyDocumentWarning
from treewass.report import map_documents


def test_documents_of_a_class_lie_together(case):
    model, _ = case
    found = map_documents(model.contents_)
    assert found.n_documents == len(found.ids) == len(model.index_)
    places = np.array(found.places)
    assert places.min() == 0
    assert places.max() == 1
    labels = np.array([model.document(number).label for number in found.ids])
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(len(places))
    assert (labels[apart.argmin(axis=1)] == labels).mean() > 0.8


def test_the_same_model_has_the_same_map(case):
    model, _ = case
    assert map_documents(model.contents_) == map_documents(model.contents_)


def test_a_large_model_is_sampled(case):
    model, _ = case
    found = map_documents(model.contents_, max_documents=50)
    assert len(found.ids) == 50
    assert found.n_documents == len(model.index_)
    assert found.is_sample
    assert set(found.ids) <= set(model.contents_.documents.ids.tolist())


def test_few_and_equal_documents_have_places():
    for n_documents in (2, 3, 12):
        texts = ["a cat", "a dog"] * n_documents
        model = DocumentModel(n_neighbors=1).fit(
            texts[:n_documents], ["cat", "dog"] * (n_documents // 2) + ["cat"] * (n_documents % 2)
        )
        places = np.array(map_documents(model.contents_).places)
        assert places.shape == (n_documents, 2)
        assert np.isfinite(places).all()
    model.remove(range(1, 12))
    assert map_documents(model.contents_).places == ((0.0, 0.0),)


def test_documents_without_a_label_are_on_the_map():
    texts, labels, _ = labelled_texts(60)
    model = DocumentModel(n_neighbors=3).fit(texts, labels)
    (number,) = model.add([texts[0]]).tolist()
    assert number in map_documents(model.contents_).ids


def test_documents_added_with_new_words_are_on_the_map():
    texts, labels, _ = labelled_texts(60)
    model = DocumentModel(n_neighbors=3).fit(texts, labels)
    with pytest.warns(EmptyDocumentWarning, match="1 document"):
        some, none = model.add([f"{texts[0]} unheard", "---"]).tolist()
    assert some in map_documents(model.contents_).ids
    found = map_documents(model.contents_)
    assert none not in found.ids
    assert (found.n_unknown, found.is_sample) == (1, False)
