import json

import numpy as np
import pytest
from typer.testing import CliRunner

from treewass.documents import AlignedVectors, make_documents
from treewass_bench import word_mover as module
from treewass_bench.commands import app
from treewass_bench.rows import Row
from treewass_bench.word_mover import WordMoverSet, bench_word_mover


@pytest.fixture
def generated(monkeypatch):
    """Small generated documents in place of the text sets."""

    def load(name, number, data):
        counts, labels = make_documents(60, n_words=80, words_per_document=6, random_state=number)
        vectors = AlignedVectors(np.random.RandomState(0).randn(80, 5), np.ones(80, bool), ())
        words = np.array([f"w{word}" for word in range(80)], dtype=object)
        labels = np.array([str(label) for label in labels])
        return WordMoverSet(words, vectors, counts[:40], labels[:40], counts[40:], labels[40:])

    monkeypatch.setattr(module, "load_word_mover_set", load)
    smaller = {"_GENSIM_SETS": ("twitter",), "_GENSIM_DOCUMENTS": 4, "_BOUND_QUERIES": 6, "_SAMPLED": 5}
    for name, value in smaller.items():
        monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("generated")
def test_rows_hold_ratios_and_agreement():
    result = CliRunner().invoke(app, ["wmd", "--json", "--cases", "gensim,bounds,neighbors"])
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    kinds = {row["case"]["case"] for row in rows}
    assert len(kinds) == 3
    assert all(row["measures"]["ratio"] > 0 for row in rows)
    differences = [row["measures"]["largest_difference"] for row in rows if "calls" in row["case"]]
    assert max(differences) < 1e-5
    assert [row["measures"]["same_answers"] for row in rows if "same_answers" in row["measures"]] == [True]


def test_unknown_cases_are_refused():
    with pytest.raises(ValueError, match="Expected cases among gensim, bounds, neighbors, got speed"):
        next(bench_word_mover(["speed"]))


def test_stored_rows_become_tables(tmp_path):
    rows = [
        Row("wmd", {"case": "exact", "set": "reuters"}, {"ratio": 3.456, "same_answers": True}, "", environment={}),
        Row("wmd", {"case": "exact", "set": "twitter"}, {"ratio": 2345.6}, "", environment={}),
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(row.to_json() for row in rows))
    shown = CliRunner().invoke(app, ["wmd", "--table", str(tmp_path / "rows.jsonl")]).output
    assert "### exact" in shown
    assert "| set | ratio | same answers |" in shown
    assert "| reuters | 3.46 | True |" in shown
    assert "| twitter | 2346 |  |" in shown
