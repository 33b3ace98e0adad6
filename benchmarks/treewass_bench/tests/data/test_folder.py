import numpy as np
import pytest

from treewass.documents import Corpus, WordVectors, read_word_vectors
from treewass_bench.data.folder import add_vectors, make_folder, make_vectors, published_splits, write_set
from treewass_bench.datasets import load_set

CORPUS = Corpus("pets", ("the cat", "a dog", "café & dog", "cat"), ("c", "d", "d", "c"))
FIXED = Corpus("pets", CORPUS.texts, CORPUS.labels, parts=("train", "train", "test", "test"))
CLEAN = Corpus("clean", ("Cat don't", "ship"), ("a", "b"), parts=("train", "test"))
RAW = Corpus("raw", ("The CAT's dog", "ship; oil"), ("a", "b"), parts=("train", "test"))
GLOVE = "the 1 0\ncat's 0.1 2\ndog 3 3\nCat 4 4\nship 5 5\nyeti 6 6\n"


def test_sets_come_back_as_they_were_written(tmp_path):
    (tmp_path / "stop_words.txt").write_text("the\n")
    write_set(tmp_path, "random", CORPUS, train_rows=published_splits("random", 4))
    write_set(tmp_path, "fixed", FIXED)
    random, fixed = load_set("random", tmp_path), load_set("fixed", tmp_path)
    assert (random.corpus.texts, random.corpus.labels, random.corpus.parts) == (CORPUS.texts, CORPUS.labels, None)
    assert [len(rows) for rows in random.train_rows] == [3] * 5
    assert fixed.corpus.parts == FIXED.parts
    assert fixed.train_rows[0].tolist() == [0, 1]
    assert fixed.split(0).words.tolist() == ["a", "cat", "dog"]


def test_the_same_set_gives_the_same_bytes(tmp_path):
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_set(make_folder(folder), "pets", CORPUS, train_rows=published_splits("pets", 4))
    for file in ("pets.jsonl.gz", "splits.json.gz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_nothing_is_replaced_unless_wanted(tmp_path):
    write_set(tmp_path, "pets", CORPUS, train_rows=published_splits("pets", 4), cleaned=True)
    write_set(tmp_path, "other", CORPUS, train_rows=published_splits("other", 4), cleaned=True)
    before = (tmp_path / "pets.jsonl.gz").read_bytes()
    with pytest.raises(ValueError, match=r"already a file .*pets\.jsonl\.gz. Pass --force"):
        write_set(tmp_path, "pets", FIXED)
    assert (tmp_path / "pets.jsonl.gz").read_bytes() == before
    write_set(tmp_path, "pets", FIXED, cleaned=True, force=True)
    assert len(load_set("pets", tmp_path).train_rows) == 1
    assert len(load_set("other", tmp_path).train_rows) == 5


def test_an_interruption_leaves_no_mixed_set(tmp_path, monkeypatch):
    write_set(tmp_path, "pets", CORPUS, train_rows=published_splits("pets", 4), cleaned=True)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("treewass_bench.data.folder.json.dumps", stop)
    with pytest.raises(KeyboardInterrupt):
        write_set(tmp_path, "pets", FIXED, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["splits.json.gz"]


def test_splits_have_the_published_size():
    assert [len(rows) for rows in published_splits("bbcsport", 737)] == [517] * 5
    with pytest.raises(ValueError, match="more than 517 documents for the set bbcsport"):
        published_splits("bbcsport", 500)


def test_names_and_folders(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="small letters"):
        write_set(tmp_path, "../pets", CORPUS)
    monkeypatch.setenv("TREEWASS_DATA", str(tmp_path / "new" / "folder"))
    assert make_folder(None).is_dir()
    monkeypatch.delenv("TREEWASS_DATA")
    with pytest.raises(ValueError, match="pass --data DIR"):
        make_folder(None)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        make_folder(tmp_path / "file")


def test_missing_stop_words_say_where_they_are(tmp_path):
    write_set(tmp_path, "pets", FIXED)
    with pytest.raises(ValueError, match="Copy the list of that name from the public repository mkusner/wmd"):
        load_set("pets", tmp_path)


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
