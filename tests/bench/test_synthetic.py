import pickle

import numpy as np
import pytest

from treewass.bench import synthetic
from treewass.bench.cells import run_cells
from treewass.bench.synthetic import SYNTHETIC_METHODS, TREE_METHODS, instrument_split, synthetic_cells
from treewass.documents.instruments import INSTRUMENTS
from treewass.trees import from_json


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
