import warnings
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from treewass import ProfileTreeWasserstein
from treewass.documents import EmptyDocumentWarning, read_corpus
from treewass.learners import ClassCounts
from treewass.model import WordCounter

ANALYZER = CountVectorizer(token_pattern=r"\w+")
LABELLED = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=5).map(" ".join), st.sampled_from(["x", "y", "z"])),
    min_size=1,
    max_size=24,
)


def counted(documents):
    return ClassCounts.from_texts([text for text, _ in documents], [label for _, label in documents], str.split)


def assert_equal(first, second):
    assert (first.words, first.classes) == (second.words, second.classes)
    assert np.array_equal(first.columns.by_class, second.columns.by_class)
    assert np.array_equal(first.columns.by_word.toarray(), second.columns.by_word.toarray())


@given(LABELLED)
def test_each_word_and_class_is_counted_as_an_obvious_loop_counts(documents):
    expected = Counter((word, label) for text, label in documents for word in set(text.split()))
    counts = counted(documents)
    assert counts.words == tuple(sorted({word for word, _ in expected}))
    assert counts.n_documents == len(documents)
    found = counts.columns.by_word.toarray()
    for row, word in enumerate(counts.words):
        for column, label in enumerate(counts.classes):
            assert found[row, column] == expected[word, label]


@given(LABELLED, st.data())
def test_the_sum_of_any_parts_in_any_order_is_the_count_of_the_whole(documents, data):
    parts = [documents[number::3] for number in range(3)]
    order = data.draw(st.permutations(range(3)))
    total = counted(parts[order[0]])
    for number in order[1:]:
        total = total + counted(parts[number])
    assert_equal(total, counted(documents))


@given(LABELLED)
def test_a_matrix_is_counted_as_its_texts_are(documents):
    texts, labels = [text for text, _ in documents], [label for _, label in documents]
    words = sorted({word for text in texts for word in text.split()})
    X = [[text.split().count(word) for word in words] for text in texts]
    shuffled = words[::-1]
    with nullcontext() if words and all(map(any, X)) else pytest.warns(EmptyDocumentWarning):
        found = ClassCounts.from_matrix(np.array(X).reshape(len(texts), len(words))[:, ::-1], labels, shuffled)
    assert_equal(found, counted(documents))


@given(LABELLED, st.integers(0, 9))
def test_rare_words_are_left_out_by_the_rule(documents, most):
    counts = counted(documents)
    kept = counts.most_frequent(most)
    found_in = dict(zip(counts.words, counts.columns.by_word.sum(axis=1), strict=True))
    least = next(m for m in range(len(documents) + 2) if sum(n >= m for n in found_in.values()) <= most)
    assert kept.words == tuple(word for word in counts.words if found_in[word] >= least)
    assert kept.n_documents == len(documents)


def test_a_long_stream_is_added_up_on_the_way(monkeypatch):
    monkeypatch.setattr("treewass.learners.profile.class_counts._MOST_PENDING", 7)
    monkeypatch.setattr("treewass.learners.profile.class_counts._BLOCK", 3)
    documents = [(f"a w{number % 5} v{number}", "xy"[number % 2]) for number in range(60)]
    counts = counted(documents)
    row = dict(zip(counts.words, counts.columns.by_word.toarray().tolist(), strict=True))
    assert row["a"] == [30.0, 30.0]
    assert row["w0"] == [6.0, 6.0]
    assert row["v7"] == [0.0, 1.0]


def test_labels_of_two_kinds_are_refused():
    with pytest.raises(TypeError, match="all str or all int, got int and str"):
        ClassCounts.from_texts(["a", "b"], ["x", 1], str.split)
    with pytest.raises(ValueError, match="labels of one kind"):
        ClassCounts.from_texts(["a"], ["x"], str.split) + ClassCounts.from_texts(["a"], [1], str.split)


def test_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"columns 1 repeat others"):
        ClassCounts.from_matrix([[1, 2]], ["x"], ["a", "a"])


def corpus(n_documents=60):
    random = np.random.RandomState(3)
    texts, labels = [], []
    for number in range(n_documents):
        own = "abcd" if number % 3 else "efgh"
        texts.append(" ".join([*random.choice(list(own), 4), *random.choice(list("ijklmnop"), 3)]))
        labels.append("x" if number % 3 else "y")
    return texts, labels


