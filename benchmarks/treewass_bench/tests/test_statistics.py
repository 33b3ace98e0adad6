import numpy as np
import pytest

from treewass.documents import Corpus, WordVectors
from treewass_bench.datasets import PAPER_SETS, TextSet
from treewass_bench.statistics import PUBLISHED, bench_statistics, compare, set_statistics

# Of the data's own notes: distinct words of the set, of a document, and of a document with a vector
KNOWN = {
    "twitter": (6336, 11.6, 9.9),
    "amazon": (41318, 45.6, 43.1),
    "classic": (25176, 40.9, 38.3),
    "bbcsport": (13698, 122.7, 112.7),
    "ohsumed": (32236, 67.3, 58.1),
    "reuters": (23109, 38.9, 37.9),
}


def test_counts_of_a_set():
    corpus = Corpus("pets", ("The cat's cat sat", "a dog, A DOG", "it", "the"), ("c", "d", "d", "c"))
    pets = TextSet(corpus, (np.array([0, 1, 2]), np.array([1, 2, 3])), stop_words=("the", "a"))
    assert set_statistics(pets) == {
        "documents": 4,
        "classes": 2,
        "train": 3,
        "test": 1,
        "splits": 2,
        "dimension": 5,
        "words_a_document": 5 / 4,
        "dimension_with_vector": None,
        "words_a_document_with_vector": None,
    }
    counted = set_statistics(pets, WordVectors(("dog", "cat", "yeti"), np.eye(3)))
    assert counted["dimension_with_vector"] == 2
    assert counted["words_a_document_with_vector"] == 2 / 4


def test_clean_texts_are_counted_as_they_are():
    clean = TextSet(Corpus("x", ("The the u_s", "the"), ("a", "b")), (np.array([0]),), (), cleaned=True)
    assert set_statistics(clean)["dimension"] == 3


def test_verdicts():
    exact = {"documents": 737, "classes": 5, "train": 517, "dimension": 13243, "words_a_document": 116.6}
    assert compare(exact, PUBLISHED["bbcsport"]) == "agrees"
    assert compare(exact | {"words_a_document_with_vector": 117.2}, PUBLISHED["bbcsport"]) == "agrees"
    other = exact | {"documents": 735, "classes": 6, "train": 517, "dimension": 13000, "words_a_document": 120.0}
    found = compare(other, PUBLISHED["bbcsport"])
    assert found == "differs: documents -2, classes +1, dimension -1.8 %, words a document +2.6 %"
    assert compare({"documents": 18846, "classes": 20, "train": 11314}, PUBLISHED["20news"]) == "agrees"


def test_table_1_has_the_papers_sets():
    assert {name for name, published in PUBLISHED.items() if published.dimension} == set(PAPER_SETS)


@pytest.mark.data
def test_the_data_have_their_known_statistics(data_folder):
    rows = {row.case["set"]: row.measures for row in bench_statistics(data_folder)}
    for name, known in KNOWN.items():
        found = rows[name]
        means = (found["words_a_document"], found["words_a_document_with_vector"])
        assert (found["dimension"], *(round(mean, 1) for mean in means)) == known
        assert "documents" not in found["verdict"]
        assert "train" not in found["verdict"]
    assert rows["20news"]["verdict"] == "agrees"
