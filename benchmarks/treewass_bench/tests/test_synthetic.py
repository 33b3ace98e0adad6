import pickle

import numpy as np
import pytest

from treewass.documents.synthetic import INSTRUMENTS
from treewass.trees import Tree, TreeMetric, from_json
from treewass_bench import synthetic
from treewass_bench.cells import run_cells
from treewass_bench.drawing import draw_tree, panels
from treewass_bench.synthetic import (
    SYNTHETIC_METHODS,
    TREE_METHODS,
    draw_instruments,
    instrument_split,
    synthetic_cells,
    synthetic_markdown,
)

from .stored_rows import SYNTHETIC


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Vectors of all instruments but two, and small corpora."""
    monkeypatch.setattr(synthetic, "_DOCUMENTS", 200)
    instrument_split.cache_clear()
    words = [word for word in INSTRUMENTS if word not in ("contrabass", "harpsichord")]
    vectors = np.random.RandomState(0).normal(size=(len(words), 20))
    np.savez(tmp_path / "word_vectors.npz", words=np.array(words), vectors=vectors)
    yield tmp_path
    instrument_split.cache_clear()


def test_seeds_draw_other_documents_with_true_labels():
    split = instrument_split(3)
    assert split.words.tolist() == sorted(INSTRUMENTS)
    assert split.X_train.shape == split.X_test.shape == (1000, 10)
    for counts, labels in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        telling = np.isin(split.words, ("piano", "violin"))
        assert np.array_equal(counts.toarray()[:, telling].any(axis=1), labels != "without")
    assert (instrument_split(4).X_train != split.X_train).nnz


def test_every_method_gives_an_error_and_trees_are_kept(folder):
    rows = list(run_cells(synthetic_cells(folder, seeds=1)))
    errors = {row.case["method"]: row.measures for row in rows if row.case["measure"] == "error"}
    assert list(errors) == list(SYNTHETIC_METHODS)
    assert errors["stw"]["error_percent"] < 3 < errors["tsw-1"]["error_percent"]
    assert all(measures["nearest_error_percent"] <= 20 for measures in errors.values())
    missing = {name: measures["words_without_vector"] for name, measures in errors.items()}
    assert missing["flowtree"] == missing["quadtree"] == "contrabass harpsichord"
    assert missing["stw"] == missing["profile"] == ""
    trees = {row.case["method"]: row.measures for row in rows if row.case["measure"] == "tree"}
    assert list(trees) == list(TREE_METHODS)
    places = dict(
        zip(str(trees["stw"]["words"]).split(), from_json(trees["stw"]["tree"]).trees[0].word_nodes, strict=True)
    )
    assert places["piano"] == places["violin"]
    assert places["piano"] not in {node for word, node in places.items() if word not in ("piano", "violin")}


def test_cells_go_to_other_processes(folder):
    cell = synthetic_cells(folder, seeds=1)[0]
    assert pickle.loads(pickle.dumps(cell)).measure() == cell.measure()


def test_errors_stand_below_the_published_ones():
    written = synthetic_markdown(SYNTHETIC)
    assert written.splitlines()[:5] == [
        "| test error in % | Quadtree | STW |",
        "|---|---|---|",
        "| published | 0.3 | 0.0 |",
        "| ours, fall-back vote from k = 19 | 3.0 ± 1.0 | 0.0 ± 0.0 |",
        "| ours, nearest neighbour alone | 1.5 ± 0.5 | 0.0 ± 0.0 |",
    ]
    assert "over 2 corpora" in written
    assert "lacks contrabass and harpsichord" in written


def test_missing_words_are_only_named_where_there_are_some():
    assert "lacks" not in synthetic_markdown([row for row in SYNTHETIC if row.case["method"] == "stw"])


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_rows_give_the_same_trees(tmp_path, ending):
    for name in "ab":
        draw_instruments(SYNTHETIC, tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_a_tree_that_is_missing_is_left_out(tmp_path):
    draw_instruments([row for row in SYNTHETIC if row.case["method"] != "tsw-1"], tmp_path / "two.svg")
    draw_instruments(SYNTHETIC, tmp_path / "three.svg")
    assert 0 < (tmp_path / "two.svg").stat().st_size < (tmp_path / "three.svg").stat().st_size


def test_every_word_with_mass_is_named_at_its_distance_from_the_root():
    _, (ax,) = panels(1, 1, (4, 3))
    tree = Tree([-1, 0, 0], [1.0, 2.0, 1.0], [1, 1, 0, 0], [0.5, 1.5, 1.0, 1.0])
    draw_tree(ax, TreeMetric(tree, [1.0, 1.0, 1.0, 0.0]), ["cello", "violin", "flute", "lur"], telling=["violin"])
    *names, left_out = ax.texts
    places = {name.get_text(): name.xy for name in names}
    assert {word: place[0] for word, place in places.items()} == {"violin": 3.5, "cello": 2.5, "flute": 1.0}
    assert len({place[1] for place in places.values()}) == 3
    assert left_out.get_text() == "without a vector: lur"
    low, high = ax.get_ylim()
    assert all(low < place[1] < high for place in places.values())
