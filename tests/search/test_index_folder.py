import json
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.faults import files_of_at_most
from tests.search.segment_kinds import KINDS, assert_kind, use_kind
from tests.search.test_index import random_metric
from treewass import TreeIndex
from treewass.documents.synthetic import make_documents
from treewass.learners import bow_metric
from treewass.search import index_folder
from treewass.search.held_documents import documents_of
from treewass.search.segments import ARRAYS, Segment
from treewass.storage import manifests
from treewass.storage.manifests import ManifestKind, manifest_hash

OLD_ARRAYS = {name: kinds for name, kinds in ARRAYS.items() if name not in ("tiles", "starts")}

WAYS = [{"mmap": True}, {"mmap": True, "verify": True}, {"mmap": False}]


@pytest.fixture(params=KINDS)
def index(request, monkeypatch):
    """An index of two segments, one document of each removed, one without a known word."""
    use_kind(monkeypatch, request.param)
    counts, _ = make_documents(130, n_words=60, words_per_document=6, random_state=0)
    made = TreeIndex(random_metric(60, seed=0, lengths=True, masses=True, n_trees=2))
    made.add(counts[:100])
    made.add(counts[100:] * 0.3)
    made.remove([3, 110])
    assert len(made._snapshot.segments) == 2
    assert_kind(made, request.param)
    return made


@pytest.fixture
def folder(index, tmp_path):
    index.save(tmp_path / "index")
    return tmp_path / "index"


def queries():
    return make_documents(20, n_words=60, words_per_document=6, random_state=1)[0]


def assert_equal(one, other):
    assert one.metric == other.metric
    assert np.array_equal(one.ids, other.ids)
    for first, second in zip(one.search(queries(), 200), other.search(queries(), 200), strict=True):
        assert np.array_equal(first, second)


@pytest.mark.parametrize("way", WAYS)
def test_round_trip(index, folder, way):
    again = TreeIndex.load(folder, **way)
    assert_equal(index, again)
    assert np.array_equal(again.distances(queries()[:1])[0], index.distances(queries()[:1])[0])
    again.remove(again.ids[::2])
    added = again.add(queries())
    assert added[0] == 130
    assert_equal(index, TreeIndex.load(folder, **way))


def test_empty_index(tmp_path):
    TreeIndex(random_metric(5, seed=0)).save(tmp_path / "empty")
    assert len(TreeIndex.load(tmp_path / "empty", verify=True)) == 0


def test_saving_again_replaces_the_index_and_its_files(index, folder):
    mapped = TreeIndex.load(folder)
    before = index.search(queries(), 9)
    index.remove(index.ids[:50])
    index.save(folder)
    assert_equal(index, TreeIndex.load(folder, verify=True))
    assert len(list(folder.glob("*.safetensors"))) == 1 + len(index._snapshot.segments)
    assert np.array_equal(mapped.search(queries(), 9)[1], before[1])


def test_a_crash_while_saving_leaves_the_old_index(index, folder, monkeypatch):
    changed = TreeIndex.load(folder)
    changed.add(queries())

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(manifests, "manifest_hash", crash)
    with pytest.raises(KeyboardInterrupt):
        changed.save(folder)
    monkeypatch.undo()
    assert_equal(index, TreeIndex.load(folder, verify=True))


