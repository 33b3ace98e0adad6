import json
import time
from contextlib import contextmanager

import numpy as np
import pytest
from numba.core import event
from sklearn.feature_extraction.text import TfidfVectorizer

from treewass import DocumentModel
from treewass.documents import EmptyDocumentWarning, make_documents
from treewass.model import Evaluation, evaluate, fit_and_evaluate
from treewass.model.evaluation import held_out_rows, usual_rivals

from .conftest import LABELS, TEXTS


def test_figures_are_those_of_the_predictions(fitted):
    texts, labels = ["my cat", "a dog", "the car", "a lorry"], ["cat", "cat", "car", "lorry"]
    evaluation = evaluate(fitted, texts, labels, rivals=usual_rivals(3, "distance"))
    predicted = fitted.predict(texts)
    assert evaluation.classes == ("car", "cat", "dog", "lorry")
    assert evaluation.error == pytest.approx((predicted != np.array(labels)).mean())
    for truth, label in zip(labels, predicted, strict=True):
        assert evaluation.confusion[evaluation.classes.index(truth)][evaluation.classes.index(label)]
    assert evaluation.n_test == 4
    assert evaluation.n_train == len(TEXTS)
    assert set(evaluation.rivals) == {"TF-IDF neighbours", "linear SVM on TF-IDF"}
    assert Evaluation.from_dict(json.loads(json.dumps(evaluation.to_dict()))) == evaluation


def test_texts_are_labelled_some_at_a_time_with_the_same_figures(fitted, monkeypatch):
    texts, labels = ["my cat", "qqq", "a dog", "the car", "zzz"], ["cat", "dog", "cat", "car", "dog"]
    rivals = usual_rivals(3, "distance")
    with pytest.warns(EmptyDocumentWarning, match=r"rows 1, 4\b"):
        whole = evaluate(fitted, texts, labels, rivals=rivals)
    monkeypatch.setattr("treewass.model.evaluation._TEXTS_AT_ONCE", 2)
    with pytest.warns(EmptyDocumentWarning, match=r"rows 1, 4\b") as warned:
        assert evaluate(fitted, texts, labels, rivals=rivals) == whole
    assert len(warned) == 1
    assert not hasattr(rivals[0][1], "classes_")  # a copy was fitted, whose memory is free again


@pytest.mark.parametrize("vectorizer", [None, TfidfVectorizer()], ids=["counts", "weights"])
def test_the_usual_rivals_err_alike_on_documents_that_are_held_compactly(vectorizer):
    counts, labels = make_documents(150, n_words=60, words_per_document=6, n_classes=3, random_state=0)
    words = [[f"word{word}" for word in row.indices.repeat(row.data.astype(int))] for row in counts]
    texts = [" ".join(130 * row) for row in words]  # more of some words than a byte counts
    rows, model = list(range(1, 150, 3)), DocumentModel(n_neighbors=3, vectorizer=vectorizer)
    found, _ = fit_and_evaluate(model, texts, labels, test_rows=rows, refit=False, rivals=None)
    rivals = usual_rivals(model.n_neighbors, model.vote)
    held_out, truth = [texts[row] for row in rows], [labels[row] for row in rows]
    assert found.rivals == evaluate(model, held_out, truth, rivals=rivals).rivals
    assert all(found.rivals.values())


def test_documents_without_a_label_are_not_for_rivals():
    class Rival:
        def fit(self, X, y):
            seen.append((X.toarray().tolist(), y.tolist()))
            return self

        def predict(self, X):
            return np.full(X.shape[0], "cat")

    seen = []
    model = DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], ["cat", "dog"])
    model.add(["a cat and a dog"], [None])
    assert evaluate(model, ["cat", "dog"], ["cat", "dog"], rivals=[("all cats", Rival())]).rivals == {"all cats": 0.5}
    assert seen == [([[1, 1, 0], [1, 0, 1]], ["cat", "dog"])]


