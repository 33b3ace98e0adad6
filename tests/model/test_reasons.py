import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from treewass import DocumentModel, EmptyDocumentWarning
from treewass.documents import WordVectors, make_documents
from treewass.report import find_oddities

from .conftest import LABELS, TEXTS


def generated(n_documents=90, seed=0):
    counts, labels = make_documents(n_documents, n_words=60, words_per_document=12, n_classes=3, random_state=seed)
    random = np.random.default_rng(seed)
    texts = [" ".join(f"w{word}" for word in random.permutation(counts[[row]].indices)) for row in range(n_documents)]
    return texts, np.array(["red", "green", "blue"])[labels]


VECTORS = WordVectors([f"w{number}" for number in range(60)], np.random.default_rng(0).normal(size=(60, 8)))
MODELS = {
    "words and pairs": {},
    "word vectors": {"word_vectors": VECTORS},
    "another vectoriser": {"vectorizer": TfidfVectorizer(ngram_range=(1, 2))},
    "neighbours": {"linear": False},
    "plain vote": {"calibrate": False},
    "majority": {"vote": "majority"},
}


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def model(request):
    texts, labels = generated()
    return DocumentModel(n_neighbors=7, **request.param).fit(texts, labels)


@settings(max_examples=60)
@given(words=st.lists(st.integers(0, 70), min_size=1, max_size=20))
def test_reasons_add_up_to_the_log_odds(model, words):
    words.append(3)  # one that is known
    explained = model.explain_prediction(" ".join(f"w{word}" for word in words))
    shares = dict(explained.probabilities)
    assert [label for label, _ in explained.probabilities[:2]] == [explained.label, explained.rival]
    if shares[explained.rival] == 0:
        assert explained.log_odds is None
        return
    expected = np.log(shares[explained.label]) - np.log(shares[explained.rival])
    assert explained.log_odds == pytest.approx(expected, abs=1e-9)
    support = sum(entry.support for entry in explained.words)
    assert explained.neighbor_support + explained.prior_support + support == pytest.approx(expected, abs=1e-9)
    assert sum(support for _, support, _ in explained.addends()) == pytest.approx(expected, abs=1e-9)
    pool = model.contents_.vote.pool
    assert bool(explained.words) == bool(pool is not None and any(pool.channel_weights))


def test_words_count_where_a_channel_does():
    texts = ["the cat purrs", "hot dog stand", "a dog barks", "the dog is hot"] * 10
    model = DocumentModel(n_neighbors=3).fit(texts, ["pet", "food", "pet", "pet"] * 10)
    explained = model.explain_prediction("a hot dog")
    support = {entry.word: entry.support for entry in explained.words}
    assert support["hot dog"] * (1 if explained.label == "food" else -1) > 0
    assert explained.typical == ()
    assert explained.to_dict()["words"][0] == {"word": explained.words[0].word, "support": explained.words[0].support}


def test_words_are_typical_where_the_channel_is_not_heard():
    texts, labels = generated()
    model = DocumentModel(n_neighbors=7).fit(texts, labels)
    held = model.contents_
    assert held.channels
    silent = replace(held.vote.pool, channel_weights=tuple(0.0 for _ in held.channels))
    model.contents_ = held.changed(vote=replace(held.vote, pool=silent))
    explained = model.explain_prediction(texts[0])
    assert explained.words == ()
    assert explained.typical
    assert explained.log_odds == pytest.approx(explained.neighbor_support + explained.prior_support)


def test_words_are_typical_of_the_class_that_has_more_of_them():
    texts, labels = generated()
    model = DocumentModel(n_neighbors=7, linear=False).fit(texts, labels)
    for query in generated(20, seed=1)[0]:
        explained = model.explain_prediction(query)
        assert {entry.word for entry in explained.typical} <= set(query.split())
        for entry in explained.typical:
            found = tuple(
                float(np.mean([entry.word in text.split() for text in np.array(texts)[labels == label]]))
                for label in (explained.label, explained.rival)
            )
            assert entry.shares == pytest.approx(found)
            assert np.sign(entry.weight) == np.sign(found[0] - found[1])
        weights = [entry.weight for entry in explained.typical]
        assert weights == sorted(weights, reverse=True)