def test_another_process_opens_it(index, folder):
    code = f"""
import sys
from treewass import TreeIndex
from treewass.documents.synthetic import make_documents
index = TreeIndex.load({str(folder)!r})
queries = make_documents(20, n_words=60, words_per_document=6, random_state=1)[0]
sys.stdout.write(str(index.search(queries, 5)[1].tolist()))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == str(index.search(queries(), 5)[1].tolist())


def segment_files(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    return [folder / entry["file"] for entry in manifest["segments"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cut", [2, 1000])
def test_truncated_files_are_refused(folder, way, cut):
    for path in folder.iterdir():
        whole = path.read_bytes()
        path.write_bytes(whole[:-cut])
        with pytest.raises(ValueError, match=r"damaged|cannot be read"):
            TreeIndex.load(folder, **way)
        path.unlink()
        with pytest.raises(ValueError, match=r"is missing|has no manifest"):
            TreeIndex.load(folder, **way)
        path.write_bytes(whole)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use", [lambda index: index.search(queries(), 3), len, documents_of, lambda index: index.ids])
def test_any_flipped_byte_is_found_before_the_first_answer(folder, way, use):
    random = np.random.default_rng(0)
    for path in folder.iterdir():
        whole = path.read_bytes()
        for place in random.integers(0, len(whole), 5):
            changed = bytearray(whole)
            changed[place] ^= 1 << random.integers(0, 8)
            path.write_bytes(changed)
            if path.suffix == ".json" and _same_json(changed, whole):
                continue
            with pytest.raises(ValueError, match="Expected"):
                use(TreeIndex.load(folder, **way))
        path.write_bytes(whole)


def test_a_damaged_index_is_refused_again_and_again(folder):
    path = segment_files(folder)[0]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    index = TreeIndex.load(folder)
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"Expected {path.name} in .* as it was written, but its hash differs"):
            index.search(queries(), 3)


def test_an_index_that_is_replaced_before_its_first_use_still_answers(index, folder):
    expected = index.search(queries(), 9)
    mapped = TreeIndex.load(folder)
    index.remove(index.ids[:50])
    index.save(folder)
    assert np.array_equal(mapped.search(queries(), 9)[1], expected[1])


def _same_json(one, other):
    """White space is free."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def change_manifest(folder, **changes):
    manifest = {**json.loads((folder / "manifest.json").read_text()), **changes}
    manifest["sha256"] = manifest_hash(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def as_before_version_4(segment):
    """The arrays that differed: pieces of dense rows, a directory of every feature and tile, and weights as float32."""
    directory = segment.entries(np.arange(segment.directory.size)).ravel()
    are_whole = segment.weights.dtype.kind == "u"
    weights = segment.weights.astype(np.float32) if are_whole else segment.weights
    return {"dense": in_pieces(segment), "directory": directory, "weights": weights}


def in_pieces(segment):
    """Dense rows as before version 5: (tiles, pieces, rows, piece), several pieces in a narrow segment of one tile."""
    n_tiles, n_rows, tile = segment.dense.shape
    piece = 64 if segment.is_narrow and n_tiles == 1 else tile
    return np.ascontiguousarray(segment.dense.reshape(n_tiles, n_rows, -1, piece).transpose(0, 2, 1, 3))


def test_an_index_of_version_4_is_read(index, tmp_path, monkeypatch):
    expected, dense = index.search(queries(), 7), [segment.dense for segment in index._snapshot.segments]
    for segment in index._snapshot.segments:
        if segment.has_counts:
            segment.lists.get(index.metric, segment)  # made while dense rows are whole
        vars(segment)["dense"] = in_pieces(segment)
    with monkeypatch.context() as patch:
        patch.setattr(index_folder, "_KIND", replace(index_folder._KIND, versions=(4,)))
        index_folder.save_index(tmp_path / "old", index.metric, index._snapshot)
    for way in WAYS:
        old = TreeIndex.load(tmp_path / "old", **way)
        for segment, rows in zip(old._snapshot.segments, dense, strict=True):
            assert np.array_equal(segment.dense, rows)
        for found, before in zip(old.search(queries(), 7), expected, strict=True):
            assert np.array_equal(found, before)


def test_an_index_of_version_3_is_read(index, tmp_path, monkeypatch):
    expected = index.search(queries(), 7)
    for segment in index._snapshot.segments:
        if segment.has_counts:
            segment.lists.get(index.metric, segment)  # made before the directory is another one
        vars(segment).update(as_before_version_4(segment))
    with monkeypatch.context() as patch:
        patch.setattr(index_folder, "_KIND", replace(index_folder._KIND, versions=(3,)))
        patch.setattr(index_folder, "ARRAYS", OLD_ARRAYS)
        index_folder.save_index(tmp_path / "old", index.metric, index._snapshot)
    for way in WAYS:
        old = TreeIndex.load(tmp_path / "old", **way)
        assert "float32" in {segment.weights.dtype.name for segment in old._snapshot.segments}
        for found, before in zip(old.search(queries(), 7), expected, strict=True):
            assert np.array_equal(found, before)
        old.save(tmp_path / "new")
        assert np.array_equal(TreeIndex.load(tmp_path / "new", verify=True).search(queries(), 7)[1], expected[1])


def test_an_old_directory_of_another_size_is_refused(index, tmp_path, monkeypatch):
    if index._snapshot.segments[0].dense.shape[0] == 1:
        pytest.skip("that of a single tile is the same")
    for segment in index._snapshot.segments:
        vars(segment)["directory"] = as_before_version_4(segment)["directory"][:-1]
    with monkeypatch.context() as patch:
        patch.setattr(index_folder, "_KIND", replace(index_folder._KIND, versions=(3,)))
        patch.setattr(index_folder, "ARRAYS", OLD_ARRAYS)
        patch.setattr(Segment, "has_counts", False)
        index_folder.save_index(tmp_path / "old", index.metric, index._snapshot)
    with pytest.raises(ValueError, match="Expected directory of kind int64 and shape"):
        TreeIndex.load(tmp_path / "old")


def test_an_index_of_version_1_is_read(index, tmp_path, monkeypatch):
    """In version 1 dense rows had no pieces: (tiles, rows, tile)."""
    for segment in index._snapshot.segments:
        vars(segment).update(as_before_version_4(segment), dense=segment.dense)
    with monkeypatch.context() as patch:
        patch.setattr(index_folder, "_KIND", replace(index_folder._KIND, versions=(1,)))
        patch.setattr(index_folder, "ARRAYS", OLD_ARRAYS)
        patch.setattr(Segment, "has_counts", False)  # there were no lists of words
        index_folder.save_index(tmp_path / "old", index.metric, index._snapshot)
    for way in WAYS:
        old = TreeIndex.load(tmp_path / "old", **way)
        again = TreeIndex(index.metric)
        again.add(documents_of(old), ids=old.ids)
        assert np.array_equal(old.search(queries(), 7)[1], again.search(queries(), 7)[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 0}, "version 1 or 2 or 3 or 4 or 5, got version 0"),
        ({"version": 6}, "version 1 or 2 or 3 or 4 or 5, got version 6"),
        ({"format": "treewass model"}, "describes something else"),
        ({"next_id": 5}, "unique ids below 5"),
        ({"fraction_bits": 60}, "fraction_bits between"),
        ({"metric": "nothing.safetensors"}, "32 hexadecimal digits"),
        ({"metric": None}, "metric as the name of a file, got None"),
        ({"metric": "0" * 32 + ".safetensors"}, "the same files listed and used"),
        ({"segments": []}, "the same files listed and used"),
        ({"segments": [{"file": "0" * 32 + ".safetensors", "shift": 0}]}, "the same files listed and used"),
        ({"segments": 3}, "a list of segments, got 3"),
        ({"segments": {}}, "a list of segments, got {}"),
        ({"segments": [{}]}, "a list of segments"),
        ({"segments": [{"file": "0" * 32 + ".safetensors", "shift": "0"}]}, "a list of segments"),
        ({"files": []}, r"files with bytes and sha256, got \[\]"),
        ({"files": {"0" * 32 + ".safetensors": {"bytes": "1", "sha256": ""}}}, "files with bytes and sha256"),
        ({"next_id": "x"}, "next_id from 0"),
        ({"next_id": -1}, "next_id from 0"),
        ({"next_id": 2**63 + 1}, "next_id from 0"),
        ({"next_id": True}, "next_id from 0"),
        ({"fraction_bits": "22"}, "fraction_bits as a whole number"),
    ],
)
def test_manifests_of_another_kind_are_refused(folder, changes, message):
    change_manifest(folder, **changes)
    with pytest.raises(ValueError, match=message):
        TreeIndex.load(folder)


