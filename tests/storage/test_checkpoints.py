import json
from functools import partial

import numpy as np
import pytest

from tests.distances.cases import topics
from treewass.distances import act, document_pairs, rwmd, sinkhorn, wmd, wmd_neighbors
from treewass.storage.checkpoints import CheckpointFolder, PartStore, checkpoint_kind, compute_in_parts

KIND = checkpoint_kind("test of checkpoints", 1, "work.json")
DISTANCES = [wmd, rwmd, act, partial(sinkhorn, regularization=1.0)]


def folder_of(path, **description):
    return CheckpointFolder(path, KIND, {"seed": 0, **description})


def save(folder, step, best):
    arrays = {f"step-{step}": lambda: {"values": np.arange(step)}, f"best-{best}": lambda: {"values": np.arange(best)}}
    folder.save({"step": step, "best": best}, arrays)


def restore(state, arrays):
    return state["step"], arrays(f"step-{state['step']}")["values"].tolist(), arrays(f"best-{state['best']}")["values"]


def test_there_is_none_at_first_and_then_the_last_one(tmp_path):
    folder = folder_of(tmp_path / "work")
    assert folder.load(restore) is None
    save(folder, 1, 1)
    save(folder, 3, 1)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [
        "best-1.safetensors",
        "step-3.safetensors",
        "work.json",
    ]
    step, values, best = folder_of(tmp_path / "work").load(restore)
    assert (step, values, best.tolist()) == (3, [0, 1, 2], [0])


def test_files_of_the_checkpoint_before_are_kept(tmp_path):
    folder = folder_of(tmp_path)
    save(folder, 1, 1)
    before = (tmp_path / "best-1.safetensors").stat().st_mtime_ns
    save(folder, 2, 1)
    resumed = folder_of(tmp_path)
    resumed.load(restore)
    save(resumed, 3, 1)
    assert (tmp_path / "best-1.safetensors").stat().st_mtime_ns == before


def test_files_of_others_in_the_folder_stay(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"somebody else's")
    folder = folder_of(tmp_path)
    save(folder, 1, 1)
    save(folder, 2, 2)
    assert sorted(path.name for path in tmp_path.glob("*.safetensors")) == [
        "best-2.safetensors",
        "model.safetensors",
        "step-2.safetensors",
    ]


def test_a_checkpoint_of_other_work_is_refused(tmp_path):
    save(folder_of(tmp_path), 1, 1)
    with pytest.raises(ValueError, match=r"but these differ: seed, size\. Choose another folder"):
        CheckpointFolder(tmp_path, KIND, {"seed": 1, "size": 2}).load(restore)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: (path / "step-2.safetensors").unlink(),
        lambda path: (path / "step-2.safetensors").write_bytes(b""),
        lambda path: KIND.write(path, {"description": {"seed": 0}, "files": {}}),
        lambda path: KIND.write(path, {"description": {"seed": 0}, "step": 2, "best": 1, "files": 3}),
        lambda path: KIND.write(path, {"description": {"seed": 0}, "step": "/../../x", "best": 1, "files": {}}),
    ],
)
def test_a_damaged_checkpoint_is_refused(damage, tmp_path):
    save(folder_of(tmp_path), 2, 1)
    damage(tmp_path)
    with pytest.raises(ValueError, match=r"whole checkpoint in .*, but it is damaged: .*Remove the folder to start"):
        folder_of(tmp_path).load(restore)


def test_a_failed_save_leaves_the_checkpoint_before(tmp_path):
    folder = folder_of(tmp_path)
    save(folder, 1, 1)

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.save({"step": 2, "best": 1}, {"step-2": fail})
    assert folder_of(tmp_path).load(restore)[0] == 1
    assert json.loads((tmp_path / "work.json").read_text())["step"] == 1


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(document_pairs, "_MOST_ROWS", 4)


def fail_after(monkeypatch, calls):
    """Let the table of costs be computed so many times, then stop as Ctrl-C does."""
    compute, left = document_pairs.fill_costs, [calls]

    def limited(*arguments):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        compute(*arguments)

    monkeypatch.setattr(document_pairs, "fill_costs", limited)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("distance", DISTANCES)
