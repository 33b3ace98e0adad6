import re
from dataclasses import replace

import pytest

from tests.report.cases import EVIL
from treewass import DocumentModel
from treewass.report import make_report
from treewass.report.page import safe_json


def evil_model():
    texts = [EVIL, "dogs bark", f"cats {EVIL}", "dogs growl", "cats purr", "dogs bark loudly"]
    return DocumentModel(n_neighbors=1).fit(texts, ["<b>cat</b>", "dog"] * 3, titles=["</script>", "", "", "", "", ""])


def test_markup_in_documents_is_text():
    page = make_report(evil_model()).html()
    outside = page.split("<body ")[1].split('<script type="application/json"')[0]
    assert "<img" not in outside
    assert "<script" not in outside
    assert "&lt;script&gt;" in outside
    assert "<b>cat" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in data
    assert page.count("<script") == page.count("</script>") == 3


def test_json_cannot_leave_its_element():
    assert safe_json({"a": "</script><!-- & \u2028"}) == '{"a": "\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028"}'


def test_colours_agree_where_a_class_has_no_documents_left():
    texts = ["a cat", "the cat", "a dog", "the dog", "an eel", "the eel"]
    model = DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog", "eel", "eel"])
    model.remove([0, 1])
    page = make_report(model).html()
    listed = dict(re.findall(r'--tag: (#\w+)">(\w+)<', page))
    in_tree = re.findall(r'\["(\w+)", [\d.]+, "(#\w+)"\]', page)
    assert {label for label, _ in in_tree} == {"dog", "eel"}
    assert all(listed[color] == label for label, color in in_tree)


def test_documents_go_by_their_keys():
    texts, labels = (
        ["a cat", "the cat", "a dog", "the dog", "a cat and a dog", "the"],
        ["cat", "cat", "dog", "dog"] + ["cat"] * 2,
    )
    keys = [f"T-{number}" for number in range(6)]
    page = make_report(DocumentModel(n_neighbors=1).fit(texts, labels, keys=keys)).html()
    heads = re.findall(r'<h3>.*<span class="id">(.*?)</span>: voted', page)
    assert heads
    assert set(heads) <= set(keys)
    assert not re.search(r"\bid \d", page.split("<main")[1])


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning")
def test_documents_left_out_are_not_called_a_sample():
    texts = ["a cat", "the cat", "a dog", "the dog", "---", "??"]
    report = make_report(DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog", "cat", "dog"]))
    page = _plain(report)
    assert "A sample" not in page
    assert page.count("Left out: 2 documents without a known word.") == 2
    assert "4 of 6 documents with a label were looked at. Left out: 2" in page


def test_a_sample_is_called_one():
    texts = ["a cat", "the cat", "a dog", "the dog"]
    report = make_report(DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog"]))
    report = replace(
        report,
        document_map=replace(report.document_map, n_documents=9),
        oddities=replace(report.oddities, n_documents=8, n_unknown=1),
    )
    page = _plain(report)
    assert "A sample: 4 of 9 documents, evenly spread. Hover" in page
    assert "A sample was chosen: 5 of 8 documents with a label, evenly spread. Left out: 1 document without" in page
    assert "A sample was compared: 5 of 8 documents with a label, evenly spread." in page


def _plain(report):
    """The page's words, without its data and scripts."""
    return " ".join(report.html().split("<main")[1].split("<script")[0].split())