@pytest.mark.parametrize("absolute", [False, True])
def test_files_outside_the_folder_are_not_opened(folder, absolute):
    """Even if they are what the manifest says."""
    old = segment_files(folder)[0]
    (folder.parent / "other").mkdir()
    moved = old.rename(folder.parent / "other" / old.name)
    name = str(moved) if absolute else f"../other/{old.name}"
    changed = json.loads((folder / "manifest.json").read_text().replace(old.name, name))
    change_manifest(folder, **changed)
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        TreeIndex.load(folder)


def test_the_largest_id_can_be_saved(tmp_path):
    index = TreeIndex(random_metric(5, seed=0))
    index.add([[1, 0, 0, 0, 2]], ids=[2**63 - 1])
    index.save(tmp_path / "index")
    assert TreeIndex.load(tmp_path / "index", verify=True).ids.tolist() == [2**63 - 1]


def test_a_manifest_changed_by_hand_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["segments"][0]["shift"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="its hash differs"):
        TreeIndex.load(folder)


def rewrite(path, folder, change):
    """Change the arrays of a file and describe it anew, as a careless program would."""
    arrays = {name: array.copy() for name, array in load_file(path).items()}
    change(arrays)
    save_file(arrays, path)
    manifest = json.loads((folder / "manifest.json").read_text())
    described = index_folder._store(path.parent, arrays, {})
    for name in list(manifest["files"]):
        if name == path.name:
            manifest["files"].pop(name)
    text = json.dumps(manifest).replace(path.name, described)
    manifest = json.loads(text)
    content = (folder / described).read_bytes()
    import hashlib

    manifest["files"][described] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["sha256"] = manifest_hash(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def swap(first, second):
    def change(arrays):
        arrays[first], arrays[second] = arrays[second], arrays[first]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap("ids", "document_bounds"), "shape|kind"),
        (swap("words", "weights"), "kind"),
        (swap("dense", "postings"), "kind|shape"),
        (lambda arrays: arrays.pop("norms"), "Expected the arrays"),
        (lambda arrays: arrays.update(held=arrays["held"][:-1]), "held of shape"),
        (lambda arrays: arrays.update(directory=arrays["directory"][:-1]), "directory of shape"),
        (lambda arrays: arrays.update(dense=arrays["dense"][..., :-1].copy()), "multiple of 64"),
        (lambda arrays: arrays.update(dense=arrays["dense"][0].copy()), "tiles, rows, tile"),
        (lambda arrays: arrays.update(dense=arrays["dense"].astype(np.float32)), "dense of kind"),
        (
            lambda arrays: arrays.update(words=arrays["words"][:-1], weights=arrays["weights"][:-1]),
            "end with their words",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused_without_verifying(folder, change, message):
    rewrite(segment_files(folder)[0], folder, change)
    with pytest.raises(ValueError, match=message):
        TreeIndex.load(folder)


def put(name, place, value):
    def change(arrays):
        if name == "weights":
            arrays[name] = arrays[name].astype(np.float32)
        arrays[name].reshape(-1)[place] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("ids", 1, 0), "ascending ids"),
        (put("document_bounds", 5, 10**6), "document_bounds that ascend"),
        (put("directory", slice(None), 3 << 14), "one after the other"),
        (lambda arrays: arrays.update(postings=arrays["postings"][:-1]), "as many postings"),
        (put("words", 0, 60), "words from 0 to 59"),
        (put("words", 1, 0), "ascending words"),
        (put("weights", 0, np.nan), "finite weights"),
        (put("directory", 0, ~(10**6)), "rows that exist"),
        (put("norms", 0, -1), "norms from 0"),
        (put("norms", 3, 5), "not held"),
        (put("postings", 0, 2**32 - 1), "places from 0"),
    ],
)
def test_numbers_out_of_range_are_found_by_verifying(folder, change, message, index):
    if message.startswith("places") and not index._snapshot.segments[0].is_narrow:
        change = put("postings", 0, 2**63)
    rewrite(segment_files(folder)[0], folder, change)
    with pytest.raises(ValueError, match=message):
        TreeIndex.load(folder, verify=True)


