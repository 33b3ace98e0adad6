import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from treewass.documents import synthetic
from treewass.documents.synthetic import INSTRUMENTS, make_documents, make_instruments


def assert_canonical_counts(X, n_documents, n_words):
    assert isinstance(X, csr_array)
    assert X.shape == (n_documents, n_words)
    assert (X.data.dtype, X.indices.dtype, X.indptr.dtype) == (np.int32, np.int32, np.int32)
    assert X.indptr[0] == 0
    assert X.indptr[-1] == X.nnz == len(X.data) == len(X.indices)
    assert np.diff(X.indptr).min() >= 1
    assert X.data.min() >= 1
    assert X.indices.min() >= 0
    assert X.indices.max() < n_words
    row_starts = np.zeros(X.nnz, dtype=bool)
    row_starts[X.indptr[:-1]] = True
    assert np.all((np.diff(X.indices) > 0) | row_starts[1:])  # sorted, no duplicates


def digest(X, y):
    return hashlib.sha256(b"".join(a.tobytes() for a in (X.data, X.indices, X.indptr, y))).hexdigest()


def class_similarities(X, y):
    """Return the mean cosine of two documents of one class and of two documents of different classes."""
    rows = X.toarray() / np.sqrt((X.toarray().astype(float) ** 2).sum(axis=1, keepdims=True))
    cosines = rows @ rows.T
    same = y[:, np.newaxis] == y
    pairs = ~np.eye(len(y), dtype=bool)
    return cosines[same & pairs].mean(), cosines[~same].mean()


@settings(max_examples=60, deadline=None)
@given(
    n_documents=st.integers(1, 200),
    n_words=st.integers(1, 50),
    words_per_document=st.floats(1, 30),
    n_classes=st.integers(1, 9),
    topicality=st.floats(0, 1),
    exponent=st.floats(0, 500),
    random_state=st.integers(0, 2**40),
)
def test_any_arguments_give_canonical_counts(n_documents, n_words, n_classes, **options):
    X, y = make_documents(n_documents, n_words=n_words, n_classes=n_classes, **options)
    assert_canonical_counts(X, n_documents, n_words)
    assert y.dtype == np.int64
    sizes = np.bincount(y, minlength=n_classes)
    assert len(sizes) == n_classes
    assert sizes.max() - sizes.min() <= 1


def test_lengths_are_one_plus_poisson():
    X, _ = make_documents(20_000, n_words=100, words_per_document=7.5)
    lengths = X.sum(axis=1)
    assert lengths.min() >= 1
    assert lengths.mean() == pytest.approx(7.5, abs=0.1)
    assert lengths.var() == pytest.approx(6.5, abs=0.3)
    ones, _ = make_documents(100, words_per_document=1)
    assert ones.nnz == 100
    assert np.all(ones.data == 1)


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.5])
def test_word_frequencies_follow_zipf(exponent):
    X, _ = make_documents(20_000, n_words=1000, words_per_document=50, topicality=0, exponent=exponent)
    ranks = np.arange(1, 51)
    frequencies = X.sum(axis=0)[:50]  # a plain Zipf corpus has its words in the order of their ranks
    slope = np.polyfit(np.log(ranks), np.log(frequencies), 1)[0]
    assert slope == pytest.approx(-exponent, abs=0.05)
    expected = 1 / np.sum(np.arange(1.0, 1001.0) ** -exponent)
    assert frequencies[0] / X.sum() == pytest.approx(expected, rel=0.1)


def test_topical_classes_share_words_and_plain_ones_do_not():
    same, other = class_similarities(*make_documents(800, n_words=2000, n_classes=4, topicality=0.8))
    assert same > 1.5 * other
    same, other = class_similarities(*make_documents(800, n_words=2000, n_classes=4, topicality=0))
    assert same == pytest.approx(other, rel=0.02)


def test_topicality_is_the_share_of_tokens_from_the_class():
    X, y = make_documents(4000, n_words=5000, n_classes=2, topicality=0.3, exponent=2.0)
    commonest = 1 / np.sum(np.arange(1.0, 5001.0) ** -2)
    for label in range(2):
        rates = np.sort(X[y == label].sum(axis=0) / X[y == label].sum())[::-1]
        assert rates[0] == pytest.approx(0.7 * commonest, rel=0.05)  # column 0, which all classes share
        assert rates[1] == pytest.approx(0.3 * commonest, rel=0.05)  # the first word of the class


