import gzip
import json

import numpy as np
import pytest

from treewass_bench.trees import bench_trees

WORDS = [f"{consonant}{vowel}" for consonant in "bcdfghklmnprst" for vowel in "aeiou"]


@pytest.fixture
def folder(tmp_path):
    random = np.random.RandomState(0)
    for name in ("twitter", "amazon"):
        lines = [json.dumps({"text": " ".join(random.choice(WORDS, 9)), "label": "ab"[row % 2]}) for row in range(60)]
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines))
    with gzip.open(tmp_path / "splits.json.gz", "wt", encoding="utf-8") as file:
        json.dump({name: {"train": [list(range(40))]} for name in ("twitter", "amazon")}, file)
    (tmp_path / "stop_words.txt").write_text("a an")
    np.savez(tmp_path / "word_vectors.npz", words=np.array(WORDS[:-3]), vectors=random.normal(size=(67, 6)))
    return tmp_path


def test_rows_compare_trees_flows_and_building(folder):
    rows = list(bench_trees(quick=True, folder=folder))
    assert [(row.case["measure"], row.case["method"]) for row in rows] == [
        *[("query", "quadtree"), ("query", "tsw-1"), ("flowtree", "flowtree")] * 2,
        ("build", "quadtree"),
    ]
    for row in rows:
        assert row.measures["ratio"] > 0
    flows = [row.measures["cost_over_exact"] for row in rows if row.case["measure"] == "flowtree"]
    assert min(flows) >= 1
