import numpy as np
import pytest

from treewass.documents import WordVectors
from treewass.model import Compared, compare_methods
from treewass.model.bibliography import REFERENCES, bibtex
from treewass.model.comparison import COMPARABLE, DEFAULT_METHODS, comparison_table, known_methods
from treewass.model.methods import METHODS

TEXTS = ["cats purr", "a cat sleeps", "dogs bark", "a dog growls"] * 6
LABELS = ["cat", "cat", "dog", "dog"] * 6


def test_methods_see_the_same_splits_and_vectors_where_they_need_them():
    words = sorted({word for text in TEXTS for word in text.split()})
    vectors = WordVectors(tuple(words), np.eye(len(words)))
    found = compare_methods(TEXTS, LABELS, ["bow", "tsw-1", "linear-svm"], n_splits=2, word_vectors=vectors)
    assert [one.name for one in found] == ["bow", "tsw-1", "linear-svm"]
    for one in found:
        assert len(one.errors) == 2
        assert min(one.fit_seconds + one.query_milliseconds) >= 0
    again = compare_methods(TEXTS, LABELS, ["bow"], n_splits=2)
    assert again[0].errors == found[0].errors


def test_shuffled_labels_are_not_learned():
    shuffled = np.random.default_rng(0).permutation(LABELS)
    (found,) = compare_methods([f"{text} w{n}" for n, text in enumerate(TEXTS)], shuffled, ["bow"], n_splits=4)
    assert np.mean(found.errors) > 0.2


def test_the_interval_widens_by_the_share_held_out():
    one = Compared("bow", (0.1, 0.2, 0.3), (1.0,) * 3, (1.0,) * 3, (1.0,) * 3, 0.5)
    mean, half = one.interval(one.errors)
    assert mean == pytest.approx(0.2)
    assert half == pytest.approx(4.302652729911275 * 0.1 * (1 / 3 + 0.5) ** 0.5)  # t of two degrees, 97.5 %
    assert one.interval((0.3,)) == (0.3, None)
    header, ((_, name, error, *_),) = comparison_table([one])
    assert (header[2], name, error) == ("error, %", "bow", "20.0 ± 39.3")


def test_unknown_methods_and_missing_vectors_are_said():
    with pytest.raises(ValueError, match=r"methods among profile, .*linear-svm, got magic"):
        known_methods(["bow", "magic"], vectors=False)
    with pytest.raises(ValueError, match=r"word vectors for wmd, got none. Give a file with --vectors"):
        known_methods(["wmd"], vectors=False)
    assert not any("vectors" in COMPARABLE[name].needs for name in DEFAULT_METHODS)


def test_every_method_has_its_reference():
    names = {name for method in METHODS.values() for name in method.citation.split("; ")}
    assert names - REFERENCES.keys() == {"bag of words"}
    written = bibtex(COMPARABLE.values())
    assert written.count("@") == len(REFERENCES)
    assert written.count("{") == written.count("}")


@pytest.mark.parametrize("n_splits", [0, -1, 1.5, True])
def test_splits_are_one_or_more(n_splits):
    with pytest.raises(ValueError, match="n_splits as an integer of at least 1"):
        compare_methods(TEXTS, LABELS, ["bow"], n_splits=n_splits)


def test_the_linear_svm_is_the_same_again():
    random = np.random.default_rng(1)
    X, y = random.integers(0, 3, (40, 100)), random.integers(0, 3, 40)
    first, second = (COMPARABLE["linear-svm"].make(None).fit(X, y)[-1].coef_ for _ in range(2))
    assert np.array_equal(first, second)
