import json

from typer.testing import CliRunner

from treewass_bench.border import border_cells, border_markdown
from treewass_bench.cells import run_cells
from treewass_bench.commands import app


def test_queries_are_cut_out_of_their_documents(folder):
    rows = [row for row in run_cells(border_cells(folder, ["pets"])) if row.case["stem"] is None]
    assert {row.case["words"]: row.measures["queries"] for row in rows} == {
        2: 60,
        4: 0,
        8: 0,
        16: 0,
        32: 0,
        64: 0,
        128: 0,
    }
    figures = rows[0].measures
    assert all(0 <= figures[f"{what}_{way}"] <= 1 for what in ("found", "right") for way in ("ranked", "near"))
    assert figures["right_near"] > 0.5
    assert "| 2 words | 1 |" in border_markdown(rows)
    assert "4 words" not in border_markdown(rows)


def test_the_command_prints_rows(folder):
    done = CliRunner().invoke(app, ["border", "--sets", "pets", "--data", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rows) == 10
