from pathlib import Path

import pytest

from treewass_bench.rows import RowFiles
from treewass_bench.scale import scale_cells
from treewass_bench.scale_order import measure_order
from treewass_bench.scale_shards import measure_actors, measure_collection, remove_shards
from treewass_bench.scale_tables import paper_table, scale_tables
from treewass_bench.tests.stored_rows import row

ROOT = Path(__file__).parents[3]
COLLECTION = {
    "one query, 1 thread(s), ms": 60.0,
    "one query, 2 thread(s), ms": 40.0,
    "batch, 1 thread(s), queries/s": 25.0,
    "batch, 2 thread(s), queries/s": 50.0,
    "build, µs a document": 36.0,
    "searched bytes a document": 1000.0,
    "file bytes a document": 1200.0,
}


def test_pages_show_what_the_stored_rows_give():
    page, decisions = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("guide/scale.md", "decisions.md")
    )
    *tables, order = scale_tables(RowFiles(ROOT / "benchmarks/rows").rows("scale"))
    for table, place in (*((table, page) for table in tables), (order, decisions)):
        assert table in place, "run python -m treewass_bench scale-tables, and put its tables into the two pages"


def test_paper_is_the_formula_of_the_page():
    collection = row("scale", COLLECTION, part="collection", documents=10**7, shards=16)
    actors = row("scale", {"overhead a query, ms": 4.0}, part="actors", documents=10**7, shards=16, workers=2)
    cells = [[one.strip() for one in line.split("|")[1:-1]] for line in paper_table(collection, actors).splitlines()]
    assert cells[2] == ["10⁷", "10 GB", "12 GB", "1", "0.060 s", "5.0 ms", "400", "0.10 h", "0.38 min"]
    # 9 machines: 6 s / (144 cores × 60 / 80) + 9 × 2 ms; 144 / 4 s; 36 000 s
    assert cells[4] == ["10⁹", "1000 GB", "1200 GB", "9", "6.0 s", "74 ms", "36", "10 h", "4.2 min"]


def test_rows_that_are_missing_are_named():
    with pytest.raises(ValueError, match="Expected rows of bytes, threads, order, collection, actors"):
        scale_tables([])


def test_cases_are_those_asked_for(tmp_path):
    named = [cell.case["part"] for cell in scale_cells(["threads", "actors"], 1000, 2, tmp_path)]
    assert named == ["threads", "actors"]


def test_shards_are_built_once_and_removed(tmp_path):
    said = []
    first = measure_collection(600, 2, tmp_path / "shards", said.append)
    assert [line for line in said if line.startswith("building")] == [
        "building shard 1 of 2, 300 documents each",
        "building shard 2 of 2, 300 documents each",
    ]
    said.clear()
    again = measure_collection(600, 2, tmp_path / "shards", said.append)
    assert again["build, µs a document"] is None
    assert not any(line.startswith("building") for line in said)
    assert again["file bytes a document"] == first["file bytes a document"]
    remove_shards(tmp_path / "shards")
    assert not (tmp_path / "shards").exists()


@pytest.mark.slow
def test_workers_answer_as_this_process(tmp_path):
    pytest.importorskip("distributed")
    assert measure_actors(600, 3, tmp_path)["same answers"] is True


def test_an_order_by_branches_leaves_out_blocks_of_topical_documents():
    drawn, ordered = (measure_order("generated", 5000, "profile learner", order) for order in ("drawn", "branches"))
    assert drawn["bytes a document"] == ordered["bytes a document"]
    assert ordered["blocks of 64 to visit, %"] < drawn["blocks of 64 to visit, %"] <= 100
