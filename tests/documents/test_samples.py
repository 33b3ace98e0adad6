from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewass.documents.samples import Sampling, document_hash

DOCUMENTS = st.lists(st.tuples(st.integers(0, 40).map(str), st.sampled_from(["x", "y", "z"])), max_size=60)


def sampled(documents, size):
    sampling = Sampling(size)
    for text, label in documents:
        sampling.add(text, label)
    return sampling.sample()


def entries(sample):
    labels = [sample.classes[code] for code in sample.codes]
    return list(zip(sample.hashes.tolist(), labels, sample.copies.tolist(), strict=True))


@pytest.fixture(autouse=True)
def few_of_a_class(monkeypatch):
    monkeypatch.setattr("treewass.documents.samples._OF_A_CLASS", 2)


@given(DOCUMENTS, st.integers(1, 12))
def test_the_smallest_hashes_are_chosen_in_all_and_of_each_class(documents, size):
    copies = Counter((document_hash(text, label), label) for text, label in documents)
    ordered = sorted(copies)
    chosen = set(ordered[:size])
    for name in "xyz":
        chosen.update([one for one in ordered if one[1] == name][:2])
    assert entries(sampled(documents, size)) == [(*one, copies[one]) for one in sorted(chosen)]


@given(DOCUMENTS, st.integers(1, 12), st.sampled_from([1, 2, 7]), st.randoms())
def test_samples_of_any_parts_in_any_order_add_up_to_that_of_the_whole(documents, size, n_parts, random):
    parts = [documents[number::n_parts] for number in range(n_parts)]
    random.shuffle(parts)
    total = sampled(parts[0], size)
    for part in parts[1:]:
        total = total + sampled(part, size)
    whole = sampled(documents, size)
    assert entries(total) == entries(whole)
    assert (total.n_documents, total.is_whole) == (len(documents), len(documents) <= size)


def test_hashes_are_the_same_on_every_machine():
    assert document_hash("cats purr", "cat") == document_hash("cats purr", "cat")
    assert document_hash("", "a") != document_hash("a", "")
    assert document_hash("naïve", "é") == 17331290269029158075
