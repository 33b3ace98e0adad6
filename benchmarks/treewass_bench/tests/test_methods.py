from pathlib import Path

import numpy as np
import pytest

from treewass.documents import make_documents
from treewass.model.methods import METHODS as OWN_METHODS
from treewass.model.methods import methods_markdown
from treewass_bench.methods import METHODS, RIVALS, Remembered, SentenceLogistic, SentenceNeighbors
from treewass_bench.rows import RowFiles

ROWS = Path(__file__).resolve().parents[2] / "rows"


def test_rivals_stand_beside_the_methods_of_the_library():
    assert METHODS == OWN_METHODS | RIVALS
    assert not OWN_METHODS.keys() & RIVALS.keys()


def test_the_page_of_methods_holds_the_tables_of_both():
    page = (ROWS.parents[1] / "docs" / "methods.md").read_text("utf-8")
    assert methods_markdown().strip() in page
    assert methods_markdown(RIVALS).strip() in page


@pytest.mark.parametrize(
    "name", ["svm", "svm-pairs", "logistic", "model", pytest.param("minilm", marks=pytest.mark.slow)]
)  # loads a network
def test_rivals_can_be_fitted(name):
    counts, labels = make_documents(60, n_words=40, words_per_document=8, random_state=0)
    documents = [f"word {row.argmax()}" for row in counts.toarray()] if "texts" in str(METHODS[name].needs) else counts
    model = METHODS[name].make().fit(documents, labels)
    assert model.predict(documents).shape == (60,)
    assert set(model.classes_) == set(labels)


def test_stored_rows_are_of_methods_as_they_are():
    """So that a stored row can be measured again, and is not measured twice."""
    rows = RowFiles(ROWS).rows("accuracy")
    assert rows
    for row in rows:
        method = METHODS[row.case["method"]]
        assert (row.case["vote"], row.case["configuration"]) == (method.vote, method.configuration)


class Letters:
    """Counts letters: an embedding that needs no network."""

    def encode(self, texts, **_):
        found = np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_the_nearest_by_cosine_vote():
    model = SentenceNeighbors(n_neighbors=1, encoder=Letters()).fit(["aaab", "bbc", "abcc"], np.array(["x", "y", "z"]))
    assert model.predict(["aab", "ccc"]).tolist() == ["x", "z"]
    distances, rows = model.kneighbors(["aaab"], 3)
    assert rows.tolist() == [[0, 2, 1]]
    assert np.isclose(distances[0, 0], 0, atol=1e-6)
    assert model.predict_proba(["bbbc"]).tolist() == [[0, 1, 0]]


def test_logistic_regression_on_embeddings_chooses_its_penalty():
    texts, labels = ["aaab", "aab", "a" * 9, "bbc", "b" * 7, "bbbc"] * 3, np.array((["x"] * 3 + ["y"] * 3) * 3)
    model = SentenceLogistic(encoder=Letters()).fit(texts, labels)
    assert model.predict(["aaaab", "bbbbc"]).tolist() == ["x", "y"]
    assert model.penalty_ > 0
    assert np.allclose(model.predict_proba(["ab"]).sum(), 1)


def test_a_text_is_embedded_once_and_its_time_is_remembered():
    asked = []

    class Counting(Letters):
        def encode(self, texts, **_):
            asked.extend(texts)
            return 2 * super().encode(texts)  # lengths are the encoder's business

    def load_counting():
        return Counting()

    first, second = Remembered(load_counting), Remembered(load_counting)
    vectors = first.encode(["ab", "c", "ab"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert first.spared == 0
    assert np.array_equal(second.encode(["c", "aac"])[0], vectors[1])
    assert asked == ["ab", "c", "aac"]
    assert second.spared >= 0
