import re

import numpy as np
import pytest

from treewass import DocumentModel
from treewass.documents import make_documents
from treewass.model import evaluate
from treewass.report import find_oddities, make_report
from treewass.report.page import safe_json

EVIL = "<script>document.title = 'owned'</script> <img src=x onerror=\"document.title='owned'\"> cats & purr"


def labelled_texts(n_documents=240, seed=0):
    """Texts of three topics, with some wrong labels and copies; returns which."""
    X, y = make_documents(n_documents, n_words=300, words_per_document=25, n_classes=3, random_state=seed)
    texts = [" ".join(f"w{word}" for word in X[[row]].indices) for row in range(n_documents)]
    labels = np.array(["red", "green", "blue"])[y]
    wrong = np.arange(5, n_documents, 40)
    labels[wrong] = np.array(["red", "green", "blue"])[(y[wrong] + 1) % 3]
    return [*texts, texts[1], texts[2] + " w5"], [*labels, labels[1], labels[2]], wrong


@pytest.fixture(scope="module")
def case():
    texts, labels, wrong = labelled_texts()
    return DocumentModel(n_neighbors=9).fit(texts, labels), wrong


def test_wrong_labels_and_copies_are_found(case):
    model, wrong = case
    findings = find_oddities(model)
    assert findings.n_looked_at == 242
    suspects = [suspect.document.id for suspect in findings.suspects]
    assert len(set(suspects) & set(wrong.tolist())) >= 0.8 * wrong.size
    assert len(suspects) <= 2 * wrong.size
    for suspect in findings.suspects:
        assert suspect.suggested != suspect.document.label
        assert suspect.probability >= 0.5 > suspect.own_probability
        assert suspect.document.id not in [neighbor.id for neighbor in suspect.neighbors]
    assert (findings.duplicates[0].first.id, findings.duplicates[0].second.id) == (1, 240)
    assert findings.duplicates[0].distance == 0


def test_votes_leave_the_document_itself_out(case):
    model, _ = case
    findings = find_oddities(model, max_documents=40)
    assert 30 <= findings.n_looked_at <= 40
    for number, predicted in list(zip(findings.ids, findings.predicted, strict=True))[:5]:
        others = DocumentModel(n_neighbors=9)
        others.contents_ = model.contents_
        others.remove([number])
        assert others.predict([model.neighbor(number).text])[0] == model.classes_[predicted]


def test_a_report_says_what_it_should(case, tmp_path):
    model, _ = case
    report = make_report(model)
    report.write_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    for piece in ("Doubtful labels", "Near-duplicates", "Telling words", "Confusion", "No documents were held out"):
        assert piece in page
    assert set(report.telling) == {"red", "green", "blue"}
    assert len(report.samples) == 4
    findings = report.findings()
    assert findings["held_out"] is False
    assert findings["near_duplicates"][0][:2] == [1, 240]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_held_out_figures_are_shown(case):
    model, _ = case
    contents = model.contents_
    evaluation = evaluate(model, [model.neighbor(0).text], [model.neighbor(0).label])
    try:
        model.contents_ = contents.changed(evaluation={**evaluation.to_dict(), "rivals": {"linear SVM": 0.25}})
        page = make_report(model).html()
    finally:
        model.contents_ = contents
    assert "Measured on 1 documents held out" in page
    assert "linear SVM" in page
    assert "25.0 %" in page


def evil_model():
    texts = [EVIL, "dogs bark", f"cats {EVIL}", "dogs growl", "cats purr", "dogs bark loudly"]
    return DocumentModel(n_neighbors=1).fit(texts, ["<b>cat</b>", "dog"] * 3, titles=["</script>", "", "", "", "", ""])


def test_markup_in_documents_is_text():
    page = make_report(evil_model()).html()
    outside = page.split("<body>")[1].split('<script type="application/json"')[0]
    assert "<img" not in outside
    assert "<script" not in outside
    assert "&lt;script&gt;" in outside
    assert "<b>cat" not in page
    data = re.search(r'<script type="application/json" id="tree-data">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in data
    assert page.count("<script") == page.count("</script>") == 3


def test_json_cannot_leave_its_element():
    assert safe_json({"a": "</script><!-- & \u2028"}) == '{"a": "\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028"}'


def test_models_without_texts_have_a_report():
    model = DocumentModel(n_neighbors=1, keep_texts=False).fit(
        ["cats purr", "dogs bark", "cats", "dogs"], ["c", "d"] * 2
    )
    report = make_report(model)
    assert report.samples == ()
    assert "Explanations" not in report.html().split("<script")[0]


def test_a_corpus_of_copies_is_counted_and_cut():
    texts = ["cats purr"] * 40 + ["dogs bark"] * 40
    findings = find_oddities(DocumentModel(n_neighbors=39).fit(texts, ["cat"] * 40 + ["dog"] * 40))
    assert findings.n_duplicates == 2 * 40 * 39 // 2
    assert len(findings.duplicates) == 1000
    assert findings.duplicates[0].first.id == 0


def test_a_sample_is_spread_evenly_and_named(monkeypatch):
    counts, labels = make_documents(50, n_words=40, words_per_document=8, n_classes=2, random_state=0)
    texts = [" ".join(f"w{word}" for word in np.flatnonzero(row)) for row in counts.toarray()]
    model = DocumentModel(n_neighbors=3).fit(texts, labels)
    found = find_oddities(model, max_documents=40)
    assert found.n_looked_at == 40
    assert (found.ids[0], found.ids[-1]) == (0, 49)
    assert max(np.diff(found.ids)) == 2
    report = make_report(model)
    monkeypatch.setattr("treewass.report.report.find_oddities", lambda _: found)
    assert "50 of 50 documents were looked at" in report.html()
    assert "40 of 50 documents were looked at" in make_report(model).html()


def test_colours_agree_where_a_class_has_no_documents_left():
    texts = ["a cat", "the cat", "a dog", "the dog", "an eel", "the eel"]
    model = DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog", "eel", "eel"])
    model.remove([0, 1])
    page = make_report(model).html()
    listed = dict(re.findall(r'--tag: (#\w+)">(\w+)<', page))
    in_tree = re.findall(r'\["(\w+)", [\d.]+, "(#\w+)"\]', page)
    assert {label for label, _ in in_tree} == {"dog", "eel"}
    assert all(listed[color] == label for label, color in in_tree)


def test_a_folder_that_is_not_there_is_named_before_the_work(case, tmp_path):
    report = make_report(case[0])
    with pytest.raises(ValueError, match="there is none at"):
        report.write_html(tmp_path / "no" / "report.html")
    with pytest.raises(ValueError, match="is a folder"):
        report.write_html(tmp_path)
