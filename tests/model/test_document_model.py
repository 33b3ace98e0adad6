import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from treewass import DocumentModel, EmptyDocumentWarning, ProfileTreeWasserstein, TreeIndex, TreeWassersteinClassifier
from treewass.model import answers
from treewass.model.vectorizers import DEFAULT_PATTERN

from .conftest import LABELS, TEXTS

QUERIES = ["my cat sleeps", "a dog and a puppy", "wheels of a car"]


def test_it_is_vectoriser_and_classifier_in_one(fitted):
    pipeline = make_pipeline(CountVectorizer(token_pattern=DEFAULT_PATTERN), TreeWassersteinClassifier(n_neighbors=3))
    pipeline.fit(TEXTS, LABELS)
    np.testing.assert_array_equal(fitted.predict_proba(QUERIES), pipeline.predict_proba(QUERIES))
    assert fitted.predict(QUERIES).tolist() == ["cat", "dog", "car"]
    distances, rows = pipeline[-1].kneighbors(pipeline[0].transform(QUERIES[:1]), 4)
    found = fitted.search(QUERIES[0], k=4)
    assert [neighbor.id for neighbor in found] == rows[0].tolist()
    assert [neighbor.distance for neighbor in found] == distances[0].tolist()
    assert found[0].text == TEXTS[found[0].id]
    assert found[0].title == f"{found[0].label} {found[0].id}"
    assert len(fitted.search("cat", k=99)) == len(TEXTS)


def test_answers_do_not_depend_on_compiled_loops(fitted, folder):
    plain = DocumentModel.load(folder, compiled=False)
    np.testing.assert_array_equal(fitted.predict_proba(QUERIES), plain.predict_proba(QUERIES))
    for query in QUERIES:
        assert fitted.search(query, 7) == plain.search(query, 7)
        assert fitted.explain_prediction(query) == plain.explain_prediction(query)
    assert fitted.explain(QUERIES[0], 3) == plain.explain(QUERIES[0], 3)


