import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from treewass.model.vectorizers import DEFAULT_PATTERN, SklearnCounter, WordCounter, make_counter, restore_counter

TEXTS = ["A cat, a dog.", "Ein Käse für 3 Mäuse!", "the cat's pyjamas", "İstanbul STRASSE straße", ""]
texts = st.lists(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab Aß İ_-'1\n")), max_size=30))


@given(known=texts, new=texts)
def test_counts_are_those_of_scikit_learn(known, new):
    known = [*known, "at least one word"]
    counter = WordCounter().fitted(known)
    vectorizer = CountVectorizer(token_pattern=DEFAULT_PATTERN).fit(known)
    assert list(counter.words) == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(counter.count(new).toarray(), vectorizer.transform(new).toarray())


@given(text=st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab Aß İ_-'1\n"))))
def test_spans_are_the_words_counted(text):
    counter = WordCounter().fitted([text, "word"])
    spans = counter.spans(text)
    words, counts = counter.count_one(text)
    assert all(text[start:stop].lower() == word for start, stop, word in spans)
    if len(text.lower()) == len(text):
        assert sorted(word for _, _, word in spans) == sorted(
            counter.words[word] for word, count in zip(words, counts, strict=True) for _ in range(int(count))
        )


SETTINGS = [
    CountVectorizer(),
    CountVectorizer(lowercase=False, token_pattern=r"\b(\w\w)\w*"),
    CountVectorizer(ngram_range=(1, 2), stop_words="english", min_df=1),
    CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), strip_accents="unicode"),
    CountVectorizer(max_df=1, binary=True),
    CountVectorizer(vocabulary={"cat": 1, "dog": 0}, dtype=np.float32),
    CountVectorizer(stop_words=["a", "the"]),
    TfidfVectorizer(sublinear_tf=True),
    TfidfVectorizer(use_idf=False, norm=None),
]


@pytest.mark.parametrize("vectorizer", SETTINGS, ids=range(len(SETTINGS)))
def test_settings_of_scikit_learn_survive_json(vectorizer):
    counter = make_counter(vectorizer).fitted(TEXTS)
    restored = restore_counter(json.loads(json.dumps(counter.settings())), counter.words)
    expected = vectorizer.fit_transform(TEXTS).toarray()
    assert list(counter.words) == vectorizer.get_feature_names_out().tolist()
    for one in (counter, restored):
        np.testing.assert_array_equal(one.count(TEXTS).toarray(), expected)
        words, weights = one.count_one(TEXTS[0])
        np.testing.assert_array_equal(words, np.flatnonzero(expected[0]))
        np.testing.assert_array_equal(weights, expected[0][words])


def test_plain_settings_need_no_scikit_learn():
    assert isinstance(make_counter(CountVectorizer(token_pattern=r"\w+")), WordCounter)
    assert isinstance(make_counter(CountVectorizer(max_df=1)), SklearnCounter)


@pytest.mark.parametrize(
    ("vectorizer", "message"),
    [
        (CountVectorizer(analyzer=str.split), "analyzer of this CountVectorizer is method_descriptor"),
        (CountVectorizer(tokenizer=str.split), "tokenizer of this CountVectorizer"),
        (HashingVectorizer(), "got HashingVectorizer"),
        ("words", "got str"),
    ],
)
def test_what_cannot_be_stored_is_refused(vectorizer, message):
    with pytest.raises(TypeError, match=message):
        make_counter(vectorizer)


def test_files_as_input_are_refused():
    with pytest.raises(ValueError, match="input='filename'"):
        make_counter(CountVectorizer(input="filename"))


def test_texts_without_words_are_refused():
    with pytest.raises(ValueError, match="none holds a word"):
        WordCounter().fitted(["…", ""])


def test_new_words_come_after_those_known():
    counter = WordCounter().fitted(["b d"]).widened(["a c b"])
    assert counter.words == ("b", "d", "a", "c")
    assert counter.count(["a b"]).toarray().tolist() == [[1, 0, 1, 0]]


@pytest.mark.parametrize("pattern", ["(", r"(a)(b)"])
def test_patterns_that_cannot_be_used_are_refused(pattern):
    with pytest.raises(ValueError, match="token_pattern"):
        WordCounter(pattern)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": "HashingVectorizer", "parameters": {}},
        {"kind": "words"},
        {"kind": "CountVectorizer", "parameters": 3},
    ],
)
def test_settings_that_describe_nothing_are_refused(settings):
    with pytest.raises(ValueError, match="Expected"):
        restore_counter(settings, ["a"])
