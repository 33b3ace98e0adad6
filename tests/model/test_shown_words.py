"""Words are counted without accents, and shown with them."""

import pytest

from treewass import DocumentModel
from treewass.model.queries import example_queries, passage_of, word_rarities
from treewass.report import make_report
from treewass.serve.responses import TreeView, search_texts

TEXTS = [
    "Betrag überwiesen, Gebühr zurückgezahlt", "Gebühr überwiesen und gebucht", "überwiesen: die Gebühr der Bücher",
    "Drucker gelöscht, Papier übrig", "Papier für den Drucker gelöst", "der Drucker löscht Papier",
]  # fmt: skip
LABELS = ["Geld"] * 3 + ["Büro"] * 3
FOLDED = "uberwiesen"


@pytest.fixture(scope="module")
def model():
    return DocumentModel(n_neighbors=2).fit(TEXTS, LABELS)


def test_words_are_counted_without_accents_and_shown_with_them(model):
    assert FOLDED in model.words_
    assert "überwiesen" in model.contents_.names
    assert [hit.id for hit in model.search("uberwiesen")] == [hit.id for hit in model.search("ÜBERWIESEN")]


def test_answers_show_words_with_their_accents(model):
    hit = model.search(FOLDED, 1)[0]
    moved = model.explain(0, 3)
    found = {
        "search": hit.words,
        "branch of a hit": hit.branch.words,
        "similar": [word for near in model.similar(id=0) for word in near.words],
        "explain": [word for move in moved.moves for word in (move.source, move.target)],
        "branches": [word for branch in moved.branches for word in branch.words],
        "explain_prediction": list(model.explain_prediction(TEXTS[0]).word_weights()),
        "outline": [word.word for node in model.outline().nodes for word in node.words],
        "report": [word for words in make_report(model).telling.values() for word, _ in words],
        "examples": " ".join(example_queries(model.contents_)).split(),
        "suggestion": list(model.unknown_words("uberwiese").values()),
        "service": [word.word for word in TreeView(model.contents_, 0).branch(0).words],
    }
    for place, words in found.items():
        assert "überwiesen" in words, place
        assert not {FOLDED, "gebuhr"} & set(words), place


def test_words_are_marked_where_the_text_writes_them_in_another_way():
    model = DocumentModel(n_neighbors=1).fit([*TEXTS, "Betrag uberwiesen"], [*LABELS, "Geld"])
    result = search_texts(model.contents_, ["Überwiesen"], 10, highlight=True)[0]
    marked = {piece.text for hit in result.hits for piece in hit.pieces if piece.weight > 0.3}
    assert {"überwiesen", "uberwiesen"} <= {word.lower() for word in marked}
    explained = model.explain_prediction("uberwiesen ÜBERWIESEN")
    assert explained.word_weights()["überwiesen"]


def test_unknown_words_are_shown_as_they_are_typed(model):
    assert list(model.unknown_words("Tortüe GEBUHR")) == ["tortüe"]
    assert model.search("Tortüe gebuhr burox", 1)[0].missing == ("tortüe", "burox")


class Forms(dict):
    """Written forms, of which there may be many: nobody goes through them at each search."""

    def __iter__(self):
        raise AssertionError

    items = keys = values = __iter__


def test_rarities_of_words_need_no_look_at_all_others(model, monkeypatch):
    held = model.contents_
    (hit,) = model.search(FOLDED, 1)
    found = word_rarities(held, hit.words)
    monkeypatch.setattr(held.counter, "spellings", Forms(held.counter.spellings))
    assert word_rarities(held, hit.words) == found == {"überwiesen": 1.0}
    assert passage_of(held, hit, 20).endswith("überwiesen, …")


def test_forms_are_stored_and_forgotten_with_their_words(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = DocumentModel.load(tmp_path / "model")
    assert loaded.contents_.names == model.contents_.names
    loaded.add(["Gebühr: ein Küchengerät"], ["Büro"])
    assert "küchengerät" in loaded.contents_.counter.names
    loaded.remove([len(TEXTS)])
    loaded.save(tmp_path / "model")
    assert "chenger" not in next((tmp_path / "model").glob("data-*/settings.json")).read_text(encoding="utf-8")
    loaded.update(["Überfällig"], ["Geld"])
    assert {"überfällig", "überwiesen"} <= set(loaded.contents_.names)