def test_labels_of_another_kind_are_refused(fitted):
    numbers = DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], [1, 2])
    with pytest.raises(ValueError, match="Expected labels such as 1, got '1'"):
        evaluate(numbers, ["a cat"], ["1"])
    with pytest.raises(ValueError, match="Expected labels such as 'car', got 1"):
        evaluate(fitted, ["a cat"], [1])


def test_a_model_is_measured_on_documents_that_it_has_not_seen(tmp_path):
    model, entered = DocumentModel(n_neighbors=3), []

    @contextmanager
    def stage(doing, seconds):
        held = len(model.index_) if hasattr(model, "contents_") else None
        entered.append((doing, seconds is not None, held))
        yield

    titles = [f"document {row}" for row in range(len(TEXTS))]
    evaluation, seconds = fit_and_evaluate(
        model, TEXTS, LABELS, titles=titles, test_size=0.2, about={"name": "pets"}, stage=stage
    )
    assert entered == [
        ("learning from 12 documents, without 3 held out (1 of 2)", False, None),
        ("measuring on the 3 documents held out, with other methods", False, 12),
        ("learning from all 15 documents (2 of 2)", True, None),
    ]
    assert seconds > 0
    assert (evaluation.n_train, evaluation.n_test) == (12, 3)
    assert set(evaluation.rivals) == {"TF-IDF neighbours", "linear SVM on TF-IDF"}
    held_out = held_out_rows(LABELS, 0.2)
    others = np.setdiff1d(np.arange(15), held_out)
    alone = DocumentModel(n_neighbors=3).fit([TEXTS[row] for row in others], np.array(LABELS)[others])
    expected = evaluate(alone, [TEXTS[row] for row in held_out], np.array(LABELS)[held_out])
    assert evaluation.confusion == expected.confusion
    assert len(model.index_) == 15
    assert model.document(14).title == "document 14"
    model.save(tmp_path / "model")
    stored = DocumentModel.load(tmp_path / "model").contents_
    assert Evaluation.from_dict(stored.evaluation) == evaluation
    assert stored.about["name"] == "pets"
    assert stored.about["protocol"] == "Afterwards the model was learned again, from all 15 documents."


def test_the_time_that_the_second_fit_should_take_is_without_compiling(monkeypatch):
    expected, fit, clock = [], DocumentModel.fit, Clock()

    def slow(self, *arguments, **settings):
        with event.trigger_event("numba:compile"):
            clock.now += 100
        clock.now += 12
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(DocumentModel, "fit", slow)
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(event, "timer", clock)

    @contextmanager
    def stage(_, seconds):
        expected.append(seconds)
        yield

    _, seconds = fit_and_evaluate(DocumentModel(n_neighbors=3), TEXTS, LABELS, test_size=0.2, rivals=(), stage=stage)
    assert expected == [None, None, 15]  # 12 s for 12 documents
    assert seconds == 112


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_documents_held_out_by_the_caller_are_never_learned_from():
    model = DocumentModel(n_neighbors=1)
    evaluation, _ = fit_and_evaluate(model, TEXTS, LABELS, test_rows=[7, 3], refit=False, rivals=())
    assert (evaluation.n_test, evaluation.n_train, evaluation.rivals) == (2, 13, {})
    assert list(model.contents_.documents.texts) == [text for row, text in enumerate(TEXTS) if row not in (3, 7)]
    assert "never learned" in model.contents_.about["protocol"]
    none, _ = fit_and_evaluate(model, TEXTS, LABELS, test_size=0)
    assert none is None
    assert model.contents_.evaluation is None
    assert "protocol" not in model.contents_.about
    assert len(model.index_) == 15


