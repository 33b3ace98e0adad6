import numpy as np
import pytest
from typer.testing import CliRunner

from treewass import TreeWassersteinClassifier
from treewass.votes.pooled_vote import PULL
from treewass_bench.commands import app
from treewass_bench.datasets import load_split
from treewass_bench.few import drawn_rows
from treewass_bench.methods import folds_of
from treewass_bench.pull import pull_cells, pull_markdown, pulls, with_wrong
from treewass_bench.rows import Row, RowFiles

VOTERS = ("neighbours alone", "default")


def test_one_pull_changes_at_a_time():
    changed = [sum(a != b for a, b in zip(pull, PULL, strict=True)) for pull in pulls().values()]
    assert changed == [0] + [1] * 13


def test_now_is_what_the_classifier_does_and_a_strong_pull_is_something_else(folder):
    (found,) = (
        cell.measure()
        for cell in pull_cells(folder, ["pets"], 1)
        if cell.case["labels"] == 20 and "wrong_percent" not in cell.case
    )
    split = load_split("pets", 0, folder)
    others, held = folds_of(split.X_train, split.y_train, 5)[0]
    rows = drawn_rows(split.y_train, others, 0, 20)
    model = TreeWassersteinClassifier().fit(split.X_train[rows], split.y_train[rows])
    truth = np.searchsorted(model.classes_, split.y_train[held])
    own = model.predict_proba(split.X_train[held])[np.arange(held.size), truth]
    assert found["documents"] == held.size
    assert found["log_loss, now"] == pytest.approx(-np.log(own).mean(), abs=1e-5)
    assert found["log_loss, now"] != found["log_loss, channels × 16"]


def row(name, draw, **losses):
    measures = {f"log_loss, {title}": losses.get(title.replace(" ", "_"), 1.0) for title in pulls()}
    measures |= {f"error_percent, {title}": 20.0 for title in pulls()}
    return Row("pull", {"set": name, "labels": 20, "draw": draw}, measures, "", environment={})


def test_another_value_is_chosen_only_beyond_a_standard_error(tmp_path):
    clear = {"votes_×_4": 0.9}
    rows = [
        row("twitter", 0, **clear, **{"prior_/_4": 0.5}),
        row("amazon", 0, **clear, **{"prior_/_4": 1.1}),
        row("reuters", 0, **clear, **{"prior_/_4": 1.1}),
    ]
    lines = pull_markdown(rows).splitlines()
    assert lines[2].endswith("| × 4: +0.1000 ± 0.0000 | × 4 |")
    assert lines[3].endswith("| / 4: +0.1000 ± 0.2000 | now |")
    assert lines[4].endswith("| now |")
    files = RowFiles(tmp_path / "pull.jsonl")
    for one in rows:
        files.add(one)
    result = CliRunner().invoke(app, ["pull", "--table", str(tmp_path / "pull.jsonl")])
    assert result.output.strip() == pull_markdown(rows).strip()


def test_sets_count_alike_however_many_draws_they_have():
    rows = [row("twitter", draw, **{"votes_×_4": 0.0}) for draw in range(4)] + [row("amazon", 0)]
    assert "| 0.5000 (20.00) |" in pull_markdown(rows)


def test_wrong_labels_are_a_fifth_and_never_right():
    labels = np.repeat(["a", "b", "c"], 20)
    assert [int((with_wrong(labels, draw) != labels).sum()) for draw in range(3)] == [12, 12, 12]


def test_errors_with_wrong_labels_stand_beside_the_plain_vote(folder):
    (found,) = (
        cell.measure()
        for cell in pull_cells(folder, ["pets"], 1)
        if cell.case["labels"] == 20 and "wrong_percent" in cell.case
    )
    assert len(found) == 2 + 2 * len(pulls())
    case = {"set": "twitter", "labels": 20, "wrong_percent": 20}
    measures = {f"error_percent, {voters}, {title}": 31.0 for voters in VOTERS for title in pulls()}
    rows = [
        row("twitter", 0),
        Row("pull", case | {"draw": 0}, measures | {"error_percent, plain vote": 30.0}, "", environment={}),
        Row("pull", case | {"draw": 1}, measures | {"error_percent, plain vote": 34.0}, "", environment={}),
    ]
    rows += [Row("pull", one.case | {"labels": 50}, one.measures, "", environment={}) for one in rows[1:]]
    assert "| prior / 16 | -1.0 (TWITTER -1.0 ± 2.0) |" in pull_markdown(rows)
