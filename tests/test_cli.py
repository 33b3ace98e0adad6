import json

import pytest
from typer.testing import CliRunner

import treewass
from treewass import cli
from treewass.methods import METHODS

runner = CliRunner()


def test_version():
    result = runner.invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"treewass {treewass.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["-h"], ["bench", "--help"], ["bench", "import", "--help"]]
    + [[command, "--help"] for command in ("demo", "fit", "predict", "search", "explain", "report")],
)
def test_help_describes_every_command(arguments):
    result = runner.invoke(cli.app, arguments)
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_methods_and_demo_print_json(monkeypatch):
    rows = [json.loads(line) for line in runner.invoke(cli.app, ["methods", "--json"]).output.splitlines()]
    assert {row["name"] for row in rows} == set(METHODS)
    assert next(row for row in rows if row["name"] == "wmd")["needs"] == ["vectors", "POT"]

    def short_demo(console, *, report):
        console.print("for people")
        return {"report": report}

    monkeypatch.setattr("treewass.demo.run_demo", short_demo)
    assert json.loads(runner.invoke(cli.app, ["demo", "--json", "-o", "x.html"]).output) == {"report": "x.html"}
    assert runner.invoke(cli.app, ["demo"]).output == "for people\n"


def test_bench_import_prints_rows():
    result = runner.invoke(cli.app, ["bench", "import", "--json", "--repetitions", "1"])
    row = json.loads(result.output)
    assert row["benchmark"] == "import"
    assert row["measures"]["heavy_modules_loaded"] == "none"
    assert row["environment"]["treewass"] == treewass.__version__


def test_bench_import_prints_a_table():
    result = runner.invoke(cli.app, ["bench", "import", "--repetitions", "1"])
    assert "import treewass" in result.output


def test_errors_are_one_sentence(monkeypatch, capsys):
    def broken():
        raise ValueError("Expected this, got that.")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "treewass: Expected this, got that.\n"
