from functools import partial

import numpy as np
import pytest

from tests.distances.cases import topics
from treewass.distances import act, rwmd, sinkhorn, wmd, wmd_neighbors
from treewass.distances import matrices as module
from treewass.distances.parts import PartStore, compute_in_parts, show_progress

DISTANCES = [wmd, rwmd, act, partial(sinkhorn, regularisation=1.0)]


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 4)


def fail_after(monkeypatch, calls):
    """Let the table of costs be computed so many times, then stop as Ctrl-C does."""
    compute, left = module.fill_costs, [calls]

    def limited(*arguments):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        compute(*arguments)

    monkeypatch.setattr(module, "fill_costs", limited)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("distance", DISTANCES)
def test_stored_parts_are_resumed(distance, tmp_path, monkeypatch):
    X, _, vectors = topics(n_documents=14)
    expected = distance(X, word_vectors=vectors)
    with monkeypatch.context() as patch:
        fail_after(patch, 10)
        with pytest.raises(KeyboardInterrupt):
            distance(X, word_vectors=vectors, store=tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("rows-*.safetensors"))) == 2
    with monkeypatch.context() as patch:
        fail_after(patch, 6)
        assert np.array_equal(distance(X, word_vectors=vectors, store=tmp_path / "parts"), expected)
    fail_after(monkeypatch, 0)
    assert np.array_equal(distance(X, word_vectors=vectors, store=tmp_path / "parts"), expected)


@pytest.mark.usefixtures("small_parts")
def test_stored_neighbours_are_resumed(tmp_path, monkeypatch):
    X, _, vectors = topics(n_documents=14)
    options = {"n_neighbors": 3, "word_vectors": vectors, "store": tmp_path / "parts"}
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
    wmd(X, word_vectors=vectors, store=tmp_path)
    distance, documents, options = change(X, vectors)
    with pytest.raises(ValueError, match="those of other documents, vectors or settings"):
        distance(documents, store=tmp_path, **options)


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
    with pytest.raises(Exception, match="object"):
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


def test_the_bar_goes_to_standard_error(capsys):
    with show_progress("documents", 2, verbose=True) as advance:
        advance(2)
    printed = capsys.readouterr()
    assert not printed.out
    assert "2/2" in printed.err


@pytest.mark.parametrize("exchanged", [{"other": np.zeros((2, 3))}, {"distances": np.zeros((2, 4))}])
def test_a_part_with_other_arrays_is_refused(exchanged, tmp_path):
    def work(start, stop):
        return {"distances": np.zeros((stop - start, 3))}

    store = PartStore(tmp_path / "parts", "same", 2)
    store.save(2, exchanged)
    with pytest.raises(ValueError, match=r"those from rows 2 on differ from the first"):
        compute_in_parts(work, 6, block=2, n_jobs=1, processes=False, progress=lambda _: None, store=store)
