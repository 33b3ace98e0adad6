"""A model remembers which columns it was learned from."""

import json

import pytest
from typer.testing import CliRunner

from tests.model.conftest import LABELS, TEXTS
from treewass import DocumentModel
from treewass.cli import app as cli

runner = CliRunner()


def run(*arguments, **settings):
    """Run a command in this process that is to succeed; return what it says."""
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False, **settings)
    assert result.exit_code == 0, result.output
    return result


COLUMNS = ("--text", "body", "--label", "team", "--id", "number", "--title", "subject", "--keep", "year,who")


@pytest.fixture
def model(tmp_path):
    run("fit", tickets(tmp_path), "-o", tmp_path / "m", *COLUMNS, "--test-size", 0, "--neighbors", 3)
    return tmp_path / "m"


def write(path, text):
    """Write a file; return its path."""
    path.write_text(text, encoding="utf-8")
    return path


def tickets(folder, first=0, name="tickets.csv"):
    """Write tickets whose numbers begin with the first."""
    rows = enumerate(zip(TEXTS, LABELS, strict=True), start=first)
    lines = [f'n{number},s{number},"{text}",{label},2020,me' for number, (text, label) in rows]
    return write(folder / name, "\n".join(["number,subject,body,team,year,who", *lines, ""]))


def test_they_are_taken_and_said(model, tmp_path):
    news = tickets(tmp_path, 100)
    said = run("add", model, news)
    options = "--text body --label team --id number --title subject --keep year,who"
    assert said.stderr == f"treewass: note: columns as the model was learned: {options}\n"
    run("update", model, tickets(tmp_path, 200, "more.csv"))
    run("add", model, tickets(tmp_path, 300, "later.csv"))  # an update remembers them, too
    held = DocumentModel.load(model).contents_.documents
    assert set(held.columns) == {"year", "who"}
    assert {"n0", "n100", "n200", "n300"} <= set(held.key_ids)
    removed = run("remove", model, news)
    assert "note: columns as the model was learned: --id number\n" in removed.stderr
    assert "n100" not in DocumentModel.load(model).contents_.documents.key_ids


def test_predict_takes_all_but_the_label(model, tmp_path):
    news, out = tickets(tmp_path, 100), tmp_path / "labels.csv"
    said = run("predict", model, news, "-o", out)
    assert "--text body --id number --title subject --keep year,who\n" in said.stderr
    assert "wrong" not in said.stderr
    assert out.read_text("utf-8").startswith("row,place,id,title,label,probability,known,year,who,text\n")
    run("predict", model, news, "-o", f"{tmp_path}/out/")


def test_what_is_given_wins_and_what_the_data_lacks_is_left_out(model, tmp_path):
    news = write(tmp_path / "news.jsonl", '{"text": "a cat", "team": "dog", "who": "you"}\n')
    said = run("add", model, news)
    assert "note: columns as the model was learned: --label team --keep who\n" in said.stderr
    assert "note: the documents have no id of yours (--id COLUMN), and could be there twice." in said.stderr
    given = ["predict", model, "-", "--text", "text", "--keep", "team", "--json"]
    said = run(*given, input=news.read_text("utf-8"))
    assert json.loads(said.stdout)["team"] == "dog"
    assert "as the model" not in said.stderr


def test_a_column_that_is_missing_is_named_as_it_is_remembered(model, tmp_path):
    news = write(tmp_path / "news.csv", "number,body,topic\nn100,a cat,cat\n")
    with pytest.raises(ValueError, match=r"no column 'team' in the header.* without: --no-labels\."):
        run("add", model, news)
    news = write(tmp_path / "news.csv", "number,content,team\nn100,a cat,cat\n")
    with pytest.raises(ValueError, match=r"no column 'body' in the header; .*with --text"):
        run("predict", model, news)


@pytest.mark.parametrize("name", ["team", "label"])
def test_a_model_without_labels_reads_none_unless_they_are_named(tmp_path, name):
    rows = tickets(tmp_path).read_text("utf-8").replace("team", name)
    news = write(tmp_path / "news.csv", rows)
    run("fit", news, "-o", tmp_path / "m", "--no-labels", "--text", "body")
    said = run("add", tmp_path / "m", news)
    assert said.stderr.startswith("treewass: note: columns as the model was learned: --text body --no-labels\n")
    assert "--no-labels" not in run("add", tmp_path / "m", news, "--no-labels").stderr
    assert DocumentModel.load(tmp_path / "m").contents_.classes == ()
    run("update", tmp_path / "m", news, "--label", name)
    assert DocumentModel.load(tmp_path / "m").contents_.classes == tuple(sorted(set(LABELS)))
    again = runner.invoke(cli.app, ["add", str(tmp_path / "m"), str(news)])
    assert again.stderr.startswith("treewass: note: columns as the model was learned: --text body\n")


def test_they_are_taken_from_standard_input(model):
    said = run("predict", model, "-", input='{"body": "a cat"}\n')
    assert "note: columns as the model was learned: --text body\n" in said.stderr


def test_several_text_columns_are_remembered(tmp_path):
    data = tickets(tmp_path)
    columns = ("--text", "subject,body", "--label", "team", "--in-parts")
    run("fit", data, "-o", tmp_path / "m", *columns, "--neighbors", 3)
    said = run("predict", tmp_path / "m", data)
    assert "note: columns as the model was learned: --text subject,body\n" in said.stderr


def test_a_model_without_notes_knows_none(tmp_path):
    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "m")
    result = runner.invoke(cli.app, ["predict", str(tmp_path / "m"), str(tickets(tmp_path))])
    assert result.exit_code == 1
    assert "no column 'text'" in str(result.exception)
