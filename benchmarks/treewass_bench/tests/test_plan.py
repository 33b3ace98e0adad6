import gzip
import json

import pytest
from typer.testing import CliRunner

from treewass_bench import plan
from treewass_bench.commands import app
from treewass_bench.datasets import PAPER_SETS


@pytest.fixture
def folder(tmp_path):
    """A data folder with the six sets, ten documents each."""
    splits = {}
    for name in PAPER_SETS:
        lines = []
        for number in range(10):
            document = {"text": f"word{number} tree", "label": "ab"[number % 2]}
            if name in ("ohsumed", "reuters"):
                document["split"] = "train" if number < 6 else "test"
            lines.append(json.dumps(document))
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines))
        splits[name] = {"train": [list(range(6))] * 5}
    with gzip.open(tmp_path / "splits.json.gz", "wt", encoding="utf-8") as file:
        json.dump(splits, file)
    (tmp_path / "stop_words.txt").write_text("the and")
    return tmp_path


def test_the_plan_has_no_cell_twice(folder):
    cells = plan.all_cells(folder)
    names = [(cell.benchmark, json.dumps(dict(cell.case), sort_keys=True)) for cell in cells]
    assert len(set(names)) == len(names)


@pytest.mark.data
def test_the_real_sets_fit_the_time_too():
    cells = plan.all_cells()
    assert _seconds(cells) < 6 * 3600
    assert 60 < _seconds(plan.quick_cells(cells)) < 600


def _seconds(cells):
    """How long cells take by their own account, two at a time but for those that must be alone."""
    return sum(cell.seconds / (1 if cell.alone else 2) for cell in cells)


def test_some_benchmarks_can_be_chosen(folder):
    cells = plan.all_cells(folder)
    assert {cell.benchmark for cell in plan.chosen_cells(cells, "accuracy")} == {"accuracy"}
    with pytest.raises(ValueError, match=r"benchmarks among .*accuracy.*, got magic"):
        plan.chosen_cells(cells, "magic")


def test_a_missing_folder_is_said_in_a_sentence(tmp_path):
    result = CliRunner().invoke(app, ["all", "--data", str(tmp_path / "nowhere")])
    assert result.exit_code != 0
    assert "is not a folder" in str(result.exception)


def test_the_command_measures_what_is_missing_and_writes_the_page(folder, tmp_path, monkeypatch):
    cells = plan.chosen_cells(plan.all_cells(folder), "accuracy")
    few = [cell for cell in cells if cell.case["method"] == "bow" and cell.case["split"] == 0]
    monkeypatch.setattr(plan, "all_cells", lambda data: few)
    output = tmp_path / "rows"
    command = ["all", "--data", str(folder), "--output", str(output), "--jobs", "1"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "6 of 6" in result.stderr
    assert "bag of words" in (output / "results.md").read_text()
    rows = (output / "accuracy.jsonl").read_text().splitlines(keepends=True)
    (output / "accuracy.jsonl").write_text("".join(rows[:2] + rows[3:]))
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "1 of 1" in result.stderr
    again = (output / "accuracy.jsonl").read_text().splitlines()
    assert json.loads(again[-1])["case"] == json.loads(rows[2])["case"]
    assert json.loads(again[-1])["measures"]["error_percent"] == json.loads(rows[2])["measures"]["error_percent"]


def test_a_folder_without_rows_has_no_page(tmp_path):
    result = CliRunner().invoke(app, ["page", "--output", str(tmp_path / "none")])
    assert "found none" in str(result.exception)
    assert not (tmp_path / "none").exists()