@pytest.mark.parametrize("name", ["norms", "dense", "postings"])
def test_numbers_of_other_documents_are_found_by_verifying(folder, name):
    def change(arrays):
        array = arrays[name].reshape(-1)
        array[np.flatnonzero(array)[1]] ^= 1

    rewrite(segment_files(folder)[0], folder, change)
    TreeIndex.load(folder).search(queries(), 3)
    with pytest.raises(ValueError, match=f"Expected {name} as the documents and the metric give it"):
        TreeIndex.load(folder, verify=True)


def test_lists_of_other_documents_are_found_by_verifying(folder):
    """Two counts of one document that are exchanged leave every sum as it is."""

    def change(arrays):
        places, counts = arrays["list_places"], arrays["list_counts"]
        for place in range(100):
            entries = np.flatnonzero(places == place)
            differing = entries[counts[entries] != counts[entries[0]]]
            if differing.size:
                swapped = [entries[0], differing[0]]
                counts[swapped] = counts[swapped[::-1]]
                return

    rewrite(segment_files(folder)[0], folder, change)
    TreeIndex.load(folder).search(queries(), 3)
    with pytest.raises(ValueError, match="lists of words"):
        TreeIndex.load(folder, verify=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("parents.0", 3, 5), "come after its parent"),
        (put("parents.1", 0, 0), "root at node 0"),
        (put("edge_lengths.0", 1, -1.0), "non-negative edge_lengths"),
        (put("word_nodes.0", 1, 99), "nodes between 0 and"),
        (put("masses", 1, np.inf), "masses"),
        (lambda arrays: arrays.pop("masses"), "lacks something"),
    ],
)
def test_broken_metrics_are_refused(folder, change, message):
    manifest = json.loads((folder / "manifest.json").read_text())
    rewrite(folder / manifest["metric"], folder, change)
    with pytest.raises(ValueError, match=message):
        TreeIndex.load(folder)


