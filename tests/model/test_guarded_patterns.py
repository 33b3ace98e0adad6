import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from treewass.model.guarded_patterns import GuardedPattern, guarded_counter
from treewass.model.vectorizers import make_counter

TEXTS = ["A cat-like dog, e.g. O'Neill's", "naïve 3.14 Straße_x", "x" * 50 + "-y"]
HOSTILE = r"(?:\w|\w\w)+-|\w+"


@pytest.mark.parametrize("pattern", [r"[a-z]+-?[a-z]+", r"(?u)\b(\w)\w*\b", r"\S+", r"(?i)CAT|\d+(?:\.\d+)?"])
@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_the_same_words_are_found(pattern, kind, ngrams):
    counter = make_counter(kind(token_pattern=pattern, ngram_range=ngrams)).fitted(TEXTS)
    guarded = guarded_counter(counter)
    assert guarded is not counter
    assert guarded.settings() == counter.settings()
    assert guarded.rows(TEXTS) == counter.rows(TEXTS)
    assert [guarded.spans(text) for text in TEXTS] == [counter.spans(text) for text in TEXTS]


@given(st.text(max_size=40), st.sampled_from([r"[^\W_]+(?:'[^\W_]+)?", r"\b\w\w+\b", r"\S+", r"\w(\w*)\W"]))
def test_words_of_any_text_are_the_same(text, pattern):
    assert GuardedPattern(pattern, 60.0).findall(text) == re.findall(pattern, text)


@pytest.mark.parametrize("vectorizer", [None, CountVectorizer(), CountVectorizer(analyzer="char", ngram_range=(2, 2))])
def test_patterns_that_take_one_pass_stay(vectorizer):
    counter = make_counter(vectorizer).fitted(TEXTS)
    assert guarded_counter(counter) is counter


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_a_pattern_that_would_take_for_ever_gives_up(monkeypatch, ngrams):
    monkeypatch.setattr("treewass.model.guarded_patterns._SECONDS", 0.1)
    counter = guarded_counter(make_counter(CountVectorizer(token_pattern=HOSTILE, ngram_range=ngrams)).fitted(["a b"]))
    with pytest.raises(TimeoutError):  # it would take years
        counter.count(["a" * 1000 + " -"])


def test_the_words_of_a_text_have_one_time_limit_together(monkeypatch):
    seconds = iter(range(100))
    monkeypatch.setattr("treewass.model.guarded_patterns.monotonic", lambda: next(seconds))
    found = GuardedPattern(r"\w+", 2.0).finditer("a cat and a dog")
    assert [match[0] for match in (next(found), next(found))] == ["a", "cat"]
    with pytest.raises(TimeoutError):
        next(found)
