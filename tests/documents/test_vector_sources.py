from contextlib import contextmanager

import numpy as np
import pytest

from treewass.documents import WordVectors, vector_sources
from treewass.documents.vector_sources import GIVEN, find_vectors, source_name


def test_a_file_gives_the_words_asked_for_and_its_first(tmp_path, monkeypatch):
    monkeypatch.setattr("treewass.documents.vector_sources._N_LISTED", 2)
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\nof 3 4\nand 5 6\ncat 7 8\n")
    from_file = find_vectors(path, ["cat", "yeti"])
    assert from_file.words == ("the", "of", "cat")
    given = find_vectors(WordVectors(("the", "of", "and", "cat"), [[1, 2], [3, 4], [5, 6], [7, 8]]), ["cat", "yeti"])
    assert given.words == from_file.words
    assert np.array_equal(given.vectors, from_file.vectors)


def test_what_names_no_vectors_is_refused():
    with pytest.raises(TypeError, match="got ndarray"):
        find_vectors(np.eye(3), ["cat"])
    with pytest.raises(ValueError, match=r"Set model\.word_vectors"):
        find_vectors(GIVEN, ["cat"])


def test_a_source_is_named_by_its_path(tmp_path):
    assert source_name(tmp_path) == str(tmp_path)


def test_somebody_who_waits_for_the_network_is_told(monkeypatch):
    said, open_lines = [], []

    @contextmanager
    def waiting(description):
        open_lines.append(description)
        yield
        open_lines.clear()

    def embedded(words):
        said.append((tuple(words), *open_lines))
        return np.ones((len(words), 2), dtype=np.float32)

    monkeypatch.setattr(vector_sources, "waiting", waiting)
    monkeypatch.setattr(vector_sources, "_embedded", embedded)
    monkeypatch.setattr(vector_sources, "_listed_words", lambda: WordVectors(("cat",), embedded(["cat"])))
    assert find_vectors("minilm", ["yeti", "cat"]).words == ("cat", "yeti")
    assert said == [((word,), "embedding words with minilm …") for word in ("cat", "yeti")]


@pytest.mark.slow
def test_the_packaged_network_knows_what_words_mean():
    found = find_vectors("minilm", ["kitten", "zxqwv"])
    assert {"cat", "tractor", "zxqwv"} <= set(found.words)
    assert 20_000 < len(found) < 25_000
    vectors = found.align(["kitten", "cat", "tractor"]).vectors
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    again = find_vectors("minilm", ["zxqwv"])
    assert np.array_equal(found.vectors, again.vectors)
