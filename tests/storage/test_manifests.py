import json
import os
import re

import pytest

from treewass.storage.manifests import ManifestKind, are_described, check_file, describe_file, manifest_hash
from treewass.storage.tensors import read_tensors

KIND = ManifestKind("a list", "list of numbers", (1, 2), "Write it again.")
OURS = re.compile(r"part-\d")


def change(folder, **changes):
    path = folder / KIND.file
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_what_was_written_is_read(tmp_path):
    assert not KIND.exists(tmp_path)
    KIND.write(tmp_path, {"numbers": [1, 2]})
    manifest = KIND.read(tmp_path)
    assert (manifest["format"], manifest["version"], manifest["numbers"]) == ("list of numbers", 2, [1, 2])
    assert KIND.exists(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_older_versions_are_read(tmp_path):
    ManifestKind("a list", "list of numbers", (1,), "Write it again.").write(tmp_path, {})
    assert KIND.read(tmp_path)["version"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"Expected a list in .*, but it has no manifest\.json\."),
        ("{", r"but it is damaged\. Expected JSON in manifest\.json, which cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ('{"a":' * 60 + "0" + "}" * 60, "nested more than 50 levels deep"),
        ('{"format": NaN}', "NaN is no number"),
        ('{"length": 1e999}', "1e999 is no number"),
        ("[]", "describes something else"),
        ('{"format": "list of words"}', "describes something else"),
        ('{"format": "list of numbers"}', "version 1 or 2, got version None in .*Write it again"),
        ('{"format": "list of numbers", "version": 3, "treewass": "9.0"}', "written by treewass 9.0. Write it again"),
        ('{"format": "list of numbers", "version": 1}', "its hash differs: it is damaged. Write it again"),
    ],
)
def test_anything_else_is_refused(content, message, tmp_path):
    if content is not None:
        (tmp_path / KIND.file).write_text(content)
    with pytest.raises(ValueError, match=message):
        KIND.read(tmp_path)


def test_a_folder_that_is_not_there_and_bytes_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"the folder of a list, but there is none at .*; check the path"):
        KIND.read(tmp_path / "none")
    (tmp_path / KIND.file).write_bytes(b"\xff\xfe{}")
    with pytest.raises(ValueError, match="cannot be read"):
        KIND.read(tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / KIND.file)
    with pytest.raises(ValueError, match=r"Expected a file at .*manifest\.json, but it is a .* pipe or a device"):
        KIND.read(tmp_path)
    os.mkfifo(tmp_path / "part")
    for read in (describe_file, lambda path: read_tensors(path, mmap=True)):
        with pytest.raises(ValueError, match="a pipe or a device"):
            read(tmp_path / "part")


def test_reading_begins_again_if_the_folder_is_replaced(tmp_path):
    KIND.write(tmp_path, {"file": "old"})
    seen = []

    def load(manifest):
        seen.append(manifest["file"])
        if manifest["file"] == "old":
            KIND.write(tmp_path, {"file": "new"})
            raise FileNotFoundError(2, "No such file", "old")
        return manifest["file"]

    assert KIND.read_listed(tmp_path, load) == "new"
    assert seen == ["old", "new"]


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (FileNotFoundError(2, "No such file", "somewhere/part-0"), "the whole of a list in .*, but part-0 is missing"),
        (ValueError("Expected sense."), "Expected sense"),
    ],
)
def test_a_folder_that_stays_damaged_is_refused(problem, message, tmp_path):
    KIND.write(tmp_path, {})

    def load(_):
        raise problem

    with pytest.raises(ValueError, match=message):
        KIND.read_listed(tmp_path, load)


def test_folders_with_something_else_are_not_written_to(tmp_path):
    assert KIND.refuse_others(tmp_path, OURS) is None
    (tmp_path / "part-0").touch()
    (tmp_path / f".treewass-{'0' * 32}.json").touch()
    assert KIND.refuse_others(tmp_path, OURS) is None
    (tmp_path / "letter.txt").touch()
    with pytest.raises(ValueError, match=r"holds other files: \['letter\.txt'\]"):
        KIND.refuse_others(tmp_path, OURS)
    KIND.write(tmp_path, {"numbers": []})
    change(tmp_path, version=99)
    assert KIND.refuse_others(tmp_path, OURS)["numbers"] == []
    change(tmp_path, format="another")
    with pytest.raises(ValueError, match=r"nothing is written to .* describes something else"):
        KIND.refuse_others(tmp_path, OURS)


def test_the_hash_covers_everything_but_itself():
    assert manifest_hash({"a": 1, "b": 2}) == manifest_hash({"b": 2, "a": 1, "sha256": "x"})
    assert manifest_hash({"a": 1}) != manifest_hash({"a": 2})


def test_files_are_known_by_size_and_hash(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"four")
    described = describe_file(path)
    assert are_described({"file": described})
    assert not are_described({"file": {**described, "bytes": "4"}})
    assert not are_described([described])
    check_file(path, described)
    path.write_bytes(b"five")
    check_file(path, described, hashed=False)
    with pytest.raises(ValueError, match="its hash differs"):
        check_file(path, described)
    path.write_bytes(b"three")
    with pytest.raises(ValueError, match="Expected 4 bytes in file, got 5"):
        check_file(path, described, hashed=False)