@pytest.mark.parametrize("test_size", [0.1, 0.3, 0.5, 0.8])
def test_classes_are_held_out_evenly(test_size):
    labels = np.array(LABELS * 4)
    rows = held_out_rows(labels, test_size)
    counts = np.unique(labels[rows], return_counts=True)[1]
    assert rows.size == np.ceil(test_size * 60)
    assert counts.max() - counts.min() <= 1
    np.testing.assert_array_equal(rows, held_out_rows(labels, test_size))
    assert not np.array_equal(rows, held_out_rows(labels, test_size, random_state=1))


def test_rare_classes_do_not_keep_others_from_being_held_out():
    assert held_out_rows(["a"] * 9 + ["b"], 0.3).size == 3
    assert held_out_rows(list("abcde") * 2, 0.2).size == 2
    for seed in range(20):
        labels = np.array(["a"] * 3 + ["b"] * 3 + list("cdefgh"))
        rows = held_out_rows(labels, 0.5, seed)
        assert sorted(labels[rows]) == ["a", "a", "b", "b"]
        assert held_out_rows(["a", "a", "b"], 0.5, seed).tolist() in ([0], [1])
    with pytest.raises(ValueError, match=r"to hold 1 of 2 documents out\. Hold out less \(test_size=0 holds"):
        held_out_rows(["a", "b"], 0.3)


@pytest.mark.parametrize("test_size", [0.0, 1.0, -1, 0.99])
def test_shares_that_leave_nothing_are_refused(test_size):
    with pytest.raises(ValueError, match=r"test_size|too small to hold 6 of 6"):
        held_out_rows(["a", "b"] * 3, test_size)


@pytest.mark.parametrize(
    "change", [{"confusion": [[1]]}, {"n_train": "3"}, {"rivals": {"x": 2}}, {"classes": None}, {"classes": ["a", []]}]
)
def test_figures_of_another_shape_are_refused(change):
    sound = Evaluation(("a", "b"), ((1, 0), (0, 1)), 3, {}).to_dict()
    with pytest.raises(ValueError, match="Expected an evaluation"):
        Evaluation.from_dict({**sound, **change})


class _Spy:
    """Calls back in fit, and labels everything as the first document."""

    def __init__(self, called):
        self.called = called

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        self.label = y[0]
        self.called(X)
        return self

    def predict(self, X):
        assert X.dtype == np.float64
        return np.full(X.shape[0], self.label)


def test_what_other_methods_do_to_their_documents_does_not_touch_the_model():
    def spoil(X):
        assert X.dtype == np.float64
        X.data[:], X.indices[:], X.indptr[:] = 9.0, 0, 0

    model = DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], ["cat", "dog"])
    before = [model.counts(row).toarray() for row in range(2)]
    figures = evaluate(model, ["cat", "dog"], ["cat", "dog"], rivals=[("first", _Spy(spoil)), ("again", _Spy(spoil))])
    assert figures.rivals == {"first": 0.5, "again": 0.5}
    assert [model.counts(row).toarray().tolist() for row in range(2)] == [row.tolist() for row in before]


@pytest.mark.parametrize("refit", [True, False])
def test_what_was_learned_first_is_let_go_before_other_methods_learn(refit):
    held = []

    def look(_):
        held.append(hasattr(model, "contents_"))

    model = DocumentModel(n_neighbors=1)
    fit_and_evaluate(model, *corpus_of_two_classes(), rivals=[("spy", _Spy(look))], refit=refit)
    assert held == [not refit]


@pytest.mark.parametrize("refit", [True, False])
def test_a_method_that_raises_leaves_the_model_as_it_is_at_that_time(refit):
    def fail(_):
        raise ArithmeticError("no")

    model = DocumentModel(n_neighbors=1)
    with pytest.raises(ArithmeticError, match="no"):
        fit_and_evaluate(model, *corpus_of_two_classes(), rivals=[("broken", _Spy(fail))], refit=refit)
    assert hasattr(model, "contents_") == (not refit)


def corpus_of_two_classes():
    return ["cats purr", "a cat", "dogs bark", "a dog"] * 3, ["cat", "cat", "dog", "dog"] * 3
