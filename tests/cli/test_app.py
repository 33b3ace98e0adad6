import itertools
import json

import pytest
from typer.testing import CliRunner

import treewass
from treewass.cli import app as cli

runner = CliRunner()


def test_version():
    result = runner.invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"treewass {treewass.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["-h"]]
    + [
        [command, "--help"] for command in ("demo", "fit", "predict", "search", "similar", "explain", "report", "serve")
    ],
)
def test_help_describes_every_command(arguments):
    result = runner.invoke(cli.app, arguments)
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert "bench" not in result.output
    assert "<bool>" not in result.output  # flags take no value


def test_the_demo_prints_json(monkeypatch):
    def short_demo(console, *, report):
        console.print("for people")
        return {"report": report}

    monkeypatch.setattr("treewass.cli.tour.run_demo", short_demo)
    assert json.loads(runner.invoke(cli.app, ["demo", "--json", "-o", "x.html"]).output) == {"report": "x.html"}
    assert runner.invoke(cli.app, ["demo"]).output == "for people\n"


def test_errors_are_one_sentence(monkeypatch, capsys):
    def broken():
        raise ValueError("Expected this, got that.")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "treewass: Expected this, got that.\n"


@pytest.mark.parametrize("command", ["fit", "predict", "compare", "update"])
def test_paragraphs_of_help_fill_their_lines(command):
    lines = runner.invoke(cli.app, [command, "--help"], terminal_width=80, env={"COLUMNS": "80"}).output.splitlines()
    start = next(number for number, line in enumerate(lines) if "Usage" in line)
    end = next(number for number, line in enumerate(lines) if "Arguments" in line)
    description = [line.strip() for line in lines[start + 2 : end]]
    assert len(description) > 3
    for line, following in itertools.pairwise(description):
        if line and following:  # the next word would not have fitted
            assert len(line) + 1 + len(following.split()[0]) > 78


def test_errors_of_the_system_come_without_their_numbers(monkeypatch, capsys):
    def broken():
        raise OSError(98, "Address already in use: 127.0.0.1 port 8000. Choose another with --port.")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err.startswith("treewass: Address already in use: 127.0.0.1 port 8000.")
