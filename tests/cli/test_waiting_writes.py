"""Writes of a service wait in its log until they are folded; commands answer from the model without them."""

import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from tests.model.conftest import LABELS, TEXTS
from treewass import DocumentModel
from treewass.cli import app as cli
from treewass.serve import LiveModel, NewDocument

runner = CliRunner()


def run(*arguments, **settings):
    """Run a command in this process that is to succeed; return what it says."""
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False, **settings)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("command", [["search", "cat"], ["similar", "a cat sat"], ["explain", "a cat sat"]])
def test_they_are_counted_while_a_service_has_them_open(command, tmp_path):
    name, text = command

    def said():
        return run(name, tmp_path / "m", text).stderr

    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "m")
    assert said() == ""
    folding = f"treewass fold {tmp_path / 'm'} puts"
    with LiveModel(tmp_path / "m") as live:
        assert said() == ""
        live.add([NewDocument("a new cat", LABELS[0])])
        assert said() == f"treewass: note: 1 write of a service is not in this answer; {folding} it in.\n"
        live.remove([0])
    assert said() == f"treewass: note: 2 writes of a service are not in this answer; {folding} them in.\n"
    run("fold", tmp_path / "m")
    assert said() == ""


def test_a_service_writes_while_they_are_counted(tmp_path):
    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "m")
    with LiveModel(tmp_path / "m") as live:
        for number in range(1, 4):
            live.add([NewDocument("a new cat", LABELS[0])])
            assert f"note: {number} write" in run("search", tmp_path / "m", "cat").stderr
        assert live.fold() == 3
        assert run("search", tmp_path / "m", "cat").stderr == ""


def test_those_of_another_model_and_damaged_ones_are_none(tmp_path):
    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "m")
    with LiveModel(tmp_path / "m") as live:
        live.remove([0])
    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "m")
    assert run("search", tmp_path / "m", "cat").stderr == ""
    (tmp_path / "m" / "writes.sqlite").write_bytes(b"no database")
    assert run("search", tmp_path / "m", "cat").stderr == ""


@pytest.mark.parametrize("record", ["not JSON", "{}", "[]", b"\xff"])
def test_a_damaged_record_keeps_nobody_from_an_answer(record, tmp_path):
    DocumentModel(n_neighbors=3).fit(TEXTS, LABELS).save(tmp_path / "m")
    with LiveModel(tmp_path / "m") as live:
        live.remove([0])
    with closing(sqlite3.connect(tmp_path / "m" / "writes.sqlite")) as connection, connection:
        connection.execute("UPDATE writes SET record = ?", [record])
    run("search", tmp_path / "m", "cat")
