"""The registry of methods: every entry can be built, and what is written about them is what they are."""

import subprocess
import sys

import numpy as np
import pytest

import treewass
from treewass.documents import AlignedVectors, make_documents
from treewass.model.methods import KINDS, METHODS, Method, compared, methods_markdown, neighbors

COUNTS, LABELS = make_documents(60, n_words=40, words_per_document=8, random_state=0)
VECTORS = AlignedVectors(np.random.RandomState(0).normal(size=(40, 5)), np.ones(40, dtype=bool), ())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_described_and_can_be_fitted(name):
    method = METHODS[name]
    assert method.kind in KINDS
    assert method.complexity
    assert method.citation
    model = method.make(VECTORS if "vectors" in method.needs else None)
    model.fit(COUNTS, LABELS)
    assert model.predict(COUNTS).shape == (60,)
    assert set(model.classes_) == set(LABELS)


def test_tree_metrics_run_on_the_search_engine():
    for method in METHODS.values():
        if method.kind == "tree metric":
            model = method.make(VECTORS if "vectors" in method.needs else None)
            assert type(model) is treewass.TreeWassersteinClassifier


def test_an_estimator_compared_pair_by_pair_answers_as_on_the_engine():
    slow = compared("treewass:QuadtreeWasserstein", random_state=1)(VECTORS)
    engine = neighbors("treewass:QuadtreeWasserstein", random_state=1)(VECTORS)
    answers = [model.fit(COUNTS, LABELS).predict_proba(COUNTS) for model in (slow, engine)]
    assert np.array_equal(*answers)


def test_missing_vectors_are_named():
    with pytest.raises(ValueError, match=r"Expected word vectors for QuadtreeWasserstein\(\)"):
        METHODS["quadtree"].make()


def test_unknown_kinds_and_needs_are_refused():
    with pytest.raises(ValueError, match="Expected a kind"):
        Method("", "magic", "", "", lambda _: None, (), "", "")
    with pytest.raises(ValueError, match="needs"):
        Method("", "distance", "", "", lambda _: None, ("luck",), "", "")


def test_table_lists_every_method():
    table = methods_markdown().splitlines()
    assert len(table) == len(METHODS) + 2
    assert len({line.count("|") for line in table}) == 1
    for name in METHODS:
        assert f"| `{name}` |" in methods_markdown({name: METHODS[name]})


def test_the_registry_is_light_to_import():
    code = "import sys, treewass; import treewass.model.methods; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "sklearn", "scipy", "numba", "torch"} & set(loaded)
