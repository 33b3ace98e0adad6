from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from treewass_bench.data.folder import write_set
from treewass_bench.data.mat_files import name_of_mat_file, read_mat
from treewass_bench.datasets import load_set
from treewass_bench.tests.data.conftest import SPLIT_COUNTS, SPLIT_WORDS, to_cells, to_fields, vector

REAL_NAMES = {
    "twitter-emd_tr_te_split.mat": "twitter",
    "ohsumed-emd_tr_te_ix.mat": "ohsumed",
    "r8-emd_tr_te3.mat": "reuters",
    "20ng2_500-emd_tr_te.mat": "20news",
    "recipe2-emd_tr_te_split.mat": "recipe",
    "bbcsport_tr_te_split.mat": "bbcsport",
}


def test_names_of_the_real_files():
    assert {file: name_of_mat_file(file) for file in REAL_NAMES} == REAL_NAMES


def test_words_counts_labels_splits_and_vectors(split_file):
    found = read_mat(split_file)
    assert found.corpus.texts == ("cat cat Dog", "don't naïve naïve naïve cat", "", "the u_s u_s u_s u_s u_s")
    assert found.corpus.labels == ("1", "2", "1", "2")
    assert found.corpus.parts is None
    assert [rows.tolist() for rows in found.train_rows] == [[0, 3], [1, 2]]
    assert found.vectors.words == ("cat", "Dog", "don't", "naïve", "the", "u_s")
    expected = np.array([vector(word) for word in found.vectors.words], dtype=np.float32)
    np.testing.assert_array_equal(found.vectors.vectors, expected)


def test_a_fixed_split(fixed_file):
    found = read_mat(fixed_file)
    assert found.corpus.name == "reuters"
    assert found.corpus.parts == ("train",) * 3 + ("test",) * 2
    assert found.corpus.texts[3] == "trade trade trade trade"
    assert found.corpus.labels == ("1", "2", "2", "2", "1")
    assert found.train_rows == ()


def counted(split, part):
    """The words and counts of each document of a part of a split."""
    rows = getattr(split, f"X_{part}").toarray()
    return [Counter({word: count for word, count in zip(split.words, row, strict=True) if count}) for row in rows]


def test_the_folder_gives_the_counts_of_the_file(split_file, tmp_path):
    """Words with capitals, accents and punctuation, stop words and empty documents among them."""
    found = read_mat(split_file)
    (tmp_path / "stop_words.txt").write_text("the\ncat\n")  # for other sets; not to be applied
    write_set(tmp_path, "pets", found.corpus, train_rows=found.train_rows, cleaned=True)
    split = load_set("pets", tmp_path).split(0)
    documents = [
        Counter(dict(zip(words, counts, strict=True))) for words, counts in zip(SPLIT_WORDS, SPLIT_COUNTS, strict=True)
    ]
    assert counted(split, "train") == [documents[0], documents[3]]
    trained = set(documents[0]) | set(documents[3])
    known = [Counter({word: count for word, count in documents[row].items() if word in trained}) for row in (1, 2)]
    assert counted(split, "test") == known
    assert split.y_train.tolist() == ["1", "2"]


WORD = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=5).filter(lambda word: word != "0")
DOCUMENT = st.dictionaries(WORD, st.integers(1, 4), max_size=4)