def test_searching_a_saved_model_loads_numpy_only(folder):
    code = (
        "import sys; from treewass import DocumentModel; "
        f"model = DocumentModel.load({str(folder)!r}, compiled=False); "
        "model.search('cat', 2); model.predict(['a dog']); "
        "sys.stdout.write(' '.join(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"scipy", "sklearn", "numba", "torch", "matplotlib", "plotly"} & set(loaded)


def test_texts_without_a_known_word_have_a_documented_answer(fitted):
    with pytest.warns(EmptyDocumentWarning, match=r"rows 1\): they get the class shares"):
        probabilities = fitted.predict_proba(["cat", "xyzzy"])
    np.testing.assert_allclose(probabilities[1], 1 / 3)
    with pytest.warns(EmptyDocumentWarning, match="no neighbours"):
        assert fitted.search("xyzzy") == []
    with pytest.warns(EmptyDocumentWarning):
        explained = fitted.explain_prediction("")
    assert explained.neighbors == explained.words == ()
    with pytest.raises(ValueError, match="at least one known word"):
        fitted.explain("cat", "xyzzy")


def test_documents_come_and_go_without_learning():
    model = DocumentModel(n_neighbors=1).fit(TEXTS, LABELS)
    metric = model.metric_
    with pytest.raises(EmptyDocumentWarning):  # an error here, and then nothing has changed
        model.add(["a cat with petrol", "nothing known here"], ["dog", "cat"], titles=["odd", "none"])
    assert len(model.index_) == len(model.contents_.documents.ids) == 15
    with pytest.warns(EmptyDocumentWarning, match="never returned"):
        ids = model.add(["a cat with petrol", "nothing known here"], ["dog", "cat"], titles=["odd", "none"])
    assert ids.tolist() == [15, 16]
    assert model.search("a cat with petrol", 1)[0] == model.neighbor(15, 0.0)
    assert (model.neighbor(15).title, model.neighbor(0).title) == ("odd", None)
    assert model.predict(["a cat with petrol"]).tolist() == ["dog"]
    model.remove([15])
    assert model.predict(["a cat with petrol"]).tolist() != ["dog"]
    assert model.add(["a cat"], ["cat"]).tolist() == [17]
    assert model.metric_ is metric
    with pytest.raises(ValueError, match="holds, got 15"):
        model.neighbor(15)
    with pytest.raises(ValueError, match=r"\[15\]"):
        model.remove([0, 15])
    assert 0 in model.index_
    with pytest.raises(ValueError, match=r"got \['bird'\]\. Use update"):
        model.add(["a bird"], ["bird"])
    with pytest.raises(ValueError, match="Expected labels such as 'car', got 1"):
        model.add(["a bird"], [1])
    assert len(model.contents_.documents.ids) == len(model.index_)


def test_update_learns_new_words_and_labels(tmp_path):
    birds = ["a bird sings", "birds fly and sing", "the parrot is a bird", "a bird on a branch"]
    model = DocumentModel(n_neighbors=3).fit(TEXTS, LABELS)
    model.add(["a cat"], ["cat"])
    model.remove([15])
    model.save(tmp_path / "model")
    for one in (model, DocumentModel.load(tmp_path / "model")):
        ids = one.update(birds, ["bird"] * 4)
        assert ids.tolist() == [16, 17, 18, 19]
        assert one.classes_.tolist() == ["bird", "car", "cat", "dog"]
        assert {"parrot", "sings"} <= set(one.words_)
        assert one.predict(["birds sing", "my cat"]).tolist() == ["bird", "cat"]
        assert one.search("a bird sings", 1)[0].text == "a bird sings"
        assert one.neighbor(0).label == "cat"
    pipeline = make_pipeline(
        CountVectorizer(vocabulary=model.words_, token_pattern=DEFAULT_PATTERN),
        TreeWassersteinClassifier(n_neighbors=3),
    ).fit(TEXTS + birds, LABELS + ["bird"] * 4)
    np.testing.assert_array_equal(model.predict_proba(QUERIES), pipeline.predict_proba(QUERIES))


def test_update_needs_a_learner_whose_settings_are_known(tmp_path):
    learner = ProfileTreeWasserstein(word_vectors=np.eye(80), depth=1)
    model = DocumentModel(learner=learner, n_neighbors=3).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.predict(QUERIES).tolist() == model.predict(QUERIES).tolist()
    with pytest.raises(ValueError, match=r"settings of ProfileTreeWasserstein are not in.*Set model\.learner"):
        loaded.update(["a cat"], ["cat"])
    loaded.learner = ProfileTreeWasserstein(depth=1)
    loaded.update(["a cat"], ["cat"])
    assert loaded.contents_.learner["name"] == "profile"
    assert loaded.contents_.learner["parameters"]["depth"] == 1
    model.update(["a cat"], ["cat"])


def test_integer_labels_and_other_vectorisers(tmp_path):
    numbers = np.repeat([10, 20, 30], 5)
    model = DocumentModel(n_neighbors=3, vectorizer=CountVectorizer(ngram_range=(1, 2))).fit(np.array(TEXTS), numbers)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.predict(QUERIES).tolist() == [10, 20, 30]
    assert "the cat" in loaded.words_
    loaded.update(["a dog and a cat"], [20])
    assert loaded.words_ == model.words_
    for change in (loaded.add, loaded.update):
        assert change([], []).size == 0
        assert loaded.contents_.classes == (10, 20, 30)
        assert loaded.predict(QUERIES).tolist() == [10, 20, 30]


def test_a_loaded_model_fits_as_it_was_fitted(tmp_path):
    vectorizers = [None, CountVectorizer(lowercase=False), TfidfVectorizer(ngram_range=(1, 2))]
    for seed, vectorizer in enumerate(vectorizers):
        model = DocumentModel(n_neighbors=3, vectorizer=vectorizer, random_state=seed + 4).fit(TEXTS, LABELS)
        model.save(tmp_path / "model")
        again = DocumentModel.load(tmp_path / "model").fit([*TEXTS, "A new Word"], [*LABELS, "cat"])
        model.fit([*TEXTS, "A new Word"], [*LABELS, "cat"])
        assert again.words_ == model.words_
        assert again.contents_.learner["parameters"]["random_state"] == seed + 4
        np.testing.assert_array_equal(again.predict_proba(QUERIES), model.predict_proba(QUERIES))


def test_prediction_is_explained_by_neighbours_and_words(fitted):
    explained = fitted.explain_prediction("my cat purrs by the door")
    assert explained.label == "cat"
    assert explained.probabilities[0][0] == "cat"
    assert explained.rival == explained.probabilities[1][0]
    assert [neighbor.id for neighbor in explained.neighbors] == [
        n.id for n in fitted.search("my cat purrs by the door", 3)
    ]
    support = {entry.word: entry.support for entry in explained.words}
    assert set(support) == {"my", "cat", "purrs", "by", "the", "door"}
    assert max(support, key=support.get) in ("cat", "purrs")
    assert explained.to_dict()["label"] == "cat"


def test_the_rival_of_equal_probability_is_the_nearest():
    texts = ["a x", "a y", "b b b c", "b b c c", "d a a y", "d d a y"]
    model = DocumentModel(n_neighbors=1, vote="majority").fit(texts, ["one", "one", "beta", "beta", "delta", "delta"])
    explained = model.explain_prediction("a x y")
    assert explained.label == "one"
    assert [share for _, share in explained.probabilities] == [1, 0, 0]
    others = [neighbor.label for neighbor in model.search("a x y", 6) if neighbor.label != "one"]
    assert explained.rival == explained.probabilities[1][0] == others[0] == "delta"


@pytest.mark.parametrize("compiled", [True, False])
def test_a_rare_rival_is_found_without_ranking_all_documents(tmp_path, monkeypatch, compiled):
    monkeypatch.setattr(answers, "_LOOKED_AT", 4)
    DocumentModel(n_neighbors=2).fit(["a cat"] * 40 + ["the dog barks"], ["cat"] * 40 + ["dog"]).save(
        tmp_path / "model"
    )
    model = DocumentModel.load(tmp_path / "model", compiled=compiled)
    sizes = []
    for module, name in ((TreeIndex, "search"), (answers, "nearest_documents")):
        found = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, _found=found, **more: record(sizes, _found(*given, **more)))
    explained = model.explain_prediction("a cat")
    assert (explained.label, explained.rival) == ("cat", "dog")
    assert sum(entry.support for entry in explained.words) > 0
    assert max(sizes) <= 4


