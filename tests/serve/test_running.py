"""The command in a process of its own: signals, workers, hostile clients, kills."""

import contextlib
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

import httpx2
import pytest

from tests.serve import loaded
from tests.serve.conftest import TOKEN, running
from treewass import DocumentModel
from treewass.serve.running import file_system
from treewass.serve.service_settings import MOST_BYTES

CAT = {"text": "a cat sleeps", "label": "cat"}
SECONDS = 120  # within which a busy machine does what takes one second on another


def add(client, text="a cat sleeps", key=None):
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = client.post("/api/documents", json={"documents": [{"text": text, "label": "cat"}]}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()["ids"][0]


def worker_of(answer):
    """The process that answered, which its request ids begin with."""
    return int(answer.headers["X-Request-ID"].split("-")[0])


def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount():
    mounts = "/dev/a / ext4 rw 0 0\nhost:/x /mnt/my\\040share nfs4 rw 0 0\ntmpfs /mnt/my\\040share/local tmpfs rw 0 0\n"
    assert file_system(Path("/mnt/my share/model"), mounts) == "nfs4"
    assert file_system(Path("/mnt/my share/local/model"), mounts) == "tmpfs"
    assert file_system(Path("/mnt/my shared"), mounts) == "ext4"
    assert file_system(Path("/mnt"), "") == ""


def test_it_serves_stops_gracefully_and_leaves_the_writes_in_the_model(folder):
    with running(folder) as (process, client):
        assert client.get("/api/health").json()["status"] == "ok"
        assert client.get("/").status_code == 200
        assert add(client) == 15
        assert client.base_url.host == "127.0.0.1"
    assert process.returncode == 0
    assert "1 write folded into the model" in process.log
    assert "POST /api/documents 201" in process.log
    assert re.search(r"loading \S+; the first start on a machine compiles loops", process.log)
    assert DocumentModel.load(folder).document(15).text == "a cat sleeps"


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
        [sys.executable, "-c", code, folder, str(workers)], capture_output=True, encoding="utf-8", timeout=SECONDS
    )


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_signal_that_comes_before_the_first_request_stops_it(folder, workers):
    ended = serve_and(folder, "os.kill(os.getpid(), signal.SIGTERM)", workers)
    assert "folded" not in ended.stderr
    assert ended.returncode == 0


@pytest.mark.slow
def test_workers_that_cannot_start_end_the_service_with_an_error(folder):
    ended = serve_and(folder, "os.remove(folder + '/manifest.json')", workers=2)
    assert "a worker cannot start, the service stops: Expected a model" in ended.stderr
    assert "OSError: A worker of the service could not start" in ended.stderr
    assert ended.returncode == 1


def test_without_a_token_nothing_can_be_written_and_a_second_service_follows_the_first(folder):
    with running(folder, token="") as (_, client):
        assert client.post("/api/documents", json={"documents": [CAT]}).status_code == 403
        with running(folder) as (_, other):
            number = add(other)
            assert client.get(f"/api/documents/{number}").json()["text"] == "a cat sleeps"


def test_hostile_clients_do_not_bring_it_down(folder):
    """A body of 20 MB, announced or not, half requests, and a thousand connections that say nothing."""
    with running(folder) as (process, client), contextlib.ExitStack() as stack:
        address = (client.base_url.host, client.base_url.port)

        def chunks():
            for _ in range(20):
                yield b" " * 1_000_000

        for body in (b" " * 20_000_000, chunks()):
            assert client.post("/api/search", content=body).status_code == 413
        for head, body in (
            (b"Content-Length: 100000000", b""),
            (b"Transfer-Encoding: chunked", b"3d0900\r\n" + b" " * MOST_BYTES + b"\r\n1\r\n \r\n"),
        ):
            with socket.create_connection(address, timeout=SECONDS) as connection:
                connection.sendall(b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + b"\r\n\r\n" + body)
                assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")
        for number in range(1000):
            connection = stack.enter_context(socket.create_connection(address, timeout=SECONDS))
            if number % 3 == 0:
                connection.sendall(b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
            elif number % 3 == 1:
                connection.sendall(b"GET /api/hea")
        for _ in range(20):
            assert client.post("/api/search", json={"texts": ["a cat"]}).status_code == 200
        stack.close()
        for garbage in (b"\x00" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"A" * 1_000_000):
            with socket.create_connection(address, timeout=SECONDS) as connection, contextlib.suppress(OSError):
                connection.sendall(garbage)
                connection.recv(1000)
        assert client.get("/api/health").status_code == 200
    assert process.log.count("POST (unknown) 413") == 4


def test_headers_without_an_end_are_refused(folder):
    with running(folder) as (_, client):
        address = (client.base_url.host, client.base_url.port)
        for head in (b"GET /" + b"a" * 300_000, b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 40_000):
            with socket.create_connection(address, timeout=SECONDS) as connection:
                with contextlib.suppress(OSError):
                    connection.sendall(head)
                assert connection.recv(1000).startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
        chunked = b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        for after in (b"0\r\n" + b"X: a\r\n" * 100_000, b"0\r\nX: " + b"a" * 300_000, b"1;" + b"a" * 300_000):
            with socket.create_connection(address, timeout=SECONDS) as connection:
                connection.sendall(chunked)
                time.sleep(0.2)  # so that the request has begun: what follows is no header of it
                with contextlib.suppress(OSError):
                    connection.sendall(after)
                    assert connection.recv(1000).startswith(b"HTTP/1.1 431 ")
        small = (
            b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"texts": ["a cat ' + b"a" * 100_000 + b'"]}') + b"0\r\n\r\n"
        )
        with socket.create_connection(address, timeout=SECONDS) as connection:
            connection.sendall(chunked.replace(b"\r\n\r\n", b"\r\nContent-Type: application/json\r\n\r\n") + small)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert client.get("/api/health").status_code == 200


