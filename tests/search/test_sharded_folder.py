"""An index in shards in a folder: all parts, or an error that names what is missing."""

import json
import shutil

import numpy as np
import pytest

from treewass import ShardedIndex, TreeIndex, TreeMetric
from treewass.documents.synthetic import make_documents
from treewass.trees import star_tree

COUNTS, _ = make_documents(130, n_words=40, words_per_document=6, random_state=0)


@pytest.fixture
def index():
    made = ShardedIndex([TreeIndex(TreeMetric(star_tree(40))) for _ in range(3)])
    made.add(COUNTS[:100])
    made.remove([7, 60])
    return made


@pytest.fixture
def folder(index, tmp_path):
    index.save(tmp_path / "index")
    return tmp_path / "index"


def parts_of(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [folder / manifest["data"] / part for part in manifest["parts"]]


def assert_same_answers(found, index):
    for one, other in ((found.search(COUNTS), index.search(COUNTS)), (found.rank(COUNTS), index.rank(COUNTS))):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])
    assert found.next_id == index.next_id


@pytest.mark.parametrize("options", [{}, {"mmap": False}, {"verify": True, "n_jobs": 2}])
def test_loaded_it_answers_as_before(index, folder, options):
    loaded = ShardedIndex.load(folder, **options)
    assert loaded.shards[0].metric is loaded.shards[2].metric
    assert_same_answers(loaded, index)
    for both in (loaded, index):
        both.add(COUNTS[100:])
        both.remove([3, 100])
    assert_same_answers(loaded, index)


def test_every_part_is_an_index(index, folder):
    parts = [TreeIndex.load(part) for part in parts_of(folder)]
    assert_same_answers(ShardedIndex(parts[::-1]), index)


def test_saving_replaces_and_removes_what_was_there(index, folder):
    killed = folder / f"data-{'0' * 32}"
    killed.mkdir()
    (killed / "half").write_text("written")
    index.remove([0])
    index.save(folder)
    assert_same_answers(ShardedIndex.load(folder), index)
    assert len(list(folder.iterdir())) == 2


def test_a_part_that_vanished_is_named(folder):
    shutil.rmtree(parts_of(folder)[1])
    with pytest.raises(ValueError, match=r"all 3 parts of the index in .*, but some are missing: index-1\. Put"):
        ShardedIndex.load(folder)


def test_a_part_of_another_index_is_refused(index, folder, tmp_path):
    other = ShardedIndex.from_index(index, 3)
    other.save(tmp_path / "other")
    shutil.rmtree(parts_of(folder)[1])
    shutil.copytree(parts_of(tmp_path / "other")[0], parts_of(folder)[1])
    with pytest.raises(ValueError, match=r"manifest.json"):
        ShardedIndex.load(folder)


def test_a_changed_byte_is_found_before_the_first_answer(folder):
    file = max(parts_of(folder)[2].glob("*.safetensors"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    loaded = ShardedIndex.load(folder)
    with pytest.raises(ValueError, match="its hash differs: it is damaged"):
        loaded.search(COUNTS)
    with pytest.raises(ValueError, match="its hash differs: it is damaged"):
        ShardedIndex.load(folder, verify=True)


def test_other_folders_are_refused(index, folder, tmp_path):
    with pytest.raises(ValueError, match="there is none at"):
        ShardedIndex.load(tmp_path / "nothing")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="holds other files"):
        index.save(tmp_path / "own")
    with pytest.raises(ValueError, match="describes something else"):
        TreeIndex.load(folder)
    with pytest.raises(ValueError, match="describes something else"):
        ShardedIndex.load(parts_of(folder)[0])


@pytest.mark.parametrize("change", [{"parts": []}, {"parts": ["../x"]}, {"data": "data-1"}, {"files": {}}])
def test_manifests_of_another_kind_are_refused(folder, change):
    from treewass.storage.manifests import manifest_hash

    path = folder / "manifest.json"
    manifest = {**json.loads(path.read_text(encoding="utf-8")), **change}
    path.write_text(json.dumps({**manifest, "sha256": manifest_hash(manifest)}), encoding="utf-8")
    with pytest.raises(ValueError, match="list the parts of an index: it is damaged"):
        ShardedIndex.load(folder)
