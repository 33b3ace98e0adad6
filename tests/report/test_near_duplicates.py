import gzip
import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewass.report.near_duplicates import alike_pairs, triple_sets


def brute_force(texts):
    """Compare the sets of word triples of every two texts."""
    sets = []
    for text in texts:
        words = "".join(
            character if character.isalnum() or character == "_" else " " for character in text.lower()
        ).split()
        sets.append({tuple(words[start : start + 3]) for start in range(max(len(words) - 2, min(len(words), 1)))})
    found = {}
    for one, other in combinations(range(len(texts)), 2):
        shared = 0 if sets[one].isdisjoint(sets[other]) else len(sets[one] & sets[other])
        if shared and (likeness := shared / len(sets[one] | sets[other])) >= 0.5:
            found[one, other] = likeness
    return found


def joined(texts):
    parts = list(alike_pairs(triple_sets(texts)))
    return {
        tuple(pair): likeness for pairs, alike in parts for pair, likeness in zip(pairs.tolist(), alike, strict=True)
    }


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), max_size=12))
def test_the_join_finds_what_comparing_all_finds(texts):
    assert joined(texts) == pytest.approx(brute_force(texts))


def test_many_texts_are_compared_in_blocks():
    texts = [f"the report of day {number % 300} says that {number % 7} engines ran" for number in range(900)]
    assert joined(texts) == pytest.approx(brute_force(texts))


def test_long_texts_are_compared_few_at_a_time(monkeypatch):
    texts = [" ".join([f"w{number}" for number in range(length)] + ["end"]) for length in range(20, 60)]
    sets, expected = triple_sets(texts), brute_force(texts)
    monkeypatch.setattr("treewass.report.near_duplicates._ENTRIES", 1000)
    blocks = list(alike_pairs(sets))
    sizes = np.diff(sets.indptr)
    assert max(int(sizes[pairs].sum()) for pairs, _ in blocks) <= 1000 + 2 * sizes.max()
    assert sum(len(pairs) for pairs, _ in blocks) == len(expected)
    assert joined(texts) == pytest.approx(expected)


def test_case_and_punctuation_do_not_count():
    assert joined(["The cat, sat down.", "the CAT sat — down!", "", "…"]) == {(0, 1): 1.0}


@pytest.mark.data
def test_news_near_copies_are_found(data_folder):
    with gzip.open(data_folder / "20news.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    chosen = [texts[row] for row in np.random.default_rng(0).choice(len(texts), 3000, replace=False)]
    assert len(expected := brute_force(chosen)) >= 15
    assert joined(chosen) == pytest.approx(expected)
