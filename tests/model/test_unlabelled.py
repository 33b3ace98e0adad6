"""Texts without labels: everything but labels works."""

import numpy as np
import pytest

from treewass import DocumentModel, ProfileTreeWasserstein, TreeSlicedWasserstein
from treewass.model.queries import example_queries
from treewass.report import make_report

PETS = ["cats purr and sleep", "the cat sleeps all day", "a cat and a kitten purr", "kittens sleep, cats purr"]
CARS = ["the engine of the car", "a car with a new engine", "wheels and engine of cars", "the car drives on wheels"]
TEXTS = [*PETS, *CARS]
LABELS = ["pet"] * 4 + ["car"] * 4


@pytest.fixture
def model():
    return DocumentModel().fit(TEXTS, titles=[f"text {n}" for n in range(8)], columns={"year": list(range(8))})


def test_search_similar_and_explain_work(model):
    assert model.classes_.size == 0
    assert "no labels" in repr(model)
    assert {hit.text for hit in model.search("purr", k=3)} == {PETS[0], PETS[2], PETS[3]}
    assert model.similar("a cat purrs", k=1)[0].text in PETS
    assert model.similar(id=4, k=2, where={"year": (">", 4)})[0].label is None
    assert model.explain(0, 1).distance == pytest.approx(model.metric_.pairwise(model.counts(0), model.counts(1))[0, 0])
    outline = model.outline()
    assert outline.classes == ("all documents",)
    assert outline.nodes[0].n_words == len(model.words_)
    assert any(example_queries(model.contents_))


@pytest.mark.parametrize("question", ["predict", "predict_proba", "explain_prediction"])
def test_questions_about_labels_say_that_they_need_some(model, question):
    text = "a cat" if question == "explain_prediction" else ["a cat"]
    with pytest.raises(ValueError, match=r"learned from labels, but this one was learned without.*Fit it with labels"):
        getattr(model, question)(text)


def test_it_comes_back_from_its_folder(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.similar("a cat purrs", k=8) == model.similar("a cat purrs", k=8)
    assert loaded.search("engine") == model.search("engine")
    unchanged = {name: value for name, value in model.get_params(deep=False).items() if name != "vectorizer"}
    assert {name: loaded.get_params(deep=False)[name] for name in unchanged} == unchanged
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "learned from documents without labels" in card
    assert "predict(" not in card
    assert loaded.fit(TEXTS).classes_.size == 0


def test_documents_come_and_go_without_labels(model):
    (number,) = model.add(["a kitten chases a car"])
    assert model.document(int(number)).label is None
    with pytest.raises(ValueError, match=r"documents without labels.*got the label 'pet'. Use update"):
        model.add(["a cat"], ["pet"])
    model.remove([number])
    assert len(model.index_) == 8


def test_update_learns_again_without_labels_or_with_the_first_ones(model, tmp_path):
    model.save(tmp_path / "model")
    model.update(["motorcycles have an engine and wheels"])
    assert "motorcycles" in model.words_
    assert model.classes_.size == 0
    for one in (model, DocumentModel.load(tmp_path / "model")):
        one.update(TEXTS, LABELS)
        assert one.classes_.tolist() == ["car", "pet"]
        assert one.contents_.metric_settings.name == "profile"
        assert one.predict(["the cat purrs"]).tolist() == ["pet"]
    with pytest.raises(ValueError, match="at least two different labels"):
        DocumentModel().fit(TEXTS).update(["a cat"], ["pet"])


@pytest.mark.parametrize("metric", ["profile", "stw", ProfileTreeWasserstein()], ids=["profile", "stw", "learner"])
def test_a_metric_that_learns_from_labels_is_refused(metric):
    with pytest.raises(ValueError, match=r"Expected labels, since the metric .*learns from them.*\"topics\""):
        DocumentModel(metric=metric).fit(TEXTS)


@pytest.mark.parametrize("metric", ["tfidf", "bow", "topics", TreeSlicedWasserstein(n_trees=2)], ids=str)
def test_other_metrics_need_none(metric, tmp_path):
    model = DocumentModel(metric=metric).fit(TEXTS)
    model.save(tmp_path / "model")
    found = [hit.id for hit in DocumentModel.load(tmp_path / "model").similar(PETS[0], k=3)]
    assert found == [hit.id for hit in model.similar(PETS[0], k=3)]
    assert found[0] == 0


def test_a_column_of_missing_labels_is_a_mistake_and_no_choice():
    with pytest.raises(ValueError, match="Expected a label for each text"):
        DocumentModel().fit(TEXTS, [None] * 8)


def test_a_damaged_model_without_classes_is_refused(model, tmp_path):
    from treewass.model.stored_form import contents_from, document_files, settings_of, vocabulary_of

    held = model.contents_
    settings, files = settings_of(held), document_files(held.documents)
    contents_from(held.index, settings, vocabulary_of(held), files, {})
    files["rows"]["codes"] = np.zeros(8, dtype=np.int32)
    with pytest.raises(ValueError, match="class numbers"):
        contents_from(held.index, settings, vocabulary_of(held), files, {})


def test_the_report_tells_what_there_is_to_tell_without_labels(model):
    model.add([TEXTS[0]])
    report = make_report(model)
    assert report.evaluation is None
    assert report.to_dict()["error"] is None
    assert [(pair.first.id, pair.second.id) for pair in report.oddities.duplicates] == [(0, 8)]
    assert "Error" not in report._repr_html_()
    assert "no labels" in model._repr_html_()
    page = report.html()
    assert "learned from texts without labels" in page
    for missing in ('id="errors"', 'id="words"', 'id="labels"', "None</span>", "all documents 100"):
        assert missing not in page
    assert 'id="tree"' in page
    assert 'id="duplicates"' in page