@pytest.mark.parametrize("framing", [b"Content-Length: %d", b"Transfer-Encoding: chunked"])
def test_a_body_behind_a_request_for_another_protocol_is_no_request(folder, framing):
    hidden = b"DELETE /api/documents/1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: hidden\r\n\r\n"
    upgrade = b"Upgrade: h2c\r\nConnection: Upgrade\r\n"
    with running(folder) as (process, client):
        address = (client.base_url.host, client.base_url.port)
        length = framing % len(hidden) if b"%" in framing else framing
        for head, status in ((upgrade + length + b"\r\n", b"400"), (upgrade, b"200")):
            with socket.create_connection(address, timeout=SECONDS) as connection:
                connection.sendall(b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + b"\r\n")
                with contextlib.suppress(OSError):  # closed by then
                    time.sleep(0.2)
                    connection.sendall(hidden)
                answer = b"".join(iter(lambda: connection.recv(10_000), b""))
                assert answer.startswith(b"HTTP/1.1 " + status)
    assert "hidden" not in process.log


@pytest.mark.slow
def test_workers_follow_each_other(folder):
    with running(folder, "--workers", "2") as (process, client):
        workers = set()
        for number in range(200):
            if number < 10:
                acknowledged = add(client, f"a cat sleeps {number}")
            with httpx2.Client(base_url=client.base_url) as other:  # a new connection may reach the other worker
                answer = other.get("/api/model")
                workers.add(worker_of(answer))
                assert answer.json()["documents"] == acknowledged + 1
            if number >= 10 and len(workers) == 2:
                break
        assert len(workers) == 2
        assert process.pid not in workers
        counted = re.findall(r'route="/api/model",status="200"} (\d+)', client.get("/metrics").text)
        assert counted == [str(number + 1)]  # of both workers
    assert process.returncode == 0
    assert len(DocumentModel.load(folder).index_) == 25


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_another_model_is_followed_and_a_killed_worker_is_replaced_and_logged(folder, workers):
    with running(folder, "--workers", workers) as (process, client):
        if workers == "2":
            os.kill(worker_of(client.get("/api/health")), signal.SIGKILL)
        DocumentModel(n_neighbors=3).fit(["a bird sings", "a fish swims"], ["bird", "fish"]).save(folder)
        deadline = time.monotonic() + SECONDS
        classes = []
        while time.monotonic() < deadline and classes[-20:] != [["bird", "fish"]] * 20:
            with contextlib.suppress(httpx2.TransportError), httpx2.Client(base_url=client.base_url) as other:
                classes.append(other.get("/api/model").json()["classes"])
        assert classes[-20:] == [["bird", "fish"]] * 20
    assert process.returncode == 0
    assert ("died" in process.log) == (workers == "2")


@pytest.mark.slow
def test_workers_end_with_the_service_that_was_killed(folder):
    with running(folder, "--workers", "2") as (process, client):
        add(client)
        worker = worker_of(client.get("/api/health"))
        process.kill()
        process.wait()
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and Path(f"/proc/{worker}").exists():
            time.sleep(0.1)
        assert not Path(f"/proc/{worker}").exists()
    with running(folder) as (_, client):
        assert client.get("/api/documents/15").json()["text"] == "a cat sleeps"


@pytest.mark.parametrize(
    ("workers", "kills"),
    [
        pytest.param(1, 20, marks=pytest.mark.slow),
        pytest.param(2, 10, marks=pytest.mark.slow),
        pytest.param(1, 100, marks=pytest.mark.soak),
        pytest.param(2, 100, marks=pytest.mark.soak),
    ],
)
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
            assert wrote.wait(SECONDS)
            time.sleep(moment.random() * 0.25)
            kill()
            for writer in writers:
                writer.join()
    assert len(acknowledged) >= kills  # each life had one at least
    with running(folder) as (_, client):
        for key, text in asked.items():  # those without an answer among them
            number = add(client, text, key)
            assert acknowledged.setdefault(key, number) == number
            answer = client.get(f"/api/documents/{number}")
            assert answer.status_code == 404 if number in removed else answer.json()["text"] == text
    model = DocumentModel.load(folder)
    texts = [model.document(int(number)).text for number in model.index_.ids]
    assert len(texts) == len(set(texts))
    assert set(acknowledged.values()) - removed <= set(model.index_.ids.tolist())
    assert not removed & set(model.index_.ids.tolist())


@contextlib.contextmanager
def killable(folder, workers):
    """Run a service that is killed with its workers, in no order: forks of a process that has loaded everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.serve.loaded"])
    forkserver.ensure_running()
    addresses, told = context.Pipe(duplex=False)
    process = context.Process(target=loaded.serve, args=(folder, TOKEN, workers, told))
    process.start()
    parent = forkserver._forkserver._forkserver_pid

    def kill():
        forks = [int(number) for number in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        assert len(forks) == (1 if workers == 1 else 1 + workers)
        for number in random.sample(forks, len(forks)):
            os.kill(number, signal.SIGKILL)

    try:
        assert addresses.poll(SECONDS)
        address = addresses.recv()
        httpx2.get(f"{address}/api/health", timeout=SECONDS)  # waits for a worker
        yield address, kill
    finally:
        process.kill()
        process.join()


def write(address, name, acknowledged, asked, removed, wrote):
    """Add documents, each under a key, and remove some, until the service is gone."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        contextlib.suppress(httpx2.TransportError),
        httpx2.Client(base_url=address, headers=headers, timeout=SECONDS) as client,
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
