import subprocess
import sys

import numba
import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from treewass import (
    DocumentModel,
    EmptyDocumentWarning,
    ProfileTreeWasserstein,
    SupervisedTreeWasserstein,
    TreeIndex,
    TreeWassersteinClassifier,
)
from treewass.explain import Document
from treewass.model import inference, queries
from treewass.model.contents import MetricSettings
from treewass.model.fitting import make_metric
from treewass.model.vectorizers import DEFAULT_PATTERN, WordCounter
from treewass.search import numpy_nearest

from .conftest import LABELS, TEXTS

QUERIES = ["my cat sleeps", "a dog and a puppy", "wheels of a car"]


def test_it_is_vectoriser_and_classifier_in_one(fitted):
    pipeline = make_pipeline(CountVectorizer(token_pattern=DEFAULT_PATTERN), TreeWassersteinClassifier(n_neighbors=3))
    pipeline.fit(TEXTS, LABELS)
    np.testing.assert_array_equal(fitted.predict_proba(QUERIES), pipeline.predict_proba(QUERIES))
    assert fitted.predict(QUERIES).tolist() == ["cat", "dog", "car"]
    distances, rows = pipeline[-1].kneighbors(pipeline[0].transform(QUERIES[:1]), 4)
    found = fitted.similar(QUERIES[0], k=4)
    assert [neighbor.id for neighbor in found] == rows[0].tolist()
    assert [neighbor.distance for neighbor in found] == distances[0].tolist()
    assert found[0].text == TEXTS[found[0].id]
    assert found[0].title == f"{found[0].label} {found[0].id}"
    assert len(fitted.similar("cat", k=99)) == len(TEXTS)


def all_answers(model):
    found = [(model.similar(query, 7), model.explain_prediction(query)) for query in QUERIES]
    return model.predict_proba(QUERIES).tolist(), found, model.explain(QUERIES[0], 3)


def test_answers_do_not_depend_on_compiled_loops(fitted, folder, monkeypatch):
    expected = all_answers(fitted)
    monkeypatch.delitem(sys.modules, "numba")  # as in a process that has not started it
    assert all_answers(DocumentModel.load(folder)) == expected


