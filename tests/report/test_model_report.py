import subprocess
import sys

import numpy as np
import pytest

from treewass import DocumentModel
from treewass.documents import make_documents
from treewass.model import evaluate
from treewass.report import find_oddities, make_report


def test_a_report_says_what_it_should(case, tmp_path):
    model, _ = case
    report = make_report(model)
    report.write_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    for piece in ("Doubtful labels", "Near-duplicates", "Telling words", "Confusion", "No documents were held out"):
        assert piece in page
    assert set(report.telling) == {"red", "green", "blue"}
    assert len(report.samples) == 4
    figures = report.to_dict()
    assert figures["held_out"] is False
    assert figures["near_duplicates"][0][:2] == [1, 240]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_held_out_figures_are_shown(case):
    model, _ = case
    contents = model.contents_
    evaluation = evaluate(model, [model.document(0).text], [model.document(0).label])
    try:
        model.contents_ = contents.changed(evaluation={**evaluation.to_dict(), "rivals": {"linear SVM": 0.25}})
        page = make_report(model).html()
    finally:
        model.contents_ = contents
    assert "Measured on 1 document held out" in page
    assert "linear SVM" in page
    assert "25.0 %" in page


def test_models_without_texts_have_a_report():
    model = DocumentModel(n_neighbors=1, keep_texts=False).fit(
        ["cats purr", "dogs bark", "cats", "dogs"], ["c", "d"] * 2
    )
    report = make_report(model)
    assert report.samples == ()
    assert "Explanations" not in report.html().split("<script")[0]


def test_a_sample_is_spread_evenly_and_named(monkeypatch):
    counts, labels = make_documents(50, n_words=40, words_per_document=8, n_classes=2, random_state=0)
    texts = [" ".join(f"w{word}" for word in np.flatnonzero(row)) for row in counts.toarray()]
    model = DocumentModel(n_neighbors=3).fit(texts, labels)
    found = find_oddities(model, max_documents=40)
    assert found.n_looked_at == 40
    assert (found.ids[0], found.ids[-1]) == (0, 49)
    assert max(np.diff(found.ids)) == 2
    report = make_report(model)
    monkeypatch.setattr("treewass.report.model_report.find_oddities", lambda _: found)
    assert "All 50 documents with a label were looked at" in report.html()
    assert "A sample was chosen: 40 of 50 documents" in make_report(model).html()


def test_a_folder_that_is_not_there_is_named_before_the_work(case, tmp_path):
    report = make_report(case[0])
    with pytest.raises(ValueError, match="there is none at"):
        report.write_html(tmp_path / "no" / "report.html")
    with pytest.raises(ValueError, match="is a folder"):
        report.write_html(tmp_path)


def test_a_report_on_few_documents_compiles_nothing(tmp_path):
    DocumentModel(n_neighbors=1).fit(["cats purr", "a cat", "dogs bark", "a dog"], ["c", "c", "d", "d"]).save(
        tmp_path / "model"
    )
    code = (
        "import sys\n"
        "from treewass.cli.app import main\n"
        f"sys.argv = ['treewass', 'report', {str(tmp_path / 'model')!r}, '-o', {str(tmp_path / 'report.html')!r}]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert 'numba' not in sys.modules\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "report.html").exists()
