import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from treewass_bench.commands import app
from treewass_bench.methods import DEFAULT_METHODS, METHODS
from treewass_bench.rows import RowFiles

from .stored_rows import ABLATION, DEPTH, DUPLICATES, SYNTHETIC

ROWS = Path(__file__).resolve().parents[2] / "rows"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("synthetic", "| published | 0.3 | 0.0 |"),
        ("depth", "| STW, internal nodes of depth 5 | 4.0 |"),
        ("ablation", "| smooth-STW, α = 2 | 5.0 |"),
        ("duplicates", "| STW, margin 10 | 4.0 → 4.1 |"),
    ],
)
def test_stored_rows_are_laid_out(tmp_path, command, line):
    files = RowFiles(tmp_path)
    for row in [*SYNTHETIC, *DEPTH, *ABLATION, *DUPLICATES]:
        files.add(row)
    result = CliRunner().invoke(app, [command, "--table", str(tmp_path)], catch_exceptions=False)
    assert line in result.stdout.splitlines()


def test_every_command_has_help():
    listed = CliRunner().invoke(app, ["--help"]).output
    for command in app.registered_commands:
        assert f" {command.name} " in listed
        assert "Usage" in CliRunner().invoke(app, [command.name, "--help"]).output


def test_methods_are_listed_for_people_and_programs():
    rows = [json.loads(line) for line in CliRunner().invoke(app, ["methods", "--json"]).output.splitlines()]
    assert {row["name"] for row in rows} == set(METHODS)
    assert next(row for row in rows if row["name"] == "wmd")["needs"] == ["vectors", "POT"]
    listed = CliRunner().invoke(app, ["methods"], env={"COLUMNS": "200"}).output
    assert all(f" {name} " in listed for name in METHODS)


def test_default_methods_are_named_by_the_command():
    assert set(DEFAULT_METHODS) <= set(METHODS)
    shown = CliRunner().invoke(app, ["accuracy", "--help"], env={"COLUMNS": "300"}).output
    assert ",".join(DEFAULT_METHODS) in shown


def test_stored_rows_become_a_table_of_the_methods_asked_for():
    shown = CliRunner().invoke(app, ["accuracy", "--table", str(ROWS), "--methods", "svm,profile"]).output
    titles = [line.split("|")[1].strip() for line in shown.splitlines() if line.startswith("| ")]
    assert titles[1:3] == ["linear SVM, TF-IDF", "**treewass**, default"]


def wrong_usage(*arguments):
    """Run a benchmark that refuses its usage; return what it says, without the frame."""
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "400"})
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    "command", ["speed", "accuracy", "batch", "wmd", "synthetic", "depth", "ablation", "duplicates"]
)
def test_a_table_of_no_file_is_wrong_usage(tmp_path, command):
    said = wrong_usage(command, "--table", tmp_path / "rows.jsonl")
    assert "'--table'" in said
    assert f"'{tmp_path / 'rows.jsonl'}' does not exist" in said


def test_a_table_of_no_rows_is_wrong_usage(tmp_path):
    RowFiles(tmp_path).add(SYNTHETIC[0])
    assert f"{tmp_path} holds no rows of depth or accuracy" in wrong_usage("depth", "--table", tmp_path)
    assert f"{tmp_path} holds no rows of accuracy" in wrong_usage("accuracy", "--table", tmp_path)


def test_ablation_prints_the_losses_of_the_curves(folder):
    result = CliRunner().invoke(app, ["ablation", "--sets", "pets", "--json", "--data", str(folder)])
    assert result.exit_code == 0
    assert '"validation_losses": "' in result.stdout