def same_metric(first, second):
    assert np.array_equal(first.masses, second.masses)
    for one, other in zip(first.trees, second.trees, strict=True):
        for name in ("parents", "edge_lengths", "word_nodes", "leaf_lengths"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_counts_of_parts_and_all_documents_as_sample_give_what_fit_gives(n_parts, refine):
    texts, labels = corpus()
    X = ANALYZER.fit_transform(texts)
    fitted = ProfileTreeWasserstein(refine=refine, n_trees=2).fit(X, labels)
    words_of = ANALYZER.build_analyzer()
    parts = [ClassCounts.from_texts(texts[n::n_parts], labels[n::n_parts], words_of) for n in reversed(range(n_parts))]
    total = sum(parts[1:], parts[0])
    learned = ProfileTreeWasserstein.from_counts(total, sample=(X, labels), refine=refine, n_trees=2)
    assert learned.history_ == fitted.history_
    same_metric(learned.metric_, fitted.metric_)


def test_without_a_sample_nothing_is_refined():
    texts, labels = corpus()
    counts = ClassCounts.from_texts(texts, labels, ANALYZER.build_analyzer())
    fitted = ProfileTreeWasserstein(refine=False).fit(ANALYZER.fit_transform(texts), labels)
    same_metric(ProfileTreeWasserstein.from_counts(counts).metric_, fitted.metric_)


def test_a_sample_that_was_not_counted_is_refused():
    texts, labels = corpus()
    X = ANALYZER.fit_transform(texts)
    counts = ClassCounts.from_texts(texts[1:], labels[1:], ANALYZER.build_analyzer())
    with pytest.raises(ValueError, match="the label 'z' is new"):
        ProfileTreeWasserstein.from_counts(counts, sample=(X[:2], ["x", "z"]))
    with pytest.raises(ValueError, match="more often than they were counted"):
        ProfileTreeWasserstein.from_counts(counts, sample=(X, labels))


def test_counts_of_one_class_are_refused():
    with pytest.raises(ValueError, match="two classes at least"):
        ProfileTreeWasserstein.from_counts(ClassCounts.from_texts(["a"], ["x"], str.split))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["twitter", "amazon", "classic", "bbcsport", "ohsumed", "reuters", "20news"])
def test_words_and_metric_of_real_texts_are_the_same_for_any_division_and_order(name, data_folder):
    corpus = read_corpus(data_folder / f"{name}.jsonl.gz", part=None)
    counter = WordCounter().fitted(corpus.texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        fitted = ProfileTreeWasserstein(refine=False).fit(counter.count(corpus.texts), corpus.labels)
    for n_parts in (1, 2, 7):
        order = np.random.RandomState(n_parts).permutation(n_parts)
        parts = [(corpus.texts[number::n_parts], corpus.labels[number::n_parts]) for number in order]
        counts = [ClassCounts.from_texts(*part, counter.tokens) for part in parts]
        total = sum(counts[1:], counts[0])
        assert total.words == counter.words
        same_metric(ProfileTreeWasserstein.from_counts(total).metric_, fitted.metric_)


@pytest.mark.parametrize(("labels", "classes"), [(["x", "y"], ("x", "y")), ([7, 3], (3, 7))])
def test_labels_of_numpy_are_counted_as_those_of_python(labels, classes):
    counts = ClassCounts.from_texts(["a b", "c"], np.array(labels), str.split)
    assert counts.classes == classes
    assert {type(label) for label in counts.classes} == {type(classes[0])}
    assert_equal(counts, ClassCounts.from_texts(["a b", "c"], labels, str.split))


def test_words_and_classes_out_of_order_or_twice_are_refused():
    columns = ClassCounts.from_texts(["a b", "a"], ["x", "y"], str.split).columns
    for words, classes, message in (
        (("b", "a"), ("x", "y"), "words sorted, each once, got 'b' before 'a'"),
        (("a", "a"), ("x", "y"), "words sorted, each once, got 'a' before 'a'"),
        (("a", "b"), ("y", "x"), "classes sorted, each once, got 'y' before 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            ClassCounts(words, classes, columns)


@pytest.mark.parametrize("seed", range(3))
def test_documents_counted_in_parts_with_weights_are_a_sample_of_themselves(seed):
    random = np.random.default_rng(seed)
    X, y, weights = random.integers(0, 2, (40, 6)), random.integers(0, 2, 40), random.random(40)
    X[:, 0] = 1
    parts = [ClassCounts.from_matrix(X[n::4], y[n::4], list("abcdef"), sample_weight=weights[n::4]) for n in range(4)]
    learner = ProfileTreeWasserstein.from_counts(sum(parts[1:], parts[0]), (X, y, weights))
    assert np.isfinite(learner.metric_.masses).all()
    fitted = ProfileTreeWasserstein().fit(X, y, sample_weight=weights)
    assert np.allclose(learner.metric_.masses, fitted.metric_.masses, rtol=1e-3)
    with pytest.raises(ValueError, match="more often than they were counted"):
        ProfileTreeWasserstein.from_counts(sum(parts[1:], parts[0]), (X, y, weights * (1 + 1e-6)))
