from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from treewass.bench.data.newsgroups import fetch_newsgroups


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