def test_searching_a_saved_model_loads_numpy_only(folder):
    code = (
        "import sys; from treewass import DocumentModel; "
        f"model = DocumentModel.load({str(folder)!r}); "
        "model.similar('cat', 2); model.search('a cat', 2); model.predict(['a dog']); "
        "sys.stdout.write(' '.join(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"scipy", "sklearn", "numba", "torch", "matplotlib", "plotly"} & set(loaded)


def test_texts_without_a_known_word_have_a_documented_answer(fitted):
    with pytest.warns(EmptyDocumentWarning, match=r"rows 1\): they get the class shares"):
        probabilities = fitted.predict_proba(["cat", "xyzzy"])
    np.testing.assert_allclose(probabilities[1], 1 / 3)
    with pytest.warns(EmptyDocumentWarning, match=r"^The model knows no word of the text 'xyzzy', so it is near to no"):
        assert fitted.similar("xyzzy") == []
    with pytest.warns(EmptyDocumentWarning, match=r"\(rows 1\): there are no neighbours"):
        assert fitted.similar(["cat", "xyzzy"], 1)[1] == []
    with pytest.warns(EmptyDocumentWarning, match="^The text is empty, so it gets the class shares of the training"):
        explained = fitted.explain_prediction("")
    assert explained.neighbors == explained.words == ()
    with pytest.raises(ValueError, match=r"^The model knows no word of the text 'xyzzy', so it is near"):
        fitted.explain("cat", "xyzzy")


def test_a_document_is_named_in_one_way(fitted):
    with pytest.raises(ValueError, match=r"the id or the key of a document, got none of them\."):
        fitted.document()
    with pytest.raises(ValueError, match=r"the id or the key of a document, got both\."):
        fitted.document(0, key="k")


def test_documents_come_and_go_without_learning():
    model = DocumentModel(n_neighbors=1).fit(TEXTS, LABELS)
    metric = model.metric_
    with pytest.raises(EmptyDocumentWarning):  # an error here, and then nothing has changed
        model.add(["a cat with petrol", "nothing known here"], ["dog", "cat"], titles=["odd", "none"])
    assert len(model.index_) == len(model.contents_.documents.ids) == 15
    with pytest.warns(EmptyDocumentWarning, match="never returned"):
        ids = model.add(["a cat with petrol", "nothing known here"], ["dog", "cat"], titles=["odd", "none"])
    assert ids.tolist() == [15, 16]
    nearest = model.similar("a cat with petrol", 1)[0]
    assert (nearest.id, nearest.distance, nearest.text) == (15, 0.0, "a cat with petrol")
    assert model.document(15) == Document(15, "dog", "odd", "a cat with petrol")
    assert model.document(0).title is None
    assert model.predict(["a cat with petrol"]).tolist() == ["dog"]
    model.remove([15])
    assert model.predict(["a cat with petrol"]).tolist() != ["dog"]
    assert model.add(["a cat"], ["cat"]).tolist() == [17]
    assert model.metric_ is metric
    with pytest.raises(ValueError, match=r"No document in the model has id 15\."):
        model.document(15)
    with pytest.raises(ValueError, match=r"15"):
        model.remove([0, 15])
    assert 0 in model.index_
    with pytest.raises(ValueError, match=r"got 'bird'\. Use update"):
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
        assert one.similar("a bird sings", 1)[0].text == "a bird sings"
        assert one.document(0).label == "cat"
    pipeline = make_pipeline(
        CountVectorizer(vocabulary=model.words_, token_pattern=DEFAULT_PATTERN),
        TreeWassersteinClassifier(n_neighbors=3),
    ).fit(TEXTS + birds, LABELS + ["bird"] * 4)
    np.testing.assert_array_equal(model.predict_proba(QUERIES), pipeline.predict_proba(QUERIES))


def test_update_needs_a_learner_whose_settings_are_known(tmp_path):
    learner = ProfileTreeWasserstein(word_vectors=np.eye(80), depth=1)
    model = DocumentModel(metric=learner, n_neighbors=3).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.predict(QUERIES).tolist() == model.predict(QUERIES).tolist()
    with pytest.raises(ValueError, match=r"settings of ProfileTreeWasserstein are not in.*Set model\.metric"):
        loaded.update(["a cat"], ["cat"])
    loaded.metric = ProfileTreeWasserstein(depth=1)
    loaded.update(["a cat"], ["cat"])
    assert loaded.contents_.metric_settings.name == "profile"
    assert loaded.contents_.metric_settings.parameters["depth"] == 1
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
        assert again.contents_.metric_settings.parameters["random_state"] == seed + 4
        np.testing.assert_array_equal(again.predict_proba(QUERIES), model.predict_proba(QUERIES))


def test_a_learner_keeps_its_parameters_through_a_file(tmp_path):
    learner = ProfileTreeWasserstein(depth=1, arity=2, random_state=7)
    model = DocumentModel(metric=learner, n_neighbors=3).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.metric == model.contents_.metric_settings
    assert (loaded.metric.name, loaded.metric.parameters["depth"]) == ("profile", 1)
    for again in (loaded, clone(loaded)):
        again.fit(TEXTS[1:], LABELS[1:])
        assert again.metric_ == clone(model).fit(TEXTS[1:], LABELS[1:]).metric_
        assert again.contents_.metric_settings.parameters == {
            name: value for name, value in learner.get_params().items() if name != "verbose"
        }


@pytest.mark.parametrize("metric", [None, "profile", "bow", "tfidf"])
def test_a_metric_has_the_same_name_everywhere(metric, tmp_path):
    model = DocumentModel(metric=metric, n_neighbors=3).fit(TEXTS, LABELS)
    counts = model.contents_.counter.count(TEXTS)
    expected = TreeWassersteinClassifier(metric if metric != "profile" else None).fit(counts, LABELS).metric_
    assert model.metric_ == expected
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.metric == (metric or "profile")
    assert loaded.get_params() | {"vectorizer": None} == model.get_params() | {"metric": metric or "profile"}
    loaded.update(["a new word"], ["cat"])
    assert "word" in loaded.words_


def test_the_paper_s_learner_has_a_name():
    model = DocumentModel(metric="stw", n_neighbors=3, calibrate=False)
    made = make_metric(model.metric, random_state=5, verbose=True)
    assert isinstance(made, SupervisedTreeWasserstein)
    assert (made.random_state, made.verbose) == (5, True)


def test_a_tree_metric_is_used_as_it_is(fitted, tmp_path):
    words = CountVectorizer(vocabulary=fitted.words_, token_pattern=DEFAULT_PATTERN)
    model = DocumentModel(metric=fitted.metric_, vectorizer=words, n_neighbors=3).fit(TEXTS, LABELS)
    assert model.metric_ == fitted.metric_
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.metric == fitted.metric_
    loaded.update(["a bird and a cat"], ["bird"])
    assert loaded.words_ == fitted.words_
    assert loaded.predict(["a bird"]).size == 1


def test_settings_of_another_version_are_refused_with_the_remedy():
    settings = MetricSettings("profile", "ProfileTreeWasserstein", {"leaves": 3})
    with pytest.raises(ValueError, match=r"learned with others.*'leaves'.*Set model\.metric"):
        DocumentModel(metric=settings).fit(TEXTS, LABELS)


def test_a_text_is_counted_once_and_searched_once(folder, monkeypatch):
    """Whatever is asked about it, and with either kind of loops."""
    counted, searches = [], []
    rows, search, nearest = WordCounter._row, TreeIndex.search, numpy_nearest.nearest_documents
    monkeypatch.setattr(WordCounter, "_row", lambda *given: (counted.append(given[1]), rows(*given))[1])
    monkeypatch.setattr(
        TreeIndex, "search", lambda *given, **more: (searches.append("compiled"), search(*given, **more))[1]
    )
    monkeypatch.setattr(
        numpy_nearest,
        "nearest_documents",
        lambda *given, **more: (searches.append("plain"), nearest(*given, **more))[1],
    )
    for kind in ("compiled", "plain"):
        model = DocumentModel.load(folder)
        if kind == "plain":
            monkeypatch.delitem(sys.modules, "numba")  # as in a process that has not started it
        for ask in (
            lambda text, model=model: model.predict([text]),
            lambda text, model=model: model.similar(text, 3),
            lambda text, model=model: model.explain_prediction(text),
        ):
            counted.clear(), searches.clear()
            ask("my cat and the dog")
            assert counted == ["my cat and the dog"]
            assert searches == [kind]
    monkeypatch.setitem(sys.modules, "numba", numba)
    counted.clear(), searches.clear()
    model.predict(QUERIES)
    assert (counted, searches) == (QUERIES, ["compiled"])
    counted.clear(), searches.clear()
    answers = queries.find_similar(inference.count_texts(model.contents_, QUERIES), 2)
    assert [len(neighbors) for neighbors in answers] == [2, 2, 2]
    assert (counted, searches) == (QUERIES, ["compiled"])


def record(sizes, answer):
    sizes.append(answer[1].size)
    return answer


@pytest.mark.parametrize("vote", ["distance", "majority"])
def test_a_model_without_texts_shows_ids(tmp_path, vote):
    without = {"linear": False} if vote == "distance" else {}  # another vote has no channel to turn off
    model = DocumentModel(n_neighbors=1, vote=vote, keep_texts=False, **without).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.similar("cat", 1)[0].text is None
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
        (["a", "b", "c"], ["cat", "dog", np.nan], TypeError, r"labels without gaps, but .* row\(s\) 2 is missing"),
        (["a", "b"], pandas.Series(["cat", pandas.NA]), TypeError, r"without gaps, but .* row\(s\) 1 is missing"),
        (pandas.Series(["a", np.nan]), ["cat", "dog"], TypeError, r"texts without gaps, but .* row\(s\) 1 .* fillna"),
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


@pytest.mark.parametrize("metric", ["forest", 3, ProfileTreeWasserstein])
def test_unknown_metrics_are_refused(metric):
    with pytest.raises((ValueError, TypeError), match=r"Expected metric to be None|Cannot clone"):
        DocumentModel(metric=metric).fit(TEXTS, LABELS)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_is_a_number_of_documents(fitted, k):
    with pytest.raises(ValueError, match="k as an integer"):
        fitted.similar("cat", k)


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        DocumentModel().predict(["a"])
    assert repr(DocumentModel()) == "DocumentModel(metric=None)"


def test_titles_are_one_per_text():
    with pytest.raises(ValueError, match=r"one title per text \(15\), got 1"):
        DocumentModel().fit(TEXTS, LABELS, titles=["one"])