def test_a_small_model_names_neighbours_and_typical_words(fitted):
    explained = fitted.explain_prediction("my cat purrs by the door")
    assert explained.label == "cat"
    assert [neighbor.id for neighbor in explained.neighbors] == [
        n.id for n in fitted.similar("my cat purrs by the door", 3)
    ]
    assert explained.typical[0].word in ("cat", "purrs")
    cats = sum("cat" in re.findall(r"\w+", text) for text, label in zip(TEXTS, LABELS, strict=True) if label == "cat")
    assert next(entry for entry in explained.typical if entry.word == "cat").shares == (cats / 5, 0.0)


def test_the_rival_of_equal_probability_is_the_nearest():
    texts = ["a x", "a y", "b b b c", "b b c c", "d a a y", "d d a y"]
    model = DocumentModel(n_neighbors=1, vote="majority").fit(texts, ["one", "one", "beta", "beta", "delta", "delta"])
    explained = model.explain_prediction("a x y")
    assert explained.label == "one"
    assert [share for _, share in explained.probabilities] == [1, 0, 0]
    others = [neighbor.label for neighbor in model.similar("a x y", 6) if neighbor.label != "one"]
    assert explained.rival == explained.probabilities[1][0] == others[0] == "delta"


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def mislabelled(request):
    """A model in which the label of every twelfth document is wrong, and the ids of these."""
    texts, labels = generated(180)
    wrong = np.arange(0, 180, 12)
    labels[wrong] = np.roll(np.unique(labels), 1)[np.unique(labels, return_inverse=True)[1]][wrong]
    keys = [f"d-{number}" for number in range(180)]
    return DocumentModel(n_neighbors=7, **request.param).fit(texts, labels, keys=keys), wrong.tolist()


def test_a_document_of_the_model_has_no_say_about_itself(mislabelled):
    model, wrong = mislabelled
    found, contradicted = find_oddities(model), 0
    judged = dict(zip(found.ids, found.predicted, strict=True))
    for number in wrong:
        explained = model.explain_prediction(id=number)
        assert explained == model.explain_prediction(key=f"d-{number}")
        assert explained.document == model.document(number)
        assert [neighbor.id for neighbor in explained.neighbors] == [n.id for n in model.similar(id=number, k=7)]
        assert number not in [neighbor.id for neighbor in explained.neighbors]
        (_, first), (_, second) = explained.probabilities[:2]
        assert explained.label == model.classes_[judged[number]] or first == second
        of_others = {neighbor.label for neighbor in explained.neighbors}
        if len(of_others) == 1 and explained.document.label not in of_others:
            assert explained.label in of_others
        contradicted += explained.label != explained.document.label
    assert contradicted >= len(wrong) / 4
    assert model.explain_prediction(model.document(wrong[0]).text).document is None


def test_the_reasons_for_a_document_of_the_model_add_up(mislabelled):
    model, _ = mislabelled
    pool = model.contents_.vote.pool
    for number in range(0, 180, 15):
        explained = model.explain_prediction(id=number)
        shares = dict(explained.probabilities)
        assert sum(shares.values()) == pytest.approx(1)
        assert bool(explained.words) == bool(pool is not None and any(pool.channel_weights))
        if explained.log_odds is None:
            assert shares[explained.rival] == 0
            continue
        expected = np.log(shares[explained.label]) - np.log(shares[explained.rival])
        assert explained.log_odds == pytest.approx(expected, abs=1e-9)
        assert sum(support for _, support, _ in explained.addends()) == pytest.approx(expected, abs=1e-9)


