"""The command in a process of its own: signals, workers, hostile clients, kills."""

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest

from tests.serve import loaded
from tests.serve.conftest import TOKEN, running
from treewass import DocumentModel
from treewass.serve import LiveModel, NewDocument
from treewass.serve.journal import Journal
from treewass.serve.running import _opened
from treewass.serve.settings import MOST_BYTES

CAT = {"text": "a cat sleeps", "label": "cat"}


def add(client, text="a cat sleeps", key=None):
    answer = client.post("/api/documents", json={"documents": [{"text": text, "label": "cat"}], "key": key})
    assert answer.status_code == 201, answer.text
    return answer.json()["ids"][0]


def test_it_serves_stops_gracefully_and_leaves_the_writes_in_the_model(folder):
    with running(folder) as (process, client):
        assert client.get("/api/health").json()["status"] == "ok"
        assert client.get("/").status_code == 200
        assert add(client) == 15
        assert client.base_url.host == "127.0.0.1"
    assert process.returncode == 0
    assert "1 writes folded into the model" in process.log
    assert "POST /api/documents 201" in process.log
    assert DocumentModel.load(folder).neighbor(15).text == "a cat sleeps"


def test_a_disk_too_full_to_fold_leaves_the_writes_in_the_journal_and_serves_them(folder, monkeypatch, caplog):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with LiveModel(folder) as live:
        live.add([NewDocument("a cat sleeps", "cat")])
    with monkeypatch.context() as patch:
        patch.setattr("treewass.serve.live_model.save_contents", full)
        with _opened(folder) as live:
            assert len(live.current().index) == 16
            assert live.n_records == 1
    assert "1 writes stay in the journal, which could not be folded: [Errno 28] No space left" in caplog.text
    with _opened(folder) as live:
        assert (len(live.current().index), live.n_records) == (16, 0)


def serve_and(folder, action, workers=1):
    """Run a service in a process of its own that does something as soon as its address is known."""
    code = (
        "import os, signal, sys\n"
        "from treewass import DocumentModel\n"
        "from treewass.serve import Settings, run_service\n"
        "folder, workers = sys.argv[1], int(sys.argv[2])\n"
        f"run_service(folder, Settings(), port=0, workers=workers, announce=lambda _: {action})"
    )
    return subprocess.run(
        [sys.executable, "-c", code, folder, str(workers)], capture_output=True, encoding="utf-8", timeout=60
    )


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_signal_that_comes_before_the_first_request_stops_it(folder, workers):
    ended = serve_and(folder, "os.kill(os.getpid(), signal.SIGTERM)", workers)
    assert "stopped; 0 writes folded" in ended.stderr
    assert ended.returncode == 0


@pytest.mark.slow
def test_workers_that_cannot_start_end_the_service_with_an_error(folder):
    ended = serve_and(folder, "DocumentModel.load(folder).save(folder)", workers=2)
    assert "a worker cannot start, the service stops: Expected the model" in ended.stderr
    assert "OSError: A worker of the service could not start" in ended.stderr
    assert ended.returncode == 1


def test_without_a_token_nothing_can_be_written_and_a_second_service_is_refused(folder):
    with running(folder, token="") as (_, client):
        assert client.post("/api/documents", json={"documents": [CAT]}).status_code == 403
        with pytest.raises(AssertionError, match="Another service runs"), running(folder):
            pass


