"""A text is counted once and searched once, and the texts of a request share one search."""

from collections import Counter

import pytest

from treewass import TreeIndex
from treewass.model import queries
from treewass.model.vectorizers import WordCounter
from treewass.serve import responses

TEXTS = ["my cat sleeps", "a lorry", "zebra", "the dog barks"]


@pytest.fixture
def work(monkeypatch):
    """How often each text was counted, and the rows of each search."""
    counted, searched = Counter(), []
    count_one, count, search, rank = WordCounter._row, WordCounter.count, TreeIndex.search, queries.ranked_rows

    def noted_one(self, text):
        counted[text] += 1
        return count_one(self, text)

    def noted_count(self, texts, *more):
        counted.update(texts)
        return count(self, texts, *more)

    monkeypatch.setattr(WordCounter, "_row", noted_one)
    monkeypatch.setattr(WordCounter, "count", noted_count)

    def noted_search(self, X, k=10, **more):
        searched.append(X.shape[0])
        return search(self, X, k, **more)

    def noted_rank(index, rows, *more):
        searched.append(len(rows))
        return rank(index, rows, *more)

    monkeypatch.setattr(TreeIndex, "search", noted_search)
    monkeypatch.setattr(queries, "ranked_rows", noted_rank)
    return counted, searched


@pytest.mark.parametrize(
    ("path", "body", "rows"),
    [
        ("search", {"texts": TEXTS, "k": 3}, [4]),
        ("search", {"texts": TEXTS[:1], "highlight": True}, [1]),
        ("similar", {"texts": TEXTS, "k": 3}, [3]),
        ("similar", {"texts": TEXTS[:1], "highlight": True}, [1]),
        ("similar", {"texts": ["zebra"]}, []),
        ("predict", {"texts": TEXTS}, [3]),
        ("predict", {"texts": TEXTS[:1], "explain": True}, [1]),
        ("predict", {"texts": ["zebra"], "explain": True}, []),
        ("explain", {"first": TEXTS[0], "second": TEXTS[1]}, []),
    ],
)
def test_each_text_is_counted_once_and_all_are_searched_together(client, work, path, body, rows):
    counted, searched = work
    assert client.post(f"/api/{path}", json=body).status_code == 200
    texts = body["texts"] if "texts" in body else list(body.values())
    assert counted == Counter(texts)
    assert searched == rows


def test_many_texts_are_answered_as_one_by_one(live):
    held = live.current()
    alone = [responses.search_texts(held, [text], 4)[0] for text in TEXTS]
    assert alone[2].unknown  # said of one text only
    alone[2].unknown = []
    assert responses.search_texts(held, TEXTS, 4) == alone
    for explain in (False, True):
        assert responses.predict_texts(held, TEXTS, explain) == [
            responses.predict_texts(held, [text], explain)[0] for text in TEXTS
        ]


def test_texts_in_lists_are_one_line_and_cut(writer):
    text = "a cat\n" + "and a mouse \x07 " * 100
    documents = [{"text": text, "label": "cat"}]
    (number,) = writer.post("/api/documents", json={"documents": documents}).json()["ids"]
    (result,) = writer.post("/api/similar", json={"texts": [text], "k": 1, "highlight": True}).json()["results"]
    (neighbor,) = result["hits"]
    assert neighbor["id"] == number
    assert neighbor["text"].startswith("a cat and a mouse \ufffd and")
    assert neighbor["text"].endswith(" …")
    assert len(neighbor["text"]) <= 600
    assert "".join(piece["text"] for piece in neighbor["pieces"]) == neighbor["text"]
    assert writer.get(f"/api/documents/{number}").json()["text"] == text
