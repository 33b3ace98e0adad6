import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewass.documents.instruments import INSTRUMENTS, make_instruments


@given(n_documents=st.integers(1, 60), seed=st.integers(0, 2**64))
def test_every_document_follows_the_rules(n_documents, seed):
    corpus = make_instruments(n_documents, random_state=seed)
    assert len(corpus) == n_documents
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        words = text.split(" ")
        assert words == [word for word in INSTRUMENTS if word in words]  # known, once each, in order
        assert len(words) >= 1
        assert label == ("with piano or violin" if "piano" in words or "violin" in words else "without")
    assert corpus == make_instruments(n_documents, random_state=seed)


def test_each_word_and_class_comes_at_its_rate():
    corpus = make_instruments(20_000)
    assert corpus.name == "instruments"
    assert corpus.class_counts()["without"] / 20_000 == pytest.approx(255 / 1023, abs=0.02)
    for word in INSTRUMENTS:
        rate = sum(word in text.split() for text in corpus.texts) / 20_000
        assert rate == pytest.approx(512 / 1023, abs=0.02)


def test_default_has_a_thousand_documents_of_both_classes():
    corpus = make_instruments()
    assert len(corpus) == 1000
    assert corpus.classes == ("with piano or violin", "without")
    assert len(INSTRUMENTS) == 10


def test_seeds_and_generators():
    assert make_instruments(50, random_state=1) != make_instruments(50, random_state=2)
    assert make_instruments(50, random_state=1) == make_instruments(50, random_state=np.random.default_rng(1))
    generator = np.random.default_rng(1)
    first, second = (make_instruments(50, random_state=generator) for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_documents": 0}, ValueError, "n_documents to be at least 1, got 0"),
        ({"n_documents": 1.5}, TypeError, "n_documents to be an int, got float"),
        ({"n_documents": True}, TypeError, "n_documents to be an int, got bool"),
        ({"random_state": -1}, ValueError, "random_state to be 0 or more, got -1"),
        ({"random_state": None}, TypeError, "int or a numpy.random.Generator, got NoneType"),
        ({"random_state": np.random.RandomState(0)}, TypeError, "got RandomState"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make_instruments(**arguments)