def record(sizes, answer):
    sizes.append(answer[1].size)
    return answer


def test_a_model_without_texts_shows_ids(tmp_path):
    model = DocumentModel(n_neighbors=1, keep_texts=False).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.search("cat", 1)[0].text is None
    loaded.update(["a cat"], ["cat"])
    assert loaded.contents_.documents.texts is None
    assert not list((tmp_path / "model").rglob("texts.safetensors"))


@pytest.mark.parametrize(
    ("texts", "labels", "error", "message"),
    [
        ("a cat", ["cat"], TypeError, "got one text"),
        ([1, 2], ["cat", "dog"], TypeError, "row 0 is int"),
        (["a", "b"], ["cat"], ValueError, r"one label per text \(2\), got 1"),
        (["a", "b"], ["cat", "cat"], ValueError, r"two different labels, got \['cat'\]"),
        (["a", "b"], ["cat", 1], TypeError, "int and str"),
        (["a", "b"], [0.5, 1.5], TypeError, "got float"),
        (np.eye(2), ["cat", "dog"], TypeError, "got a matrix"),
        (["…", "…"], ["cat", "dog"], ValueError, "none holds a word"),
        (["a", "b \ud800"], ["cat", "dog"], ValueError, r"texts of whole characters, but row\(s\) 1 "),
        (["a", "b"], ["cat", "dog\udfff"], ValueError, r"labels of whole characters, but row\(s\) 1 "),
        (["a", "b", "c"], ["cat", "cat\0", "dog"], ValueError, r"without NUL characters, but row\(s\) 1 "),
    ],
)
def test_what_cannot_be_learned_from_is_refused(texts, labels, error, message):
    with pytest.raises(error, match=message):
        DocumentModel().fit(texts, labels)


@pytest.mark.parametrize("learner", ["forest", 3, ProfileTreeWasserstein])
def test_unknown_learners_are_refused(learner):
    with pytest.raises((ValueError, TypeError), match="Expected learner as one of profile, stw"):
        DocumentModel(learner=learner).fit(TEXTS, LABELS)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_is_a_number_of_documents(fitted, k):
    with pytest.raises(ValueError, match="k as an integer"):
        fitted.search("cat", k)


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        DocumentModel().predict(["a"])
    assert repr(DocumentModel()) == "DocumentModel(learner='profile')"


def test_titles_are_one_per_text():
    with pytest.raises(ValueError, match=r"one title per text \(15\), got 1"):
        DocumentModel().fit(TEXTS, LABELS, titles=["one"])