def test_stored_parts_are_resumed(distance, tmp_path, monkeypatch):
    X, _, vectors = topics(n_documents=14)
    expected = distance(X, word_vectors=vectors)
    with monkeypatch.context() as patch:
        fail_after(patch, 10)
        with pytest.raises(KeyboardInterrupt):
            distance(X, word_vectors=vectors, checkpoint=tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("rows-*.safetensors"))) == 2
    with monkeypatch.context() as patch:
        fail_after(patch, 6)
        assert np.array_equal(distance(X, word_vectors=vectors, checkpoint=tmp_path / "parts"), expected)
    fail_after(monkeypatch, 0)
    assert np.array_equal(distance(X, word_vectors=vectors, checkpoint=tmp_path / "parts"), expected)


@pytest.mark.usefixtures("small_parts")
def test_stored_neighbours_are_resumed(tmp_path, monkeypatch):
    X, _, vectors = topics(n_documents=14)
    options = {"n_neighbors": 3, "word_vectors": vectors, "checkpoint": tmp_path / "parts"}
    expected = wmd_neighbors(X, **options)
    fail_after(monkeypatch, 0)
    found = wmd_neighbors(X, **options)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda X, vectors: (rwmd, X, {"word_vectors": vectors}),
        lambda X, vectors: (wmd, X[1:], {"word_vectors": vectors}),
        lambda X, vectors: (wmd, X, {"word_vectors": vectors + 1e-9}),
        lambda X, vectors: (wmd, X, {"word_vectors": vectors, "cost": "squared"}),
    ],
)
def test_parts_of_other_work_are_refused(change, tmp_path):
    X, _, vectors = topics(n_documents=5)
    wmd(X, word_vectors=vectors, checkpoint=tmp_path)
    distance, documents, options = change(X, vectors)
    with pytest.raises(ValueError, match="those of other documents, vectors or settings"):
        distance(documents, checkpoint=tmp_path, **options)


def test_folders_with_other_files_are_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="holds other files"):
        PartStore(tmp_path, "a", 4)
    (tmp_path / "parts.json").write_text("{")
    with pytest.raises(ValueError, match="Expected JSON"):
        PartStore(tmp_path, "a", 4)


def test_damaged_parts_are_refused(tmp_path):
    store = PartStore(tmp_path, "a", 2)
    store.save(0, {"values": np.arange(3.0)})
    with pytest.raises(ValueError, match="Expected 2 rows in"):
        store.load(0, 2)
    (tmp_path / "rows-0000000000.safetensors").write_bytes(b"\x00" * 4)
    with pytest.raises(ValueError, match="safetensors"):
        store.load(0, 2)


def test_a_write_that_fails_leaves_nothing(tmp_path):
    store = PartStore(tmp_path, "a", 2)
    with pytest.raises(TypeError, match="of kind object"):
        store.save(0, {"values": np.array([object()])})
    assert [file.name for file in tmp_path.iterdir()] == ["parts.json"]
    assert store.load(0, 2) is None


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_every_row(n_jobs):
    done = []
    found = compute_in_parts(
        lambda start, stop: {"rows": np.arange(start, stop)},
        7,
        block=2,
        n_jobs=n_jobs,
        processes=False,
        progress=done.append,
        store=None,
    )
    assert found["rows"].tolist() == list(range(7))
    assert sorted(done) == [1, 2, 2, 2]


@pytest.mark.parametrize("exchanged", [{"other": np.zeros((2, 3))}, {"distances": np.zeros((2, 4))}])
def test_a_part_with_other_arrays_is_refused(exchanged, tmp_path):
    def work(start, stop):
        return {"distances": np.zeros((stop - start, 3))}

    store = PartStore(tmp_path / "parts", "same", 2)
    store.save(2, exchanged)
    with pytest.raises(ValueError, match=r"those from rows 2 on differ from the first"):
        compute_in_parts(work, 6, block=2, n_jobs=1, processes=False, progress=lambda _: None, store=store)
