import pytest
from typer.testing import CliRunner

from treewass.bench.row_files import RowFiles
from treewass.cli import app

from .results.rows import ABLATION, DEPTH, DUPLICATES, SYNTHETIC


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
    result = CliRunner().invoke(app, ["bench", command, "--table", str(tmp_path)], catch_exceptions=False)
    assert line in result.stdout.splitlines()


def wrong_usage(*arguments):
    """Run a benchmark that refuses its usage; return what it says, without the frame."""
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)], env={"COLUMNS": "400"})
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
    assert "is a directory" in wrong_usage("accuracy", "--table", tmp_path)


def test_ablation_prints_the_losses_of_the_curves(folder):
    result = CliRunner().invoke(app, ["bench", "ablation", "--sets", "pets", "--json", "--data", str(folder)])
    assert result.exit_code == 0
    assert '"validation_losses": "' in result.stdout
