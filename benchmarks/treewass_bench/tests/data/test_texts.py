from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from treewass_bench.data.texts import (
    fetch_newsgroups,
    read_marked_lines,
    read_reviews,
    read_smart,
    read_texts,
    with_classes,
)

CACM = """.I 1
.T
On Trees
.B
CACM December, 1958
.X
1\t5\t1
.I 2
.T
Sorting Lists
.W
A method is shown.
 It is fast.
.A
Somebody, A.
"""
CRAN = """.I 1
.T
flow past a
plate .
.A
someone
.W
flow past a
plate .
  the flow is studied .
.I 2
.T
.A
.B
.W
"""
REVIEW = "<review>\n<title>\nTitle\n</title>\n<review_text>\n{}\n</review_text>\n</review>\n"


def test_labelled_lines_with_quoted_labels(tmp_path):
    path = tmp_path / "all_twitter_by_line.txt"
    path.write_text('"positive"\t now all  apple has \n"negative"\t it broke\n')
    corpus = read_texts(path)
    assert corpus.texts == ("now all  apple has", "it broke")
    assert corpus.labels == ("positive", "negative")
    assert corpus.parts is None


def test_one_file_to_train_and_one_to_test(tmp_path):
    (tmp_path / "train.txt").write_text("ship\ta boat\nearn\tprofit\n")
    (tmp_path / "test.txt").write_text("earn\tloss\nship\tharbour\n")
    corpus = read_texts(tmp_path / "train.txt", tmp_path / "test.txt")
    assert corpus.texts == ("a boat", "profit", "loss", "harbour")
    assert corpus.parts == ("train", "train", "test", "test")


def test_folders_of_classes_with_train_and_test_above(tmp_path):
    for part, number in (("training", 1), ("test", 2)):
        for label in ("C01", "C02", "C11"):
            folder = tmp_path / part / label
            folder.mkdir(parents=True)
            (folder / f"000{number}").write_text(f"{label} text {number}\n more")
    corpus = with_classes(read_texts(tmp_path / "training", tmp_path / "test"), ["C01", "C02"])
    assert corpus.labels == ("C01", "C02") * 2
    assert corpus.parts == ("train", "train", "test", "test")
    assert corpus.texts[2] == "C01 text 2\n more"
    with pytest.raises(ValueError, match="classes among C01, C02, got C12"):
        with_classes(corpus, ["C01", "C12"])


def test_tables_with_other_columns(tmp_path):
    (tmp_path / "bbcsport.csv").write_text('texts,labels\n"A ""win"", twice",rugby\nout,cricket\n')
    corpus = read_texts(tmp_path / "bbcsport.csv", text="texts", label="labels")
    assert corpus.texts == ('A "win", twice', "out")


def test_texts_and_marks_in_two_files(tmp_path):
    texts, marks = tmp_path / "corpus.txt", tmp_path / "marks.txt"
    texts.write_text("a boat\n\nloss\n")
    marks.write_text("0\ttrain\tship\n1\ttraining\tearn\n2\ttest\tearn\n")
    corpus = read_marked_lines(texts, marks)
    assert corpus.texts == ("a boat", "", "loss")
    assert corpus.labels == ("ship", "earn", "earn")
    assert corpus.parts == ("train", "train", "test")
    marks.write_text("0\ttrain\tship\n1\tdev\tearn\n2\ttest\tearn\n")
    with pytest.raises(ValueError, match="1 of 3 lines are others, the first is line 2"):
        read_marked_lines(texts, marks)
    marks.write_text("0\ttrain\tship\n")
    with pytest.raises(ValueError, match=r"has 1 lines and .* has 3"):
        read_marked_lines(texts, marks)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_marked_lines(texts, tmp_path / "absent")


def test_collections_of_the_smart_system(tmp_path):
    (tmp_path / "cacm.all").write_text(CACM)
    (tmp_path / "CRAN.all.1400").write_text(CRAN)
    with pytest.warns(UserWarning, match="1 documents of .*CRAN.all.1400 have no text and are left out"):
        corpus = read_smart(tmp_path)
    assert corpus.texts == (
        "flow past a\nplate .\n  the flow is studied .",
        "On Trees",
        "Sorting Lists\nA method is shown.\n It is fast.",
    )
    assert corpus.labels == ("cran", "cacm", "cacm")


def test_reviews_by_product(tmp_path):
    for product in ("books", "dvd"):
        (tmp_path / product).mkdir()
        for kind in ("positive", "negative", "unlabeled"):
            reviews = REVIEW.format(f"{kind} {product}, na\xefve") + REVIEW.format("two\n\nlines")
            (tmp_path / product / f"{kind}.review").write_text(reviews, encoding="latin-1")
    corpus = read_reviews(tmp_path, "latin-1")
    assert corpus.class_counts() == {"books": 4, "dvd": 4}
    assert corpus.texts[:2] == ("negative books, na\xefve", "two\n\nlines")
    with pytest.raises(ValueError, match=r"is not valid utf-8.*Pass encoding="):
        read_texts(tmp_path, format="reviews")


@pytest.mark.parametrize("read", [read_smart, read_reviews])
def test_folders_of_another_form_are_refused(tmp_path, read):
    with pytest.raises(ValueError, match="Expected a folder, but there is none"):
        read(tmp_path / "absent")
    with pytest.raises(ValueError, match="found none"):
        read(tmp_path)
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "positive.review").write_text("hello")
    (tmp_path / "cacm.all").write_text("hello")
    with pytest.raises(ValueError, match=r"expected documents, found none\. Is it a file of another form"):
        read(tmp_path)


def test_both_parts_without_headers(monkeypatch):
    def fetch(*, subset, remove, shuffle, **_):
        assert remove == ("headers",)
        assert not shuffle
        return SimpleNamespace(
            data=[f"{subset} one", f"{subset} two"], target=np.array([1, 0]), target_names=["a", "b"]
        )

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch)
    corpus = fetch_newsgroups()
    assert corpus.texts == ("train one", "train two", "test one", "test two")
    assert corpus.labels == ("b", "a", "b", "a")
    assert corpus.parts == ("train", "train", "test", "test")


@pytest.mark.filterwarnings("ignore:Retry downloading")
def test_without_a_network_one_sentence_says_so(monkeypatch, tmp_path):
    """With scikit-learn's own fetcher, which checks what it is asked."""

    def unreachable(*_, **__):
        raise URLError("no route to host")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr("urllib.request.OpenerDirector.open", unreachable)
    with pytest.raises(ValueError, match=r"its server cannot be reached .*no route to host.*connect to the network"):
        fetch_newsgroups()
