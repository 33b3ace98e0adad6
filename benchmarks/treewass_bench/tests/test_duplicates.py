import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from typer.testing import CliRunner

from treewass_bench.accuracy import measure
from treewass_bench.commands import app
from treewass_bench.datasets import Split, load_split
from treewass_bench.duplicates import (
    DUPLICATE_METHODS,
    duplicate_cells,
    duplicates_markdown,
    kept_documents,
    kept_errors,
)

from .stored_rows import ABLATION, DEPTH, DUPLICATES

documents = st.lists(
    st.tuples(st.sampled_from([(1, 0), (2, 0), (0, 1), (1, 1), (2, 2), (1, 2)]), st.sampled_from("ab"))
)


def split_of(train, test):
    def part(documents):
        counts = csr_array(np.array([words for words, _ in documents]).reshape(-1, 2))
        return counts, np.array([label for _, label in documents])

    return Split(np.array(["cat", "dog"]), *part(train), *part(test), [], [])


@given(documents.filter(bool), documents.filter(bool))
def test_kept_documents_are_those_of_a_plain_search(train, test):
    def equal(one, other):
        return one[0] * sum(other) == other[0] * sum(one)

    expected = [
        not any(equal(words, other) for other, _ in train)
        and all(label == their for other, their in test if equal(words, other))
        for words, label in test
    ]
    assert kept_documents(split_of(train, test)).tolist() == expected


@pytest.mark.parametrize("cell", duplicate_cells("folder", ["pets"]), ids=lambda cell: cell.case["method"])
def test_errors_on_all_documents_are_those_of_the_accuracy_rows(folder, cell):
    (same,) = duplicate_cells(folder, ["pets"], [cell.case["method"]])
    found, split = same.measure(), load_split("pets", 0, folder)
    assert found["error_percent"] == measure(cell.case["method"], split, folder)["error_percent"]
    assert found["documents"] == split.y_test.size
    assert found["kept"] == kept_documents(split).sum()
    assert 0 < found["kept"] < found["documents"]


def test_nothing_kept_has_no_error():
    assert kept_errors(np.array([True]), np.array([False]))["kept_error_percent"] is None


def test_the_command_stores_rows_and_lays_them_out(folder, tmp_path):
    arguments = ["duplicates", "--sets", "pets", "--data", str(folder), "--output", str(tmp_path / "rows")]
    first = CliRunner().invoke(app, [*arguments, "--json"])
    assert first.exit_code == 0
    assert [json.loads(line)["case"]["method"] for line in first.stdout.splitlines()] == list(DUPLICATE_METHODS)
    assert "7 of 7" in first.stderr
    again = CliRunner().invoke(app, [*arguments, "--json"])
    assert again.stdout == first.stdout
    assert not again.stderr
    table = CliRunner().invoke(app, ["duplicates", "--table", str(tmp_path / "rows")])
    assert table.stdout.startswith("| test error in %, all → without repeats | PETS |")


@pytest.mark.parametrize("command", ["duplicates", "depth", "ablation"])
def test_an_unknown_set_is_named(folder, command):
    result = CliRunner().invoke(app, [command, "--sets", "magic", "--data", str(folder)])
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == "Expected one of the sets pets, got 'magic'."


def test_errors_change_from_all_to_those_kept_and_the_papers_learner_comes_from_the_ablation():
    assert duplicates_markdown([*DUPLICATES, *ABLATION]).splitlines()[:5] == [
        "| test error in %, all → without repeats | REUTERS |",
        "|---|---|",
        "| test documents left out | 10 of 200 |",
        "| bag of words, L1, k = 19 fall-back | 5.0 → 5.2 |",
        "| STW, margin 10 | 4.0 → 4.1 |",
    ]


def test_rows_of_other_benchmarks_are_passed_over():
    assert duplicates_markdown([*DUPLICATES, *DEPTH]) == duplicates_markdown(DUPLICATES)
