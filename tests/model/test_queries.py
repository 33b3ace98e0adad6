import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from treewass import DocumentModel, EmptyDocumentWarning, Tree, TreeMetric
from treewass.explain.hits import shared_branches
from treewass.model import queries

from .conftest import LABELS, TEXTS


def test_search_finds_what_is_typed(fitted):
    found = fitted.search("a cat that barks", k=15)
    assert {hit.id for hit in found} == {
        number for number, text in enumerate(TEXTS) if {"a", "cat", "barks"} & set(text.split())
    }
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(hit.distance is None and hit.score > 0 for hit in found)
    for hit in found:
        own = hit.text.split()
        assert hit.words == tuple(word for word in ("a", "cat", "that", "barks") if word in own)
        assert hit.missing == tuple(word for word in ("a", "cat", "that", "barks") if word not in own)
    assert fitted.search("a cat that barks", 3) == found[:3]


def test_it_ranks_as_the_index_does(fitted):
    query = "my cat sleeps"
    scores, ids = fitted.index_.rank(fitted.contents_.counter.count([query]), 7, where=[0, 1, 2, 3, 4])
    hits = fitted.search(query, 7, where={"label": "cat"})
    assert [(hit.id, hit.score) for hit in hits] == [(i, s) for i, s in zip(ids[0], scores[0], strict=True) if s > 0]


def test_a_process_without_scipy_answers_the_same(fitted, folder, monkeypatch):
    asked = ["a cat that barks", "petrol", "xyzzy cat"]
    where = {"label": ("!=", "dog")}
    expected = fitted.search(asked, 5), fitted.search(asked, 5, where=where)
    monkeypatch.delitem(sys.modules, "scipy.sparse")
    model = DocumentModel.load(folder)
    assert (model.search(asked, 5), model.search(asked, 5, where=where)) == expected
    assert expected[0] == [fitted.search(query, 5) for query in asked]


def test_a_pasted_document_is_compared_by_distance(fitted, monkeypatch):
    monkeypatch.setattr(queries, "MOST_TYPED", 3)
    short, long = "my cat sleeps", "my cat sleeps all day"
    assert all(hit.score is not None for hit in fitted.search(short))
    found = fitted.search(long, 4)
    assert [(hit.id, hit.distance) for hit in found] == [(hit.id, hit.distance) for hit in fitted.similar(long, 4)]
    assert fitted.search([short, long], 4) == [fitted.search(short, 4), found]


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), CountVectorizer(ngram_range=(1, 2))])
def test_other_vectorisers_are_searched_too(vectorizer):
    model = DocumentModel(n_neighbors=3, vectorizer=vectorizer).fit(TEXTS, LABELS)
    best = model.search("the dog barks", 1)[0]
    assert best.text == "the dog barks"
    assert (best.score is None) == isinstance(vectorizer, TfidfVectorizer)
    assert {"the", "dog", "barks"} <= set(best.words)


def test_added_documents_are_found_by_new_words(tmp_path):
    model = DocumentModel(n_neighbors=3).fit(TEXTS, LABELS)
    before, metric = model.predict_proba(TEXTS), model.metric_
    with pytest.warns(EmptyDocumentWarning, match="never returned as neighbours"):
        ids = model.add(["a zebra and a cat", "zebra gnu"], [None, None])
    model.save(tmp_path / "model")
    for one in (model, DocumentModel.load(tmp_path / "model")):
        found = one.search("zebra gnu", 5)
        assert [hit.id for hit in found] == ids[::-1].tolist()
        assert found[0].words == ("zebra", "gnu")
        assert (found[0].branch, found[1].missing) == (None, ("gnu",))
        assert "zebra" not in one.words_
        assert one.unknown_words("zebras gnus lion") == {"zebras": "zebra", "gnus": "gnu", "lion": None}
        np.testing.assert_array_equal(one.predict_proba(TEXTS), before)
        assert one.metric_ == metric
        assert one.explain("a zebra and a cat", 15).distance == 0
        assert one.explain_prediction("zebra cat").label == "cat"
        assert [hit.id for hit in one.similar(id=15, k=1)] != [15]
        one.update(["a zebra"], ["zebra"])
        assert "gnu" in one.words_
        assert one.similar("zebra", 1)[0].text in ("zebra gnu", "a zebra")
    with pytest.warns(EmptyDocumentWarning):
        assert model.similar("xyzzy") == []


