import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from treewass import DocumentModel
from treewass.model.vectorizers import WordCounter, make_counter
from treewass.model.word_pairs import count_terms, term_names

from .test_model_folder import data_folder, reseal

QUERIES = ["not good at all", "good, not bad", "a film", "what a bad and dull film"]


@pytest.fixture(scope="module")
def reviews():
    """The words good and bad are in every text: their order with *not* decides."""
    random = np.random.RandomState(0)
    fillers = [" ".join(random.choice(["film", "plot", "actor", "scene", "music"], 3)) for _ in range(60)]
    texts = [
        f"{fill} good not bad {fill}" if row % 2 else f"{fill} bad not good {fill}" for row, fill in enumerate(fillers)
    ]
    return texts, ["poor", "fine"] * 30


@pytest.fixture(scope="module")
def fitted(reviews):
    return DocumentModel(n_neighbors=3).fit(*reviews)


@pytest.mark.parametrize(
    "vectorizer",
    [None, CountVectorizer(stop_words=["the"]), TfidfVectorizer()],
    ids=["words", "stop words", "tfidf"],
)
def test_terms_are_those_of_scikit_learn(vectorizer):
    texts = ["The hot dog: the DOG!", "hot, hot dog", "", "a cat"]
    counter = make_counter(vectorizer).fitted(texts)
    counted = count_terms(counter, [*texts, "hot unseen dog"], len(counter.words))
    pattern = counter.settings().get("token_pattern", r"(?u)\b\w\w+\b")
    stop_words = ["the"] if getattr(vectorizer, "stop_words", None) else None
    pairs = CountVectorizer(ngram_range=(1, 2), token_pattern=pattern, stop_words=stop_words).fit(texts)
    expected = pairs.transform([*texts, "hot unseen dog"]).toarray()
    found = np.zeros_like(expected)
    documents = np.repeat(np.arange(5), np.diff(counted.indptr))
    columns = [pairs.vocabulary_[name] for name in term_names(counted.indices, counter.words)]
    found[documents, columns] = counted.data
    np.testing.assert_array_equal(found, expected)


def test_terms_of_other_kinds_are_counted_alone():
    counter = make_counter(CountVectorizer(ngram_range=(1, 2))).fitted(["hot dog"])
    assert counter.sequences(["hot dog"]) is None
    assert term_names(count_terms(counter, ["hot dog"], len(counter.words)).indices, counter.words) == [
        "dog",
        "hot",
        "hot dog",
    ]


def test_pairs_of_words_tell_what_words_alone_cannot(reviews, fitted):
    texts, labels = reviews
    held_out = ["actor good not bad scene", "music bad not good plot"]
    assert fitted.predict(held_out).tolist() == ["fine", "poor"]
    assert fitted.score(texts, labels) == 1.0
    neighbors = DocumentModel(n_neighbors=3, linear=False).fit(texts, labels)
    assert neighbors.contents_.channels == {}
    assert neighbors.score(texts, labels) < 0.9


def test_a_model_answers_the_same_to_the_bit_after_loading(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.linear is True
    np.testing.assert_array_equal(loaded.predict_proba(QUERIES), fitted.predict_proba(QUERIES))
    one_by_one = np.concatenate([loaded.predict_proba([text]) for text in QUERIES])
    np.testing.assert_array_equal(one_by_one, fitted.predict_proba(QUERIES))
    assert loaded.explain_prediction(QUERIES[0]).probabilities == fitted.explain_prediction(QUERIES[0]).probabilities


def test_adding_and_removing_leave_the_channel_and_updating_learns_it_again(reviews, tmp_path):
    model = DocumentModel(n_neighbors=3).fit(*reviews)
    channel = model.contents_.channels["linear"]
    ids = model.add(["dull plot"] * 5, ["poor"] * 5)
    model.remove(ids[:2])
    assert model.contents_.channels["linear"] is channel
    model.update(["superb film"] * 5, ["fine"] * 5)
    learned = model.contents_.channels["linear"]
    assert "superb film" in term_names(learned.columns, model.words_)
    assert "superb film" not in term_names(channel.columns, model.words_)


def test_updating_without_texts_needs_the_channel_turned_off(reviews):
    model = DocumentModel(n_neighbors=3, keep_texts=False).fit(*reviews)
    with pytest.raises(ValueError, match=r"does not keep them\. Turn the channel off: model\.linear = False"):
        model.update(["superb film"], ["fine"])
    assert "superb" not in model.words_
    model.linear = False
    model.update(["superb film"], ["fine"])
    assert model.contents_.channels == {}
    assert "superb" in model.words_


@pytest.mark.parametrize(
    ("array", "change", "message"),
    [
        ("columns", lambda a: a[::-1].copy(), "terms of a channel in ascending order"),
        ("factors", lambda a: a[1:], "factors and weights for each term"),
        ("factors", lambda a: -a, "finite numbers in a channel"),
        ("weights", lambda a: a * np.float32(np.nan), "finite numbers in a channel"),
        ("weights", lambda a: a.astype(np.float64), "the arrays of a channel"),
        ("intercepts", lambda a: a[:1], "factors and weights for each term and class"),
    ],
)
def test_a_damaged_channel_is_refused(fitted, tmp_path, array, change, message):
    fitted.save(tmp_path / "model")
    path = data_folder(tmp_path / "model") / "channel-linear.safetensors"
    arrays = load_file(path)
    save_file({**arrays, array: change(arrays[array])}, path)
    reseal(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        DocumentModel.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "other"}, r"the channels \['linear'\], got \['other'\]"),
        ({"weighing": "none"}, "a weighing among tfidf, mean, got 'none'"),
        ({"weight": -1.0}, "weights from 0"),
        ({"weight": "much"}, "finite numbers as weights of channels"),
    ],
)
def test_unsound_settings_of_a_channel_are_refused(fitted, tmp_path, change, message):
    fitted.save(tmp_path / "model")
    path = data_folder(tmp_path / "model") / "settings.json"
    settings = json.loads(path.read_text("utf-8"))
    settings["vote"]["pool"]["channels"][0].update(change)
    path.write_text(json.dumps(settings), encoding="utf-8")
    reseal(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        DocumentModel.load(tmp_path / "model")


@given(
    texts=st.lists(st.text(st.sampled_from("abcÄ ,東京"), max_size=12), max_size=12),
    known=st.lists(st.sampled_from(["a", "b", "zz", "ä"]), unique=True),
    anew=st.booleans(),
)
def test_one_reading_finds_the_words_their_order_and_their_counts(texts, known, anew):
    before = WordCounter(words=known)
    tokens = [before.tokens(text) for text in texts]
    own = [] if anew else known
    words = (*own, *sorted({token for text in tokens for token in text} - set(own)))
    if anew and not words:
        with pytest.raises(ValueError, match="none holds a word"):
            before.learned(texts, anew=True)
        return
    counter, sequences = before.learned(texts, anew=anew)
    assert counter.words == words
    assert sequences.words.tolist() == [words.index(token) for text in tokens for token in text]
    assert np.diff(sequences.bounds).tolist() == [len(text) for text in tokens]
    counts = counter.count(texts, sequences)
    expected = np.array([[text.count(word) for word in words] for text in tokens], dtype=int).reshape(counts.shape)
    np.testing.assert_array_equal(counts.toarray(), expected)
    np.testing.assert_array_equal(counter.count(texts).toarray(), expected)
    found = sequences.terms(len(words))
    terms = count_terms(counter, texts, len(words))
    assert all(np.array_equal(one, other) for one, other in zip(found, terms, strict=True))
