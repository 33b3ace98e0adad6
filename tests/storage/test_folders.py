import subprocess
import sys
import threading

import pytest

from treewass import DocumentModel
from treewass.search import ShardedIndex
from treewass.storage import folders
from treewass.storage.folders import alone, replacing, temporary

HOLD = """
import sys
from pathlib import Path
from treewass.storage.folders import alone
with alone(Path(sys.argv[1])):
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with replacing(path) as written:
        written.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")

    def write():
        with replacing(path) as written:
            written.write_text("ne")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_temporary_names_differ_and_go(tmp_path):
    with temporary(tmp_path, "txt") as one, temporary(tmp_path, "txt") as other:
        assert one != other
        one.touch()
    assert not list(tmp_path.iterdir())


def hold(path):
    """Hold a lock in another process until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_one_process_and_one_thread_saves_at_a_time(tmp_path):
    order = []

    def save(name):
        with alone(tmp_path):
            order.append(f"{name} begins")
            order.append(f"{name} ends")

    with hold(tmp_path) as other:
        threads = [threading.Thread(target=save, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        threads[0].join(0.2)
        assert not order
        other.stdin.close()
        for thread in threads:
            thread.join()
    assert [entry.split()[1] for entry in order] == ["begins", "ends"] * 3
    assert not list(tmp_path.iterdir())


def test_an_interrupted_wait_for_the_lock_is_an_interrupt(tmp_path, monkeypatch):
    def interrupted(descriptor, taken):
        raise KeyboardInterrupt

    monkeypatch.setattr(folders, "_lock", interrupted)
    with pytest.raises(KeyboardInterrupt), folders.alone(tmp_path):
        pass
    assert not folders._HELD


def test_a_link_to_nothing_is_named(tmp_path):
    link = tmp_path / "model"
    link.symlink_to(tmp_path / "gone")
    for name in (link, link / "inside"):
        with pytest.raises(ValueError, match=r"but \S*model is a link to nothing\. Choose another name\."):
            folders.make_folder(name)


def test_a_model_and_an_index_are_not_saved_over_a_file(tmp_path):
    path = tmp_path / "tickets.csv"
    path.write_text("text,label\n")
    model = DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], ["cat", "dog"])
    index = ShardedIndex.from_index(model.index_, 2)
    for save in (model.save, model.index_.save, index.save):
        for name in (path, path / "model"):
            with pytest.raises(ValueError, match=r"Expected a folder to save to, but \S*tickets\.csv is a file\."):
                save(name)
    assert path.read_text() == "text,label\n"