@settings(max_examples=40)
@given(documents=st.lists(DOCUMENT, min_size=2, max_size=6).filter(any), seed=st.integers(0, 99))
def test_any_words_and_counts_survive(documents, seed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    if not documents[0]:
        documents[0] = {"word": 1}  # a training vocabulary
    X, counts, words, labels = to_fields(
        [list(row) for row in documents], [list(row.values()) for row in documents], np.arange(len(documents)) % 2
    )
    train = np.r_[1, 1 + np.arange(1, len(documents))[np.random.default_rng(seed).random(len(documents) - 1) < 0.5]]
    test = np.setdiff1d(np.arange(1, len(documents) + 1), train)
    savemat(
        folder / "x.mat", {"X": X, "BOW_X": counts, "words": words, "Y": labels, "TR": train[None], "TE": test[None]}
    )
    found = read_mat(folder / "x.mat")
    write_set(folder, "x", found.corpus, train_rows=found.train_rows, cleaned=True)
    assert counted(load_set("x", folder).split(0), "train") == [Counter(documents[row - 1]) for row in train]


def test_cells_of_words_without_a_document(tmp_path, split_fields):
    """As in files that have an empty cell of words among the others, under the field's other name."""
    cells = split_fields.pop("words").ravel()
    split_fields["the_words"] = to_cells([cells[0], np.empty((0, 0)), *cells[1:]])
    savemat(tmp_path / "x.mat", split_fields)
    assert read_mat(tmp_path / "x.mat").corpus.texts[1] == "don't naïve naïve naïve cat"


def test_columns_and_character_arrays_are_understood(tmp_path, split_fields):
    split_fields["BOW_X"][0, 0] = split_fields["BOW_X"][0, 0].reshape(-1, 1)
    split_fields["words"][0, 0] = np.array(["cat", "Dog"])
    split_fields["Y"] = split_fields["Y"].reshape(-1, 1)
    savemat(tmp_path / "x.mat", split_fields)
    found = read_mat(tmp_path / "x.mat")
    assert found.corpus.texts[0] == "cat cat Dog"
    assert found.corpus.labels == ("1", "2", "1", "2")


def test_a_word_with_two_vectors_keeps_the_first(tmp_path, split_fields):
    split_fields["X"][0, 1][:, 2] += 1
    savemat(tmp_path / "x.mat", split_fields)
    with pytest.warns(UserWarning, match="1 of 6 words have different vectors .*'cat'"):
        vectors = read_mat(tmp_path / "x.mat").vectors
    np.testing.assert_array_equal(vectors.vectors[0], vector("cat").astype(np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"TR": None}, "found BOW_X, TE, X, Y, words, not TR"),
        ({"words": None}, "not words"),
        ({"X": None}, "found BOW_X, TE, TR, Y, words, not xtr"),
        ({"Y": np.array([1, 2, 1])}, "as many documents in each field.*'Y': 3"),
        ({"Y": np.array([1, 2, 1, 0.5])}, "whole numbers for Y"),
        ({"X": np.ones((4, 4))}, "X to be a cell array"),
        ({"TR": np.array([[1, 4], [3, 1]])}, "each number from 1 to 4 once.*split 2 has 2 and 2"),
        ({"TR": np.array([[1, 4]])}, "as many splits in TR and TE, found 1 and 2"),
        ({"TR": np.array([[0, 3], [2, 1]])}, "each number from 1 to 4 once"),
    ],
)
def test_fields_that_do_not_fit_are_named(tmp_path, split_fields, changes, message):
    fields = {name: value for name, value in (split_fields | changes).items() if value is not None}
    savemat(tmp_path / "x.mat", fields)
    with pytest.raises(ValueError, match=f"x.mat: .*{message}"):
        read_mat(tmp_path / "x.mat")


@pytest.mark.parametrize(
    ("field", "cell", "message"),
    [
        ("BOW_X", np.array([1.0]), "2 words, 1 counts and vectors of shape .4, 2. in document 1"),
        ("BOW_X", np.array([1.0, 0.0]), "counts of at least 1, found 0 in document 1"),
        ("BOW_X", np.array([1.0, 1.5]), "whole numbers for the counts of document 1"),
        ("X", np.ones((4, 3)), "2 words, 2 counts and vectors of shape .4, 3."),
        ("X", np.ones((5, 2)), "vectors of one length"),
        ("words", to_cells(["cat", "big dog"]), "words without spaces, found 'big dog'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*different vectors")
def test_cells_that_do_not_fit_are_named(tmp_path, split_fields, field, cell, message):
    split_fields[field][0, 0] = cell
    savemat(tmp_path / "x.mat", split_fields)
    with pytest.raises(ValueError, match=message):
        read_mat(tmp_path / "x.mat")


def test_a_set_without_words_is_refused(tmp_path, split_fields):
    for field in ("X", "BOW_X", "words"):
        split_fields[field] = to_cells([np.empty((0, 0))] * 4)
    savemat(tmp_path / "x.mat", split_fields)
    with pytest.raises(ValueError, match="expected documents with words, found none"):
        read_mat(tmp_path / "x.mat")


def test_files_cut_short_anywhere_give_one_sentence(tmp_path, split_file):
    content = split_file.read_bytes()
    broken = tmp_path / "broken.mat"
    for size in range(0, len(content), 37):
        broken.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"broken\.mat: expected") as caught:
            read_mat(broken)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_mat(tmp_path / "absent.mat")
