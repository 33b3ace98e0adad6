import pytest

from treewass.bench.data.folder import make_folder, published_splits, write_set
from treewass.bench.datasets import load_set
from treewass.documents import Corpus

CORPUS = Corpus("pets", ("the cat", "a dog", "café & dog", "cat"), ("c", "d", "d", "c"))
FIXED = Corpus("pets", CORPUS.texts, CORPUS.labels, parts=("train", "train", "test", "test"))


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

    monkeypatch.setattr("treewass.bench.data.folder.json.dumps", stop)
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