def test_folders_without_an_index_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no manifest\.json"):
        TreeIndex.load(tmp_path)
    with pytest.raises(ValueError, match="the folder of an index, but there is none at"):
        TreeIndex.load(tmp_path / "nothing")
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        TreeIndex(random_metric(5, seed=0)).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("manifest", ['{"manifest_version": 3}', "[]", "not JSON", '{"format": "treewass model"}'])
def test_files_of_another_program_stay(tmp_path, manifest):
    contents = {"manifest.json": manifest, "model.safetensors": "weights", "0" * 32 + ".safetensors": "more"}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"nothing is written.*(describes something else|cannot be read)"):
        TreeIndex(random_metric(5, seed=0)).save(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == contents


def test_saving_removes_the_index_before_and_what_killed_saves_left(index, folder):
    old = {path.name for path in segment_files(folder)}
    others = {"model.safetensors", "letter.txt"}
    killed = {"0" * 32 + ".safetensors", ".treewass-" + "a" * 32 + ".safetensors", ".tmpAb12cD"}
    for name in others | killed:
        (folder / name).write_text("mine")
    (folder.parent / "outside.safetensors").write_text("mine")
    manifest = json.loads((folder / "manifest.json").read_text())
    change_manifest(folder, files={**manifest["files"], "../outside.safetensors": {}, "model.safetensors": {}})
    index.remove(index.ids[:50])
    index.save(folder)
    names = {path.name for path in folder.iterdir()}
    assert others <= names
    assert not killed & names
    assert not old & (names - {path.name for path in segment_files(folder)})
    assert (folder.parent / "outside.safetensors").exists()
    assert_equal(index, TreeIndex.load(folder, verify=True))


def test_a_crash_in_the_first_save_does_not_spoil_the_folder(index, tmp_path, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(manifests, "manifest_hash", crash)
    with pytest.raises(KeyboardInterrupt):
        index.save(tmp_path)
    monkeypatch.undo()
    assert any(tmp_path.iterdir())
    assert not list(tmp_path.glob(".treewass-*"))
    killed = [f".treewass-{'0' * 32}.safetensors", f".treewass-{'0' * 32}.json", ".tmpAb12cD"]
    for name in killed:
        (tmp_path / name).write_text("half a fi")
    index.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    assert_equal(index, TreeIndex.load(tmp_path, verify=True))


def test_writes_that_fail_are_told_of_and_leave_no_temporaries(index, tmp_path):
    index.save(tmp_path / "whole")
    longest = max(path.stat().st_size for path in (tmp_path / "whole").iterdir())
    with files_of_at_most(longest // 2), pytest.raises(OSError, match=r"File too large: '.*index'"):
        index.save(tmp_path / "index")
    assert not list((tmp_path / "index").glob(".*"))
    index.save(tmp_path / "index")
    assert_equal(index, TreeIndex.load(tmp_path / "index", verify=True))


def small_indexes():
    """Four indexes of one metric and of 10, 20, 30 and 40 documents."""
    counts, _ = make_documents(100, n_words=20, words_per_document=6, random_state=0)
    made = []
    for number in range(1, 5):
        made.append(TreeIndex(random_metric(20, seed=0)))
        made[-1].add(counts[: 10 * number])
    return made


def test_threads_that_save_and_load_at_once_see_whole_indexes(tmp_path):
    path, failures, done, sizes = tmp_path / "index", [], threading.Event(), set()

    def attempt(work):
        try:
            work()
        except (ValueError, OSError) as error:
            failures.append(error)

    def load():
        while not done.is_set():
            if (path / "manifest.json").exists():
                sizes.add(len(TreeIndex.load(path, verify=True)))

    savers = [
        threading.Thread(target=attempt, args=(lambda index=index: [index.save(path) for _ in range(15)],))
        for index in small_indexes()
    ]
    loader = threading.Thread(target=attempt, args=(load,))
    for thread in (*savers, loader):
        thread.start()
    for thread in savers:
        thread.join()
    done.set()
    loader.join()
    assert not failures
    assert sizes <= {10, 20, 30, 40}
    assert len(list(path.iterdir())) == 3
    assert len(TreeIndex.load(path, verify=True)) in {10, 20, 30, 40}


def test_loading_begins_again_if_the_index_is_replaced(tmp_path, monkeypatch):
    first, second, *_ = small_indexes()
    first.save(tmp_path / "index")
    read = ManifestKind.read

    def read_and_replace(kind, path):
        manifest = read(kind, path)
        monkeypatch.undo()
        second.save(path)
        return manifest

    monkeypatch.setattr(ManifestKind, "read", read_and_replace)
    assert len(TreeIndex.load(tmp_path / "index")) == 20


DAMAGES = {
    "directory": [-1 << 63, (1 << 63) - 1, ~(10**9), 10**9 << 14 | 5, (1 << 14) - 1],
    "document_bounds": [-1 << 63, (1 << 63) - 1, -1, 10**12],
    "norms": [0, -1, 2**31 - 2, -1 << 31],
    "words": [-1, 2**31 - 1],
    "weights": [np.nan, -1.0, np.inf],
    "postings": [2**32 - 1],
    "dense": [2**15],
    "tiles": [0, 1, 2**16 - 1],
    "starts": [0, 2**32 - 1],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in DAMAGES for value in DAMAGES[name]])
def test_damage_that_is_not_looked_for_does_not_crash_a_search(folder, index, name, value):
    path = segment_files(folder)[0]
    arrays = load_file(path)
    last = -1 if name == "document_bounds" else None
    rewrite(path, folder, put(name, slice(None, last), value if name == "weights" else arrays[name].dtype.type(value)))
    damaged = TreeIndex.load(folder)
    for k in (1, 200):
        assert damaged.search(queries(), k)[1].shape[0] == 20
    assert len(damaged.within(queries(), 1e3)[1]) == 20
    damaged.distances(queries()[:1])
    damaged.distances(queries()[:1], ids=damaged.ids[:5])


def test_padding_is_never_a_neighbour(folder, index):
    """Norms of places that only fill up the last tile are not believed."""
    path = segment_files(folder)[0]
    n_documents = load_file(path)["ids"].size
    rewrite(path, folder, put("norms", slice(n_documents, None), 0))
    changed = TreeIndex.load(folder)
    assert_equal(index, changed)
    for found, expected in zip(changed.within(queries(), 1e3)[1], index.within(queries(), 1e3)[1], strict=True):
        assert np.array_equal(found, expected)


def test_truth_values_other_than_0_and_1_are_refused(folder):
    path = segment_files(folder)[0]
    arrays = load_file(path)
    rewrite(path, folder, lambda made: made.update(held=np.full(arrays["held"].size, 7, np.uint8).view(bool)))
    with pytest.raises(ValueError, match="zeros and ones"):
        TreeIndex.load(folder)


def test_a_document_added_while_the_files_are_checked_stays(tmp_path):
    index = TreeIndex(bow_metric(3))
    index.add([[1, 1, 0]])
    index.save(tmp_path / "index")
    loaded = TreeIndex.load(tmp_path / "index")
    snapshot, check = vars(loaded)["_opened"]
    checks = []

    def check_slowly():
        checks.append(check())
        if len(checks) == 1:  # another thread is faster, and adds
            loaded.add([[0, 1, 1]])

    vars(loaded)["_opened"] = snapshot, check_slowly
    assert len(loaded) == 2
    assert loaded.ids.tolist() == [0, 1]
