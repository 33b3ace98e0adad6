import csv
import sys
from itertools import pairwise

import numpy as np
import pytest

from tests.report.cases import labelled_texts
from treewass import DocumentModel
from treewass.model.cross_fitting import held_out_scores
from treewass.report import find_oddities


def test_wrong_labels_and_copies_are_found(case):
    model, wrong = case
    found = find_oddities(model)
    assert found.n_looked_at == 242
    suspects = [suspect.document.id for suspect in found.suspects]
    assert len(set(suspects) & set(wrong.tolist())) >= 0.8 * wrong.size
    assert len(suspects) <= 2 * wrong.size
    for suspect in found.suspects:
        assert suspect.suggested != suspect.document.label
        assert suspect.probability > suspect.own_probability
        assert suspect.document.id not in [neighbor.id for neighbor in suspect.neighbors]
    assert (found.duplicates[0].first.id, found.duplicates[0].second.id) == (1, 240)
    assert found.duplicates[0].likeness == 1


def test_suspects_are_written_as_a_table(case, tmp_path):
    found = find_oddities(case[0])
    found.write_suspects(tmp_path / "doubtful.csv")
    with (tmp_path / "doubtful.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == [suspect.document.id for suspect in found.suspects]
    assert [row["text"] for row in rows] == [suspect.document.text for suspect in found.suspects]
    assert all(row["label"] != row["suggested"] for row in rows)
    with pytest.raises(ValueError, match="there is none at"):
        found.write_suspects(tmp_path / "no" / "doubtful.csv")


def test_pairs_of_different_labels_come_first():
    texts = ["one two three four", "five six seven eight", "one two three four", "five six seven eight nine"]
    found = find_oddities(DocumentModel(n_neighbors=1).fit(texts, ["a", "a", "a", "b"]))
    assert [(pair.first.id, pair.second.id, round(pair.likeness, 3)) for pair in found.duplicates] == [
        (1, 3, 0.667),
        (0, 2, 1.0),
    ]


def test_without_texts_nothing_is_said_about_copies():
    texts, labels = ["cats purr", "cats purr", "dogs bark"], ["c", "c", "d"]
    found = find_oddities(DocumentModel(n_neighbors=1, keep_texts=False).fit(texts, labels))
    assert found.n_duplicates is None


def test_doubts_rank_without_ties(case):
    model, wrong = case
    found = find_oddities(model)
    doubts = dict(zip(found.ids, found.doubts, strict=True))
    ranked = [doubts[suspect.document.id] for suspect in found.suspects]
    assert all(one > other for one, other in pairwise(ranked))
    assert {number for number, doubt in doubts.items() if doubt > 0} == {s.document.id for s in found.suspects}
    for suspect in found.suspects:
        expected = np.log(suspect.probability) - np.log(suspect.own_probability)
        assert doubts[suspect.document.id] == pytest.approx(expected, abs=1e-9)
    assert len(set(sorted(doubts, key=doubts.get)[-wrong.size :]) & set(wrong.tolist())) >= wrong.size - 1


def test_the_channel_is_heard_only_where_it_has_not_learned():
    """Labels at random: a channel that had learned from a document would know its label."""
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in random.integers(0, 400, 20)) for _ in range(200)]
    model = DocumentModel(n_neighbors=9).fit(texts, random.choice(["a", "b"], 200))
    held = model.contents_
    scores = held_out_scores(held, held.index.ids)[0]
    right = (scores.argmax(axis=1) == held.documents.codes).mean()
    assert 0.35 < right < 0.65


def test_votes_leave_the_document_itself_out():
    texts, labels, _ = labelled_texts()
    model = DocumentModel(n_neighbors=9, linear=False).fit(texts, labels)
    found = find_oddities(model, max_documents=40)
    assert 30 <= found.n_looked_at <= 40
    for number, predicted in list(zip(found.ids, found.predicted, strict=True))[:5]:
        others = DocumentModel(n_neighbors=9)
        others.contents_ = model.contents_
        others.remove([number])
        assert others.predict([model.document(number).text])[0] == model.classes_[predicted]


def test_a_corpus_of_copies_is_counted_and_cut():
    texts = ["cats purr"] * 40 + ["dogs bark"] * 40
    found = find_oddities(DocumentModel(n_neighbors=39).fit(texts, ["cat"] * 40 + ["dog"] * 40))
    assert found.n_duplicates == 2 * 40 * 39 // 2
    assert len(found.duplicates) == 1000
    assert found.duplicates[0].first.id == 0


def test_a_model_without_documents_has_no_oddities():
    model = DocumentModel(n_neighbors=1).fit(["cats purr", "dogs bark"], ["c", "d"])
    model.remove([0, 1])
    assert find_oddities(model).n_looked_at == 0


@pytest.mark.filterwarnings("ignore::treewass.EmptyDocumentWarning")
def test_documents_without_a_known_word_are_not_looked_at():
    model = DocumentModel(n_neighbors=1).fit(["cats purr", "dogs bark"], ["c", "d"])
    model.add(["zebra", "zebra"], ["c", "d"])
    found = find_oddities(model)
    assert found.ids == (0, 1)
    assert (found.n_looked_at, found.n_unknown, found.n_documents, found.is_sample) == (2, 2, 4, False)
    assert find_oddities(model, max_documents=3).is_sample
    model.remove([0, 1])
    assert find_oddities(model).ids == ()


def test_few_documents_are_compared_as_many_are(case, monkeypatch):
    model, _ = case
    compiled = find_oddities(model)
    monkeypatch.delitem(sys.modules, "numba")  # as in a process that has not started it
    assert find_oddities(model) == compiled
