"""A disk that is full, and one that can only be read: real ones, in memory, where they can be mounted."""

import contextlib
import subprocess
import time

import pytest

from tests.serve.conftest import running
from treewass import DocumentModel
from treewass.serve import LiveModel, NewDocument

pytestmark = pytest.mark.soak
CAT = {"documents": [{"text": "a cat sleeps", "label": "cat"}]}


@pytest.fixture
def disk(fitted, tmp_path):
    """A disk of four megabytes with a model."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("a disk in memory cannot be mounted here")
    fitted.save(tmp_path / "model")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def fill(disk):
    with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def remount(disk, how):
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("n_writes", [0, 1])
def test_a_service_starts_reads_and_stops_on_a_full_disk(disk, n_writes, workers):
    with LiveModel(disk / "model") as live:
        for _ in range(n_writes):
            live.add([NewDocument("a cat sleeps", "cat")])
    fill(disk)
    with running(disk / "model", "--workers", workers) as (process, client):
        assert client.get("/api/model").json()["documents"] == 15 + n_writes
        answer = client.post("/api/documents", json=CAT)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
        assert client.post("/api/search", json={"texts": ["a cat"]}).status_code == 200
        (disk / "fill").unlink()
        assert client.post("/api/documents", json=CAT).status_code == 201
        fill(disk)
        assert client.get("/api/model").json()["documents"] == 16 + n_writes
    assert process.returncode == 0
    assert "Traceback" not in process.log
    (disk / "fill").unlink()
    with LiveModel(disk / "model") as live:
        assert len(live.current().index) == 16 + n_writes


def test_a_fold_on_a_full_disk_leaves_the_writes_where_they_are(disk):
    with LiveModel(disk / "model") as live:
        live.add([NewDocument("a cat sleeps", "cat")])
        fill(disk)
        with pytest.raises(OSError, match="No space left"):
            live.fold()
        assert (live.n_pending, len(live.current().index)) == (1, 16)
        (disk / "fill").unlink()
        assert live.fold() == 1
    assert len(DocumentModel.load(disk / "model").index_) == 16


def test_a_folder_that_can_only_be_read_is_served_unless_writes_wait(disk):
    remount(disk, "ro")
    with running(disk / "model") as (process, client):
        assert client.get("/api/model").json()["documents"] == 15
        assert client.post("/api/documents", json=CAT).status_code == 503
        time.sleep(4)  # in which it looks for another model some times
    assert process.log.count("the model is served, but nothing can be written") == 1
    remount(disk, "rw")
    with LiveModel(disk / "model") as live:
        live.add([NewDocument("a cat sleeps", "cat")])
    remount(disk, "ro")
    with pytest.raises(ValueError, match=r"1 writes to it wait in writes\.sqlite"):
        LiveModel(disk / "model")
    remount(disk, "rw")
