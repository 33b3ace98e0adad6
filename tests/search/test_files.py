import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.search.test_index import random_metric
from treewass import TreeIndex
from treewass.documents.synthetic import make_documents
from treewass.search import files, segments
from treewass.search.files import _manifest_hash

WAYS = [{"mmap": True}, {"mmap": True, "verify": True}, {"mmap": False}]


@pytest.fixture(params=["whole values", "16 bits"])
def index(request, monkeypatch):
    """An index of two segments, one document of each removed, one without a known word."""
    if request.param == "16 bits":
        monkeypatch.setattr(segments, "WIDE_LIMIT", 0)
    counts, _ = make_documents(130, n_words=60, words_per_document=6, random_state=0)
    made = TreeIndex(random_metric(60, seed=0, lengths=True, masses=True, n_trees=2))
    made.add(counts[:100])
    made.add(counts[100:] * 0.3)
    made.remove([3, 110])
    assert len(made._snapshot.segments) == 2
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

    monkeypatch.setattr(files, "_manifest_hash", crash)
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
        with pytest.raises(ValueError, match=r"cannot be read|lacks something"):
            TreeIndex.load(folder, **way)
        path.write_bytes(whole)


def test_any_flipped_byte_is_found_by_verifying(folder):
    random = np.random.default_rng(0)
    for path in folder.iterdir():
        whole = path.read_bytes()
        for place in random.integers(0, len(whole), 15):
            changed = bytearray(whole)
            changed[place] ^= 1 << random.integers(0, 8)
            path.write_bytes(changed)
            if path.suffix == ".json" and _same_json(changed, whole):
                continue
            with pytest.raises(ValueError, match=r"damaged|cannot be read|describes something else|version"):
                TreeIndex.load(folder, verify=True)
        path.write_bytes(whole)


def _same_json(one, other):
    """White space is free."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def change_manifest(folder, **changes):
    manifest = {**json.loads((folder / "manifest.json").read_text()), **changes}
    manifest["sha256"] = _manifest_hash(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version 1, got version 2"),
        ({"format": "treewass model"}, "describes something else"),
        ({"next_id": 5}, "unique ids below 5"),
        ({"fraction_bits": 60}, "fraction_bits between"),
        ({"metric": "nothing.safetensors"}, "lacks something"),
        ({"segments": [{"file": "nothing.safetensors", "shift": 0}]}, "lacks something"),
        ({"segments": 3}, "lacks something"),
        ({"files": {}, "segments": [{}]}, "lacks something"),
    ],
)
def test_manifests_of_another_kind_are_refused(folder, changes, message):
    change_manifest(folder, **changes)
    with pytest.raises(ValueError, match=message):
        TreeIndex.load(folder)


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
    described = files._store(path.parent, arrays, {})
    for name in list(manifest["files"]):
        if name == path.name:
            manifest["files"].pop(name)
    text = json.dumps(manifest).replace(path.name, described)
    manifest = json.loads(text)
    content = (folder / described).read_bytes()
    import hashlib

    manifest["files"][described] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["sha256"] = _manifest_hash(manifest)
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
        (lambda arrays: arrays.update(dense=arrays["dense"][:, :, :-1].copy()), "multiple of 64"),
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
    with pytest.raises(ValueError, match="cannot be read"):
        TreeIndex.load(tmp_path)
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        TreeIndex(random_metric(5, seed=0)).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
