import numpy as np
import pytest

from treewass.bench.data.folder import write_set
from treewass.bench.data.vectors import add_vectors, make_vectors
from treewass.documents import Corpus, WordVectors, read_word_vectors

CLEAN = Corpus("clean", ("Cat don't", "ship"), ("a", "b"), parts=("train", "test"))
RAW = Corpus("raw", ("The CAT's dog", "ship; oil"), ("a", "b"), parts=("train", "test"))
GLOVE = "the 1 0\ncat's 0.1 2\ndog 3 3\nCat 4 4\nship 5 5\nyeti 6 6\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "stop_words.txt").write_text("the\n")
    write_set(tmp_path, "clean", CLEAN, cleaned=True)
    write_set(tmp_path, "raw", RAW)
    return tmp_path


def test_glove_and_word2vec_keep_the_words_of_the_sets(folder, tmp_path):
    (tmp_path / "glove.txt").write_text(GLOVE)
    assert make_vectors(folder, tmp_path / "glove.txt").words == ("cat's", "dog", "Cat", "ship")
    stored = read_word_vectors(folder / "word_vectors.npz")
    np.testing.assert_array_equal(stored.vectors, np.array([[0.1, 2], [3, 3], [4, 4], [5, 5]], dtype=np.float32))
    with np.load(folder / "word_vectors.npz") as arrays:
        assert arrays["vectors"].dtype == np.float32

    numbers = np.arange(6, dtype="<f4").reshape(2, 3)
    binary = b"2 3\n" + b"".join(
        word + b" " + row.tobytes() for word, row in zip((b"ship", b"no"), numbers, strict=True)
    )
    (tmp_path / "news.bin").write_bytes(binary)
    with pytest.raises(ValueError, match=r"already a file .*word_vectors\.npz"):
        make_vectors(folder, tmp_path / "news.bin")
    make_vectors(folder, tmp_path / "news.bin", force=True)
    assert read_word_vectors(folder / "word_vectors.npz").words == ("ship",)


def test_vectors_need_sets_first(tmp_path):
    with pytest.raises(ValueError, match=r"found none\. Make the sets first"):
        make_vectors(tmp_path, tmp_path / "glove.txt")


def test_vectors_of_a_second_set_are_added(tmp_path):
    add_vectors(tmp_path, WordVectors(("cat", "dog"), [[1.0, 2.0], [3.0, 1 / 3]]))
    add_vectors(tmp_path, WordVectors(("oil", "dog"), [[5.0, 6.0], [3.0, 1 / 3]]))
    stored = read_word_vectors(tmp_path / "word_vectors.npz")
    assert stored.words == ("cat", "dog", "oil")
    np.testing.assert_array_equal(stored.vectors, np.array([[1, 2], [3, 1 / 3], [5, 6]], dtype=np.float32))


def test_vectors_of_other_dimensions_or_models_are_refused(tmp_path):
    add_vectors(tmp_path, WordVectors(("cat", "dog"), [[1.0, 2.0], [3.0, 4.0]]))
    before = (tmp_path / "word_vectors.npz").read_bytes()
    with pytest.raises(ValueError, match=r"2 dimensions, the set's have 3: they do not mix"):
        add_vectors(tmp_path, WordVectors(("cat",), [[1.0, 2.0, 3.0]]))
    with pytest.raises(ValueError, match=r"2 of 2 words .*'dog', 'cat'.* another model"):
        add_vectors(tmp_path, WordVectors(("dog", "oil", "cat"), [[1.0, 2.0]] * 2 + [[0.0, 0.0]]))
    assert (tmp_path / "word_vectors.npz").read_bytes() == before


def test_a_few_other_vectors_are_told(tmp_path):
    add_vectors(tmp_path, WordVectors(("cat", "dog"), [[1.0, 2.0], [3.0, 4.0]]))
    with pytest.warns(UserWarning, match=r"1 of 2 words .*'dog'.*which they keep"):
        merged = add_vectors(tmp_path, WordVectors(("cat", "dog"), [[1.0, 2.0], [3.0, 5.0]]))
    assert merged.vectors[1].tolist() == [3.0, 4.0]
