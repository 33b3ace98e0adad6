"""The registry of methods: every entry can be built, and what is written about them is what they are."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from treewass.bench.linear_models import LOGISTIC_PENALTIES, SVM_PENALTIES
from treewass.bench.rows import read_rows
from treewass.cli import app
from treewass.documents import AlignedVectors
from treewass.documents.synthetic import make_documents
from treewass.method_builders import compared, neighbours
from treewass.methods import DEFAULT_METHODS, KINDS, METHODS, Method, methods_markdown

COUNTS, LABELS = make_documents(60, n_words=40, words_per_document=8, random_state=0)
VECTORS = AlignedVectors(np.random.RandomState(0).normal(size=(40, 5)), np.ones(40, dtype=bool), ())
ROWS = Path(__file__).resolve().parents[1] / "benchmarks" / "accuracy.jsonl"


def listed(name):
    return pytest.param(name, marks=pytest.mark.slow) if name == "minilm" else name  # loads a network


@pytest.mark.parametrize("name", [listed(name) for name in METHODS])
def test_every_method_is_described_and_can_be_fitted(name):
    method = METHODS[name]
    assert method.kind in KINDS
    assert method.complexity
    assert method.citation
    model = method.make(VECTORS if "vectors" in method.needs else None)
    documents = [f"word {row.argmax()}" for row in COUNTS.toarray()] if "texts" in method.needs else COUNTS
    model.fit(documents, LABELS)
    assert model.predict(documents).shape == (60,)
    assert set(model.classes_) == set(LABELS)


def test_tree_metrics_run_on_the_search_engine():
    for method in METHODS.values():
        if method.kind == "tree metric":
            model = method.make(VECTORS if "vectors" in method.needs else None)
            assert type(model).__name__ == "TreeWassersteinClassifier"


def test_an_estimator_compared_pair_by_pair_answers_as_on_the_engine():
    slow = compared("treewass.learners.quadtree:QuadtreeWasserstein", max_depth=5)(VECTORS)
    engine = neighbours("treewass.learners.quadtree:QuadtreeWasserstein", max_depth=5)(VECTORS)
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


def test_penalties_in_the_texts_are_those_tried():
    assert str(SVM_PENALTIES) in METHODS["svm"].configuration
    assert str(LOGISTIC_PENALTIES) in METHODS["logistic"].configuration


def test_stored_rows_are_of_methods_as_they_are():
    """So that a stored row can be measured again, and is not measured twice."""
    for row in read_rows(ROWS):
        method = METHODS[row.case["method"]]
        assert (row.case["vote"], row.case["configuration"]) == (method.vote, method.configuration)


def test_table_and_command_list_every_method():
    table = methods_markdown().splitlines()
    assert len(table) == len(METHODS) + 2
    assert len({line.count("|") for line in table}) == 1
    listed = CliRunner().invoke(app, ["methods"], env={"COLUMNS": "200"}).output
    for name in METHODS:
        assert f"| `{name}` |" in methods_markdown([name])
        assert f" {name} " in listed


def test_defaults_are_methods_and_named_by_the_command():
    assert set(DEFAULT_METHODS) <= set(METHODS)
    shown = CliRunner().invoke(app, ["bench", "accuracy", "--help"], env={"COLUMNS": "300"}).output
    assert ",".join(DEFAULT_METHODS) in shown


def test_stored_rows_become_a_table_of_the_methods_asked_for():
    shown = CliRunner().invoke(app, ["bench", "accuracy", "--table", str(ROWS), "--methods", "svm,profile"]).output
    titles = [line.split("|")[1].strip() for line in shown.splitlines() if line.startswith("| ")]
    assert titles[1:3] == ["linear SVM, TF-IDF", "**treewass**, default"]


def test_the_registry_is_light_to_import():
    code = "import sys, treewass; treewass.methods.METHODS; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "sklearn", "scipy", "numba", "torch"} & set(loaded)