def test_hostile_clients_do_not_bring_it_down(folder):
    """A body of 100 MB, announced or not, half requests, and a thousand connections that say nothing."""
    with running(folder) as (process, client), contextlib.ExitStack() as stack:
        address = (client.base_url.host, client.base_url.port)

        def chunks():
            for _ in range(100):
                yield b" " * 1_000_000

        for body in (b" " * 100_000_000, chunks()):
            with contextlib.suppress(httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
                # the connection may be closed before all of it is sent: the log says what was answered
                assert client.post("/api/search", content=body).status_code == 413
        for head, body in (
            (b"Content-Length: 100000000", b""),
            (b"Transfer-Encoding: chunked", b"3d0900\r\n" + b" " * MOST_BYTES + b"\r\n1\r\n \r\n"),
        ):
            with socket.create_connection(address, timeout=30) as connection:
                connection.sendall(b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + b"\r\n\r\n" + body)
                assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")
        for number in range(1000):
            connection = stack.enter_context(socket.create_connection(address, timeout=10))
            if number % 3 == 0:
                connection.sendall(b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
            elif number % 3 == 1:
                connection.sendall(b"GET /api/hea")
        for _ in range(20):
            assert client.post("/api/search", json={"texts": ["a cat"]}).status_code == 200
        stack.close()
        for garbage in (b"\x00" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"A" * 1_000_000):
            with socket.create_connection(address, timeout=10) as connection, contextlib.suppress(OSError):
                connection.sendall(garbage)
                connection.recv(1000)
        assert client.get("/api/health").status_code == 200
    assert process.log.count("POST (unknown) 413") == 4


@pytest.mark.slow
def test_workers_follow_each_other(folder):
    with running(folder, "--workers", "2") as (process, client):
        workers = set()
        for number in range(200):
            if number < 10:
                acknowledged = add(client, f"a cat sleeps {number}")
            with httpx2.Client(base_url=client.base_url) as other:  # a new connection may reach the other worker
                metrics = other.get("/api/metrics").json()
                workers.add(metrics["worker"])
                assert metrics["documents"] == acknowledged + 1
            if number >= 10 and len(workers) == 2:
                break
        assert len(workers) == 2
        assert process.pid not in workers
    assert process.returncode == 0
    assert len(DocumentModel.load(folder).index_) == 25


@pytest.mark.slow
def test_a_worker_restarted_after_the_model_was_saved_anew_loses_no_write(folder):
    acknowledged = []
    with running(folder, "--workers", "2") as (process, client):
        worker = client.get("/api/metrics").json()["worker"]
        DocumentModel.load(folder).save(folder)
        os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            text = f"a cat sleeps {len(acknowledged)}"
            with contextlib.suppress(httpx2.TransportError), httpx2.Client(base_url=client.base_url) as other:
                other.headers = client.headers
                add(other, text)
                acknowledged.append(text)
            time.sleep(0.05)
        assert process.poll() == 1
    assert "it has been replaced since" in process.log
    assert acknowledged
    (path,) = folder.glob("journal-*.log")
    journal = Journal(path)
    written = [text for record in journal.read(journal.start)[0] for text in record.get("texts", ())]
    journal.close()
    assert set(acknowledged) <= set(written)


@pytest.mark.slow
def test_workers_end_with_the_service_that_was_killed(folder):
    with running(folder, "--workers", "2") as (process, client):
        add(client)
        worker = client.get("/api/metrics").json()["worker"]
        process.kill()
        process.wait()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and Path(f"/proc/{worker}").exists():
            time.sleep(0.1)
        assert not Path(f"/proc/{worker}").exists()
    with running(folder) as (_, client):
        assert client.get("/api/documents/15").json()["text"] == "a cat sleeps"


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "kills"), [(1, 40), (2, 10)])
def test_kills_lose_nothing_that_was_acknowledged_and_double_nothing(folder, workers, kills):
    """Writers go on while the service is killed at random; one that gets no answer asks again with its key."""
    moment = random.Random(workers)
    acknowledged: dict[str, int] = {}
    asked: dict[str, str] = {}
    removed: set[int] = set()
    for life in range(kills):
        with killable(folder, workers) as (address, kill):
            wrote = threading.Event()
            writers = [
                threading.Thread(target=write, args=(address, f"{life}-{number}", acknowledged, asked, removed, wrote))
                for number in range(3)
            ]
            for writer in writers:
                writer.start()
            assert wrote.wait(60)
            time.sleep(moment.random() * 0.25)
            kill()
            for writer in writers:
                writer.join()
    assert len(acknowledged) > 5 * kills
    with running(folder) as (_, client):
        for key, text in asked.items():  # those without an answer among them
            number = add(client, text, key)
            assert acknowledged.setdefault(key, number) == number
            answer = client.get(f"/api/documents/{number}")
            assert answer.status_code == 404 if number in removed else answer.json()["text"] == text
    model = DocumentModel.load(folder)
    texts = [model.neighbor(int(number)).text for number in model.index_.ids]
    assert len(texts) == len(set(texts))
    assert set(acknowledged.values()) - removed <= set(model.index_.ids.tolist())
    assert not removed & set(model.index_.ids.tolist())


@contextlib.contextmanager
def killable(folder, workers):
    """Run a service that will be killed: a fork of a process that has loaded everything, or the command."""
    if workers > 1:
        with running(folder, "--workers", str(workers)) as (process, client):
            client.get("/api/health")  # waits for a worker
            yield str(client.base_url), lambda: kill_all(process)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.serve.loaded"])
    addresses, told = context.Pipe(duplex=False)
    process = context.Process(target=loaded.serve, args=(folder, TOKEN, told))
    process.start()
    try:
        assert addresses.poll(60)
        yield addresses.recv(), process.kill
    finally:
        process.kill()
        process.join()


def kill_all(process):
    """Kill a service and its workers, in no order."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for number in random.sample([process.pid, *map(int, children)], len(children) + 1):
        os.kill(number, signal.SIGKILL)


def write(address, name, acknowledged, asked, removed, wrote):
    """Add documents, each under a key, and remove some, until the service is gone."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        contextlib.suppress(httpx2.TransportError),
        httpx2.Client(base_url=address, headers=headers, timeout=60) as client,
    ):
        for count in range(10_000):
            key = f"{name}-{count}"
            asked[key] = f"a cat sleeps {key}"
            acknowledged[key] = add(client, asked[key], key)
            wrote.set()
            if count % 5 == 4:
                number = acknowledged.pop(key)  # until it is known whether the removal came through, nothing is
                del asked[key]
                assert client.delete(f"/api/documents/{number}").status_code == 200
                acknowledged[key], asked[key] = number, f"a cat sleeps {key}"
                removed.add(number)
