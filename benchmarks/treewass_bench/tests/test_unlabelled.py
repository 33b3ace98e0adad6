import numpy as np
import pytest

from treewass.documents import make_documents
from treewass_bench.datasets import Split
from treewass_bench.unlabelled import UNLABELLED_METHODS, nearest, unlabelled_cells


@pytest.mark.parametrize("method", UNLABELLED_METHODS)
def test_a_document_finds_itself(method):
    counts, labels = make_documents(60, n_words=80, words_per_document=20, random_state=0)
    split = Split(np.arange(80).astype(str), counts, labels, counts, labels, [""] * 60, [""] * 60)
    found, _ = nearest(split, method)
    assert found.shape == (60, 10)
    assert np.mean([row in own for row, own in enumerate(found.tolist())]) > 0.95


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match=r"methods among topics, .*, got magic"):
        unlabelled_cells(methods=["magic"])
