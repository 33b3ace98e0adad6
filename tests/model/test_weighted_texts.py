import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from treewass import DocumentModel

from .conftest import LABELS, TEXTS
from .test_model_folder import data_folder, reseal

QUERIES = ["my cat sleeps", "a dog and a puppy", "wheels of a car", "a cat in a car"]
WEIGHTS = np.random.RandomState(0).randint(0, 4, len(TEXTS)).astype(float)
REPEATED = np.repeat(np.arange(len(TEXTS)), WEIGHTS.astype(int)).tolist()


@pytest.fixture(scope="module")
def weighted():
    titles = [str(row) for row in range(len(TEXTS))]
    return DocumentModel(n_neighbors=3, linear=False).fit(TEXTS, LABELS, titles=titles, sample_weight=WEIGHTS)


def test_weight_is_repetition(weighted):
    repeated = DocumentModel(n_neighbors=3, linear=False)
    repeated.fit([TEXTS[row] for row in REPEATED], [LABELS[row] for row in REPEATED])
    assert weighted.words_ == repeated.words_
    np.testing.assert_allclose(weighted.predict_proba(QUERIES), repeated.predict_proba(QUERIES), rtol=1e-4)
    assert len(weighted.index_) == np.count_nonzero(WEIGHTS)
    assert weighted.document(0).title == str(np.flatnonzero(WEIGHTS)[0])


def test_weights_stay_in_the_folder_and_through_changes(weighted, tmp_path):
    weighted.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(QUERIES), weighted.predict_proba(QUERIES))
    for text, probabilities in zip(QUERIES, weighted.predict_proba(QUERIES), strict=True):
        found = dict(loaded.explain_prediction(text).probabilities)
        assert [found[label] for label in loaded.classes_] == probabilities.tolist()
    loaded.add(["a cat"], ["cat"])
    loaded.remove([0])
    expected = [*WEIGHTS[WEIGHTS > 0][1:], 1.0]
    assert loaded.contents_.documents.weights.tolist() == expected
    loaded.update(["a dog"], ["dog"])
    assert loaded.contents_.documents.weights.tolist() == [*expected, 1.0]


def test_damaged_weights_are_refused(weighted, tmp_path):
    weighted.save(tmp_path / "model")
    path = data_folder(tmp_path / "model") / "documents.safetensors"
    arrays = load_file(path)
    save_file({**arrays, "weights": -arrays["weights"]}, path)
    reseal(tmp_path / "model")
    with pytest.raises(ValueError, match="a finite weight above zero for each document"):
        DocumentModel.load(tmp_path / "model")
