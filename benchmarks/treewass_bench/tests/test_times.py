import gzip
import json
import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

from treewass.distances import wmd
from treewass_bench.cells import Cell
from treewass_bench.commands import app
from treewass_bench.methods import METHODS
from treewass_bench.rows import RowFiles, case_key
from treewass_bench.time_forms import grown_tree, load_timed_set, ready
from treewass_bench.times import QUERIED, measure_batch, measure_query, time_cells

WORDS = [f"{consonant}{vowel}" for consonant in "bcdfghklmnprst" for vowel in "aeiou"]
COVERED = WORDS[:-3]
SLOW = ("swmd", "wmd", "rwmd", "profile", "minilm")  # to compile or to load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    random = np.random.RandomState(0)
    texts = [" ".join(random.choice(WORDS[row % 2 * 20 :][:50], 9)) for row in range(160)]
    with gzip.open(path / "pets.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(json.dumps({"text": text, "label": "ab"[row % 2]}) for row, text in enumerate(texts)))
    with gzip.open(path / "splits.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"pets": {"train": [list(range(130))]}}, file)
    (path / "stop_words.txt").write_text("a an")
    np.savez(path / "word_vectors.npz", words=np.array(COVERED), vectors=random.normal(size=(len(COVERED), 6)))
    return str(path)


def test_cells_have_names_of_their_own_and_can_be_sent_to_another_process(folder):
    cells = time_cells(folder, ["pets"])
    assert len({case_key(cell.case) for cell in cells}) == len(cells)
    assert all(cell.alone and cell.benchmark == "time" for cell in cells)
    assert len(pickle.loads(pickle.dumps(cells))) == len(cells)


def test_batches_above_the_training_documents_are_left_out(folder):
    cells = [cell.case for cell in time_cells(folder, ["pets"]) if cell.case.get("form") == "index"]
    own = [case["batch"] for case in cells if case["method"] == "quadtree"]
    assert own == [100, "all"]
    depths = [(case["batch"], case["depth"]) for case in cells if case["method"] == "stw"]
    assert depths == [(100, 5), ("all", 5), (500, 3), (500, 4)]


def test_every_method_of_the_query_rows_is_in_the_registry():
    assert set(QUERIED) <= set(METHODS)


@pytest.mark.parametrize(("method", "depth"), [("quadtree", None), ("tsw-5", 4), ("stw", 2)])
def test_forms_of_a_tree_give_the_distances_of_its_metric(folder, method, depth):
    timed = load_timed_set("pets", folder)
    metric, _ = grown_tree("pets", folder, method, depth)
    some, query = timed.documents[:40], timed.queries[0]
    expected = metric.pairwise(query, some)[0]
    for form in ("index", "compiled merge", "SciPy", *(["dense torch"] if metric.n_components == 1 else [])):
        answer, seconds = ready("pets", folder, method, form, depth, some)
        found = answer(query)[0] if form == "index" else answer(query)
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4 * expected.max()), form
        assert seconds > 0


def test_word_movers_give_their_distances(folder):
    timed = load_timed_set("pets", folder)
    some, query = timed.documents[:5], timed.queries[0]
    exact = wmd(query, some, word_vectors=timed.vectors)
    answers = {
        (method, form): ready("pets", folder, method, form, None, some)[0](query)
        for method, form in (("wmd", "exact"), ("wmd-sinkhorn", "Sinkhorn"), ("flowtree", "flows"))
    }
    assert np.array_equal(answers["wmd", "exact"], exact)
    assert (answers["wmd-sinkhorn", "Sinkhorn"] >= exact - 1e-9).all()
    assert (answers["flowtree", "flows"] >= exact - 1e-9).all()


def test_times_are_for_500_documents(folder):
    measures = measure_batch("pets", folder, "quadtree", "index", 100, None, 0.2)
    assert measures["documents"] == 100
    assert measures["queries"] == len(load_timed_set("pets", folder).queries) == 30
    assert measures["ms_for_500"] == pytest.approx(5 * measures["query_ms"], rel=1e-2)
    whole = measure_batch("pets", folder, "quadtree", "index", "all", None, 0.0)
    assert (whole["documents"], whole["queries"], whole["rounds"]) == (130, 2, 1)


@pytest.mark.parametrize("method", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in QUERIED])
def test_every_method_answers_one_query(folder, method):
    measures = measure_query("pets", folder, method)
    assert measures["query_ms"] > 0
    assert measures["documents"] == 130


def _letters():
    return {"query_ms": 4.0, "queries": 100}


def test_command_measures_and_stores(folder, tmp_path, monkeypatch):
    case = {"measure": "one query, whole training set", "set": "pets", "method": "stw"}
    monkeypatch.setattr("treewass_bench.times.time_cells", lambda data, sets: [Cell("time", case, _letters, "once")])
    output = tmp_path / "time.jsonl"
    arguments = ["batch", "--sets", "pets", "--data", folder, "--output", str(output)]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["case"] == case
    assert "1 of 1" in result.stderr
    assert RowFiles(output).find("time", case).measures == _letters()
    table = CliRunner().invoke(app, ["batch", "--table", str(output)])
    assert "| STW, **treewass** | 4.00 |" in table.stdout


def test_command_says_which_sets_there_are(folder):
    result = CliRunner().invoke(app, ["batch", "--sets", "cats", "--data", folder])
    assert result.exit_code != 0
    assert "Expected one of the sets pets, got 'cats'" in str(result.exception) + result.output