def test_seed_decides_everything():
    first = make_documents(300, random_state=5)
    assert digest(*first) == digest(*make_documents(300, random_state=5))
    assert digest(*first) == digest(*make_documents(300, random_state=np.random.default_rng(5)))
    assert digest(*first) != digest(*make_documents(300, random_state=6))
    generator = np.random.default_rng(5)
    assert digest(*make_documents(300, random_state=generator)) != digest(*make_documents(300, random_state=generator))


def test_same_bytes_in_another_process():
    code = (
        "import hashlib; from treewass.documents.synthetic import INSTRUMENTS, make_documents, make_instruments\n"
        "X, y = make_documents(500)\n"
        "arrays = (X.data, X.indices, X.indptr, y)\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in arrays)).hexdigest())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == digest(*make_documents(500))


def test_many_chunks_join_without_a_seam(monkeypatch):
    monkeypatch.setattr(synthetic, "_TOKENS_PER_CHUNK", 100)
    X, y = make_documents(1003, n_words=300, words_per_document=9.0, n_classes=3, topicality=0.9)
    assert_canonical_counts(X, 1003, 300)
    assert X.sum(axis=1).mean() == pytest.approx(9.0, abs=0.5)
    same, other = class_similarities(X, y)
    assert same > 2 * other
    assert len({X[[row]].indices.tobytes() for row in range(0, 1003, 11)}) > 80  # no chunk repeats another


def test_no_more_memory_is_held_than_used():
    X, _ = make_documents(100, n_words=3, words_per_document=1000)
    for array in (X.data, X.indices):
        owner = array if array.base is None else array.base
        assert owner.nbytes == array.nbytes == 4 * X.nnz


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_documents": 0}, "n_documents as an integer of at least 1, got 0"),
        ({"n_documents": 10.0}, "n_documents as an integer of at least 1, got"),
        ({"n_words": 0}, "n_words as an integer of at least 1, got 0"),
        ({"n_words": "9"}, "n_words as an integer of at least 1, got"),
        ({"n_classes": -2}, "n_classes as an integer of at least 1, got -2"),
        ({"n_classes": True}, "n_classes as an integer of at least 1, got"),
        ({"words_per_document": 0.5}, "words_per_document as a finite number of at least 1, got 0.5"),
        (
            {"words_per_document": np.inf},
            "words_per_document as a finite number of at least 1, got inf",
        ),
        ({"topicality": 1.1}, "topicality as a finite number of at least 0 and at most 1, got 1.1"),
        ({"topicality": np.nan}, "topicality as a finite number of at least 0 and at most 1, got nan"),
        ({"topicality": None}, "topicality as a finite number of at least 0 and at most 1, got None"),
        ({"exponent": -0.1}, "exponent as a finite number of at least 0, got -0.1"),
        ({"exponent": 1j}, "exponent as a finite number of at least 0, got 1j"),
        ({"random_state": None}, "random_state to be a numpy.random.Generator or an integer"),
        ({"random_state": -3}, "an integer of at least 0, got -3"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_documents(**{"n_documents": 10, **arguments})


@pytest.mark.slow
def test_a_hundred_thousand_documents():
    X, y = make_documents(100_000, n_words=100_000)
    assert_canonical_counts(X, 100_000, 100_000)
    assert X.sum() / 100_000 == pytest.approx(40, abs=0.2)
    assert np.bincount(y).tolist() == [12_500] * 8
    seen = len(np.unique(X.indices))
    assert 80_000 < seen <= 100_000


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
    ("arguments", "message"),
    [
        ({"n_documents": 0}, "n_documents as an integer of at least 1, got 0"),
        ({"n_documents": 1.5}, "n_documents as an integer of at least 1, got"),
        ({"n_documents": True}, "n_documents as an integer of at least 1, got"),
        ({"random_state": -1}, "an integer of at least 0, got -1"),
        ({"random_state": None}, "numpy.random.Generator or an integer of at least 0, got None"),
        ({"random_state": np.random.RandomState(0)}, r"got RandomState\("),
    ],
)
def test_bad_arguments_of_instruments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_instruments(**arguments)
