import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from treewass_bench.commands import app
from treewass_bench.few import drawn_rows, few_cells, few_markdown
from treewass_bench.rows import Row, RowFiles


@given(st.lists(st.sampled_from("abc"), min_size=3), st.integers(0, 9), st.data())
def test_draws_hold_every_class_and_lie_within_each_other(labels, draw, data):
    labels = np.array(labels)
    train = np.array(data.draw(st.lists(st.integers(0, labels.size - 1), unique=True, min_size=1)))
    whole = drawn_rows(labels, train, draw, train.size)
    assert sorted(whole.tolist()) == sorted(train.tolist())
    classes = np.unique(labels[train])
    assert np.array_equal(np.unique(labels[whole[: classes.size]]), classes)
    assert np.array_equal(drawn_rows(labels, train, draw, 2), whole[:2])


def test_only_large_draws_of_the_set_with_many_classes():
    found = {(cell.case["set"], cell.case["labels"]) for cell in few_cells("folder")}
    assert ("20news", 100) in found
    assert ("20news", 50) not in found
    assert ("twitter", 20) in found


@pytest.mark.parametrize("method", ["svm", "mean-logistic", "treewass", "treewass-glove"])
def test_easy_documents_are_told_apart(folder, method):
    cells = few_cells(folder, ["pets"], [method], draws=1)
    (found,) = (cell.measure() for cell in cells if cell.case["labels"] == 50)
    assert found["documents"] == 30
    assert found["error_percent"] < 10


def row(name, method, error):
    case = {"set": name, "labels": 50, "draw": 0, "method": method}
    return Row("few", case, {"error_percent": error, "documents": 10}, "", environment={})


def test_means_are_compared_with_the_best_rival_in_the_mean(tmp_path):
    rows = [row("twitter", "svm", 20.0), row("reuters", "svm", 40.0), row("twitter", "mean-logistic", 30.0)]
    rows += [row("reuters", "mean-logistic", 10.0), row("twitter", "minilm-logistic", 50.0)]
    rows += [
        row("reuters", "minilm-logistic", 50.0),
        row("twitter", "treewass", 12.0),
        row("reuters", "treewass", 32.0),
    ]
    assert "| **treewass** | 22.0 (1.10) |" in few_markdown(rows)
    files = RowFiles(tmp_path / "few.jsonl")
    for one in rows:
        files.add(one)
    result = CliRunner().invoke(app, ["few", "--table", str(tmp_path / "few.jsonl")])
    assert "| mean GloVe vector + logistic regression | 10.0 |" in result.output
