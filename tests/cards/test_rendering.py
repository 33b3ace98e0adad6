from html.parser import HTMLParser

import pytest

from tests.cards.cases import shown_objects
from treewass import DocumentModel, Tree
from treewass.cards.colors import class_color

ELEMENTS = {
    "div", "style", "h3", "p", "span", "b", "mark", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "details", "summary", "ol", "li", "code",
}  # fmt: skip
# Nothing that runs, loads or leads elsewhere


class Elements(HTMLParser):
    """Notes elements and attributes; raises where they are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes, self.open, self.texts = set(), set(), [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


@pytest.fixture(scope="module")
def objects():
    return shown_objects()


KINDS = ["model", "unfitted", "hit", "document", "prediction", "comparison", "outline", "report", "metric", "tree"]


@pytest.mark.parametrize("kind", KINDS)
def test_cards_are_whole_and_hold_nothing_that_runs(objects, kind):
    found = Elements(objects[kind]._repr_html_())
    assert found.names <= ELEMENTS
    assert found.attributes <= {"class", "style", "scope", "open", "tabindex", "role", "aria-label"}
    text = "".join(found.texts)
    assert text.strip()
    if kind in ("model", "unfitted", "hit", "document", "report"):
        assert "<script>document.title='owned'</script>" in text


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning")
def test_a_prediction_for_an_unknown_text_says_so():
    model = DocumentModel(n_neighbors=1).fit(["a cat", "the cat", "a dog"], ["cat", "cat", "dog"])
    said = "knows no word of it"
    assert said in model.explain_prediction("zzz")._repr_html_()
    assert said not in model.explain_prediction("a cat")._repr_html_()


def test_a_model_shows_its_classes_and_its_errors():
    model = DocumentModel(n_neighbors=1).fit(["a cat", "the cat", "a dog"], ["cat", "cat", "dog"])
    card = model._repr_html_()
    for code, label in enumerate(["cat", "dog"]):
        assert f'--tag: {class_color(code)}">{label}<' in card
    assert "held out" not in card
    evaluation = {"classes": ["cat", "dog"], "confusion": [[8, 2], [1, 9]], "n_train": 60, "rivals": {"SVM": 0.2}}
    model.contents_ = model.contents_.changed(evaluation=evaluation)
    card = model._repr_html_()
    assert "20 documents held out" in card
    assert "15.0 %" in card
    assert "SVM" in card


def test_hits_are_read_at_a_glance():
    model = DocumentModel(n_neighbors=1).fit(["a cat " * 50, "a dog"], ["cat", "dog"], titles=["Tom", ""])
    (hit,) = model.search("cat", k=1)
    shown = repr(hit)
    assert shown.startswith("Hit(id=0, label='cat', title='Tom', text='a cat a cat")
    assert f"score={round(hit.score, 4)!r}" in shown
    assert len(shown) < 200
    assert "<mark" in hit._repr_html_()
    assert repr(model.document(1)) == "Document(id=1, label='dog', text='a dog')"


def test_words_are_marked_in_every_way_of_writing():
    texts = ["le naïve café", "naïve cat", "NAIVE cat purrs", "a dog barks"]
    model = DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "cat", "dog"])
    assert all("<mark" in hit._repr_html_() for hit in model.search("naive", 3))


def test_words_that_stay_and_move_are_named():
    model = DocumentModel(n_neighbors=1).fit(["a cat sleeps", "a dog sleeps"], ["cat", "dog"])
    card = "".join(Elements(model.explain("cat sleeps", "dog sleeps")._repr_html_()).texts)
    assert "Distance" in card
    for word in ("sleeps", "cat", "dog"):
        assert word in card


def test_the_levels_of_a_tree_are_counted():
    texts = Elements(Tree([-1, 0, 0, 1], word_nodes=[3, 3, 2])._repr_html_()).texts
    assert [text for text in texts if text.strip()][-9:] == ["0", "1", "0", "1", "2", "1", "2", "1", "2"]
