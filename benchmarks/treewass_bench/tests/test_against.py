import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import treewass
from treewass import TreeIndex, TreeMetric
from treewass.documents import make_documents
from treewass_bench import against
from treewass_bench.commands import app
from treewass_bench.speed_rivals import random_metric
from treewass_bench.version_worker import Searches

OWN = Path(treewass.__file__).resolve().parents[1]


@pytest.fixture
def case(monkeypatch):
    """One small case in the place of all, and few rounds."""
    counts, _ = make_documents(60, n_words=50, words_per_document=8, random_state=0)
    metric = random_metric(50)
    named = {"measure": "one query, 500 documents", "tree": "random", "data": "small"}
    monkeypatch.setattr(against, "_cases", lambda quick, folder: iter([(named, metric, counts[:50], counts[50:], 5)]))
    monkeypatch.setattr(against, "_ROUNDS", 3)


def test_a_version_beside_itself_gives_the_same_answers(case):
    row, mean = against.bench_against(OWN)
    assert row.case["data"] == "small"
    assert row.measures["same_answers"] is True
    assert 0 < row.measures["ratio_low"] <= row.measures["ratio"] <= row.measures["ratio_high"]
    assert mean.measures["ratio"] == row.measures["ratio"]


def test_another_version_is_told_by_its_folder(case, tmp_path):
    with pytest.raises(ValueError, match="Expected a folder with the package treewass"):
        list(against.bench_against(tmp_path))
    result = CliRunner().invoke(app, ["speed", "--against", str(OWN), "--json"])
    assert [json.loads(line)["benchmark"] for line in result.stdout.splitlines()] == ["against"] * 2


def test_a_version_that_answers_otherwise_is_found_out(case, tmp_path):
    package = tmp_path / "treewass"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import numpy\n"
        "class Tree:\n    def __init__(self, *parts): pass\n"
        "class TreeMetric:\n    def __init__(self, trees, masses, fraction_bits): pass\n"
        "class TreeIndex:\n"
        "    def __init__(self, metric): pass\n"
        "    def add(self, documents): pass\n"
        "    def search(self, query, k): return numpy.zeros((1, k)), numpy.zeros((1, k), dtype=numpy.int64)\n"
    )
    row, _ = against.bench_against(tmp_path)
    assert row.measures["same_answers"] is False


def test_the_worker_builds_the_same_metric(tmp_path):
    counts, _ = make_documents(30, n_words=50, words_per_document=8, random_state=0)
    masses = np.linspace(0.5, 2, 50)
    metric = TreeMetric([random_metric(50, seed).trees[0] for seed in (0, 1)], masses)
    against._write_case(tmp_path / "case.npz", metric, counts[:20], counts[20:])
    own = TreeIndex(metric)
    own.add(counts[:20])
    searches = Searches(str(tmp_path / "case.npz"), 3)
    for row, query in enumerate(searches._queries):
        for found, expected in zip(searches._index.search(query, 3), own.search(counts[[20 + row]], 3), strict=True):
            assert np.array_equal(found, expected)
    assert len(searches.times(2)) == 2


@pytest.fixture
def sets(tmp_path):
    random = np.random.RandomState(0)
    for name in ("twitter", "amazon"):
        texts = [" ".join(random.choice([f"word{word}" for word in range(30)], 6)) for _ in range(40)]
        rows = [{"text": text, "label": "ab"[row % 2]} for row, text in enumerate(texts)]
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(json.dumps(row) for row in rows))
    with gzip.open(tmp_path / "splits.json.gz", "wt", encoding="utf-8") as file:
        json.dump({name: {"train": [list(range(30))]} for name in ("twitter", "amazon")}, file)
    (tmp_path / "stop_words.txt").write_text("a")
    return tmp_path


def test_quick_cases_are_two_sets_and_small_collections(sets):
    cases = list(against._cases(True, sets))
    assert [case[0]["data"] for case in cases] == [
        *("twitter", "twitter", "amazon", "amazon"),
        *("1000 documents", "1000 documents", "10000 documents", "10000 documents"),
    ]
    for _, metric, documents, queries, k in cases:
        assert documents.shape[1] == queries.shape[1] == metric.trees[0].n_words
        assert k in (10, 19)
