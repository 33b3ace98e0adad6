import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from treewass import DocumentModel, ProfileTreeWasserstein
from treewass.documents import WordVectors

TEXTS = ["cats purr", "a cat sleeps", "the cat purrs", "dogs bark", "a dog growls", "the dog barks"] * 4
LABELS = ["cat", "cat", "cat", "dog", "dog", "dog"] * 4
VECTORS = WordVectors(
    ("cat", "kitten", "purr", "dog", "puppy", "bark"),
    [[1.0, 0.0], [0.9, 0.1], [0.8, 0.0], [0.0, 1.0], [0.1, 0.9], [0.0, 0.8]],
)


@pytest.fixture(scope="module")
def model():
    return DocumentModel(word_vectors=VECTORS, n_neighbors=3).fit(TEXTS, LABELS)


def test_words_that_no_text_holds_are_known_by_their_vectors(model):
    assert model.predict(["kitten", "puppy"]).tolist() == ["cat", "dog"]
    assert {"kitten", "puppy"} <= set(model.words_)
    assert "kitten" not in DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).words_


def test_a_loaded_model_answers_the_same_and_says_what_it_cannot_learn_again(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    queries = ["a kitten purrs", "puppy", "the dog and the cat"]
    assert np.array_equal(loaded.predict_proba(queries), model.predict_proba(queries))
    assert list(loaded.contents_.channels) == list(model.contents_.channels) == ["linear", "vectors"]
    with pytest.raises(ValueError, match=r"Set model\.word_vectors"):
        loaded.update(["a cat"], ["cat"])
    loaded.word_vectors = VECTORS
    loaded.update(["my hamster", "your hamster"], ["hamster", "hamster"])
    assert loaded.predict(["kitten"]).tolist() == ["cat"]
    assert "word vectors" in (tmp_path / "model" / "README.md").read_text()


def test_a_file_is_read_again_by_update(tmp_path):
    path = tmp_path / "vectors.txt"
    rows = zip(VECTORS.words, VECTORS.vectors.tolist(), strict=True)
    path.write_text("".join(f"{word} {vector[0]} {vector[1]}\n" for word, vector in rows))
    DocumentModel(word_vectors=path, n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    loaded.update(["a cat"], ["cat"])
    assert loaded.predict(["puppy"]).tolist() == ["dog"]


def test_a_vectorizer_of_scikit_learn_keeps_its_words():
    pairs = CountVectorizer(ngram_range=(1, 2))
    model = DocumentModel(word_vectors=VECTORS, vectorizer=pairs, n_neighbors=3).fit(TEXTS, LABELS)
    assert "cat purrs" in model.words_
    assert "kitten" not in model.words_


def test_a_learner_given_keeps_its_own_parameters():
    learner = ProfileTreeWasserstein(depth=1)
    model = DocumentModel(metric=learner, word_vectors=VECTORS, n_neighbors=3).fit(TEXTS, LABELS)
    assert learner.word_vectors is None
    assert model.contents_.metric_settings.parameters["depth"] == 1


def test_metrics_without_vectors_are_refused():
    with pytest.raises(ValueError, match=r"takes word vectors, such as .profile.*got 'tfidf'"):
        DocumentModel(metric="tfidf", word_vectors=VECTORS).fit(TEXTS, LABELS)


def test_vectors_of_other_words_are_refused():
    with pytest.raises(ValueError, match=r"None of the .* words of the vocabulary .*Check the language and the case"):
        DocumentModel(word_vectors=WordVectors(("CAT", "DOG"), [[1.0, 0.0], [0.0, 1.0]])).fit(TEXTS, LABELS)
