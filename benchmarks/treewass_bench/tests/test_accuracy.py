import json
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from treewass_bench.accuracy import accuracy_cells, bench_accuracy, calibration_error, mean_rows, measure
from treewass_bench.commands import app
from treewass_bench.datasets import load_set, load_vectors
from treewass_bench.fit import bench_fit
from treewass_bench.methods import METHODS, equal_documents

QUICK = [name for name in METHODS if not name.startswith(("stw", "swmd", "minilm"))]


@pytest.mark.parametrize("methods", [QUICK, pytest.param(list(METHODS), marks=pytest.mark.slow)])
def test_every_method_gives_a_row_a_split(folder, methods):
    rows = list(bench_accuracy(["pets"], methods, data=folder))
    assert len(rows) == 2 * len(methods)
    for row in rows:
        assert row.measures["error_percent"] < 30
        assert 0 <= row.measures["macro_f1"] <= 1
        assert (row.measures["log_loss"] is None) == row.case["method"].startswith("svm")
    means = mean_rows(rows)
    assert [row.measures["splits"] for row in means] == [2] * len(methods)


def test_finished_rows_are_not_measured_again(folder, tmp_path):
    output = tmp_path / "rows.jsonl"
    first = list(bench_accuracy(["pets"], ["bow"], splits=1, data=folder, output=output))
    again = list(bench_accuracy(["pets"], ["bow", "tfidf"], splits=1, data=folder, output=output))
    assert again[0].measures == first[0].measures
    assert len(output.read_text().splitlines()) == 2


def test_a_second_run_gives_the_same_figures(folder):
    methods = ["bow", "quadtree", "tsw-1", "flowtree", "wmd", "profile", "svm"]
    times = {"fit_seconds", "query_seconds", "peak_megabytes"}

    def figures():
        rows = bench_accuracy(["pets"], methods, data=folder)
        return [{name: value for name, value in row.measures.items() if name not in times} for row in rows]

    assert figures() == figures()


def test_the_fall_back_rule_is_that_of_the_classifier(folder):
    split = load_set("pets", folder).split(0)
    for method in ("bow", "wmd", "tsw-5"):
        model = METHODS[method].make(load_vectors(split.words, folder))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            wrong = model.fit(split.X_train, split.y_train).predict(split.X_test) != split.y_test
        assert measure(method, split, folder)["error_percent"] == round(100 * wrong.mean(), 3)


def test_few_test_documents_are_drawn_and_named(folder):
    cells = accuracy_cells(["pets"], ["bow"], splits=1, data=folder, test_documents=10)
    assert cells[0].case["test_documents"] == 10
    assert (10 * cells[0].measure()["error_percent"] / 100) % 1 == pytest.approx(0)
    assert "test_documents" not in accuracy_cells(["pets"], ["bow"], data=folder, test_documents=30)[0].case


def test_command_prints_rows_and_says_what_it_measures(folder):
    result = CliRunner().invoke(
        app,
        ["accuracy", "--sets", "pets", "--methods", "bow", "--splits", "1", "--json", "--data", str(folder)],
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["case"]["vote"] == "fall-back, k=19"
    assert "pets, 0, bow" in result.stderr


def test_unknown_names_are_refused(folder):
    with pytest.raises(ValueError, match="methods among"):
        list(bench_accuracy(["pets"], ["magic"], data=folder))
    with pytest.raises(ValueError, match="cases among"):
        list(bench_fit(["magic"]))


def test_memory_of_stage_one_stays_near_the_matrix():
    (row,) = bench_fit(["memory"], n_documents=20_000)
    assert row.measures["peak_megabytes"] > 0


@pytest.mark.parametrize(("confidence", "right", "expected"), [(0.9, 0.9, 0.0), (1.0, 0.5, 0.5), (0.6, 1.0, 0.4)])
def test_calibration_error_is_the_gap_between_confidence_and_accuracy(confidence, right, expected):
    probabilities = np.tile([confidence, 1 - confidence], (10, 1))
    truth = np.array(["a"] * round(10 * right) + ["b"] * round(10 * (1 - right)))
    assert calibration_error(probabilities, np.array(["a", "b"]), truth) == pytest.approx(expected)


def test_equal_documents_share_a_group():
    groups = equal_documents([[1, 2], [2, 1], [1, 2]])
    assert groups[0] == groups[2] != groups[1]