def test_doubtful_labels_are_explained_as_the_report_has_them():
    texts, labels = generated(180)
    labels[::12] = "red"
    model = DocumentModel(n_neighbors=7).fit([*texts, "unknown"], [*labels, "red"])
    model.add([texts[3]])  # without a label
    model.remove([0])
    assert model.contents_.channels
    suspects = find_oddities(model).suspects
    assert len(suspects) > 5
    for suspect in suspects:
        explained = model.explain_prediction(id=suspect.document.id)
        shares = dict(explained.probabilities)
        assert explained.label == suspect.suggested
        assert shares[explained.label] == pytest.approx(suspect.probability, abs=1e-9)
        assert shares[suspect.document.label] == pytest.approx(suspect.own_probability, abs=1e-9)


def test_a_document_without_a_label_is_explained_as_its_text(model):
    text = model.document(5).text
    number = int(model.add([text])[0])
    explained, as_text = model.explain_prediction(id=number), model.explain_prediction(text)
    model.remove([number])
    assert (explained.document.id, explained.document.label) == (number, None)
    assert explained.label == as_text.label
    assert [share for _, share in explained.probabilities] == pytest.approx([s for _, s in as_text.probabilities])


def test_a_document_is_explained_by_its_words_where_texts_are_not_kept():
    texts, labels = generated()
    model = DocumentModel(n_neighbors=7, keep_texts=False).fit(texts, labels)
    explained = model.explain_prediction(id=4)
    assert {entry.word for entry in explained.words} <= set(texts[4].split())
    assert explained.log_odds == pytest.approx(sum(support for _, support, _ in explained.addends()))


def test_channels_that_are_not_learned_again_are_named(monkeypatch):
    texts, labels = generated()
    model = DocumentModel(n_neighbors=7).fit(texts, labels)
    assert model.explain_prediction(id=4).silent == ()
    held = model.contents_
    channels = {**held.channels, "vectors": held.channels["linear"]}
    vote = replace(held.vote, pool=replace(held.vote.pool, channel_weights=(0.0, 1.0)))
    model.contents_ = held.changed(channels=channels, vote=vote)
    number = int(model.add([texts[5]])[0])
    monkeypatch.setattr("treewass.model.cross_fitting._learned_from", None)  # nobody hears what it would learn
    assert model.explain_prediction(id=4).silent == ("vectors",)
    assert model.explain_prediction(texts[4]).silent == model.explain_prediction(id=number).silent == ()


def test_a_linear_channel_that_has_one_label_to_learn_from_is_named():
    texts, labels = generated()
    model = DocumentModel(n_neighbors=7).fit(texts, labels)
    other = next(label for label in labels if label != labels[4])
    model.remove([number for number, label in enumerate(labels) if label != other and number != 4])
    explained = model.explain_prediction(id=4)
    assert (explained.words, explained.silent) == ((), ("linear",))


def test_a_document_that_nothing_else_is_like_gets_no_reasons():
    with pytest.warns(EmptyDocumentWarning):
        model = DocumentModel(n_neighbors=1, calibrate=False).fit(["a cat", "a dog", "?"], ["cat", "dog", "dog"])
    with pytest.warns(EmptyDocumentWarning):
        assert model.explain_prediction(id=2).neighbors == ()
    model.remove([1, 2])
    explained = model.explain_prediction(id=0)  # no other document is left
    assert (explained.neighbors, explained.log_odds, explained.document.label) == ((), None, "cat")


def test_a_text_or_one_document_is_explained(fitted):
    with pytest.raises(ValueError, match="got more than one of them"):
        fitted.explain_prediction("a cat", id=0)
    for question in (fitted.explain_prediction, fitted.similar):
        with pytest.raises(ValueError, match=r"^Expected a text, or the id .*, got none of them\."):
            question()
        with pytest.raises(ValueError, match="got more than one of them"):
            question(id=0, key="x")
    with pytest.raises(ValueError, match="No document in the model has id 99"):
        fitted.explain_prediction(id=99)
    with pytest.raises(ValueError, match="No document in the model has the key 'x'"):
        fitted.explain_prediction(key="x")