def test_a_removed_document_leaves_no_word_behind(tmp_path):
    model = DocumentModel(n_neighbors=3).fit(TEXTS, LABELS)
    model.add(["a cat named xyzzy", "a cat named zebra"], ["cat", "cat"])
    model.remove([15])
    model.save(tmp_path / "model")
    assert not any(b"xyzzy" in path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file())
    loaded = DocumentModel.load(tmp_path / "model")
    assert [hit.id for hit in loaded.search("named zebra")] == [16]
    ids = loaded.add(["xyzzy the cat"])
    assert [hit.id for hit in loaded.search("xyzzy")] == ids.tolist()


def test_unknown_words_are_said_and_never_replaced(fitted):
    assert fitted.unknown_words("the kiten purs, xyzzy 2020") == {
        "kiten": "kitten", "purs": "purrs", "xyzzy": None, "2020": None,
    }  # fmt: skip
    with pytest.warns(EmptyDocumentWarning, match=r"rows 0\): nothing is found"):
        assert fitted.search("kiten") == []
    assert fitted.search("kiten cat", 1)[0].missing == ("kiten",)
    words = " ".join(f"xyzzy{'abcdefghij'[n % 10]}{'abcdefghij'[n // 10]}" for n in range(99))
    assert len(fitted.search(f"{words} cat", 1)[0].missing) == 64
    assert fitted.unknown_words(f"kiten {words} purs")["kiten"] == "kitten"
    assert fitted.unknown_words(f"kiten {words} purs")["purs"] is None  # after too many others
    gone = DocumentModel(n_neighbors=3).fit(TEXTS, LABELS)
    gone.remove([4])
    assert gone.unknown_words("kitten") == {"kitten": None}


@given(data=st.data())
def test_the_shared_branch_saves_most(data):
    parents = [-1, *(data.draw(st.integers(0, node)) for node in range(5))]
    lengths = data.draw(st.lists(st.floats(0, 4), min_size=6, max_size=6))
    tree = Tree(parents, lengths, data.draw(st.lists(st.integers(0, 5), min_size=7, max_size=7)))
    metric = TreeMetric(tree, masses=data.draw(st.lists(st.integers(0, 3), min_size=7, max_size=7)))
    counts = st.dictionaries(st.integers(0, 8), st.integers(1, 3)).map(lambda row: dict(sorted(row.items())))
    query, *documents = ((list(row), list(row.values())) for row in data.draw(st.lists(counts, min_size=3, max_size=3)))
    found = shared_branches(metric, query, documents, "abcdefghi")

    def below(node, row):
        total = sum(count * metric.masses[0, word] for word, count in zip(*row, strict=True) if word < 7)
        inside = [(w, c) for w, c in zip(*row, strict=True) if w < 7 and node in tree.path(int(tree.word_nodes[w]))]
        return sum(c * metric.masses[0, w] for w, c in inside) / total if total else 0.0

    for document, branch in zip(documents, found, strict=True):
        saved = [min(below(v, query), below(v, document)) * lengths[v] * (v > 0) for v in range(6)]
        if branch is None:
            assert max(saved) == 0
        else:
            assert saved[branch.node] == pytest.approx(max(saved))
            assert branch.mass == pytest.approx(min(below(branch.node, query), below(branch.node, document)))
            assert set(branch.words) <= {"abcdefg"[word] for word in document[0] if word < 7}
