import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile

import httpx2
import pytest

from treewass import DocumentModel
from treewass.serve import LiveModel, Settings, create_app

TOKEN = "a-token-of-24-characters"
TEXTS = [
    "the cat purrs and sleeps", "a cat and a mouse", "cats sleep all day", "my cat meows at night", "a kitten purrs",
    "the dog barks", "dogs fetch a stick", "a dog growls at the post", "my dog sleeps by the door", "a puppy barks",
    "the car needs petrol", "a car on the road", "cars and lorries queue", "my car has four wheels", "a lorry brakes",
]  # fmt: skip
LABELS = ["cat"] * 5 + ["dog"] * 5 + ["car"] * 5


@pytest.fixture(scope="session")
def fitted():
    titles = [f"{label} {number}" for number, label in enumerate(LABELS)]
    model = DocumentModel(n_neighbors=3).fit(TEXTS, LABELS, titles=titles)
    model.search("a cat"), model.similar("a cat")  # as a service does: compiled before a request waits
    return model


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def live(folder):
    model = LiveModel(folder)
    yield model
    model.close()


@pytest.fixture
def make_client(live):
    """Make a client of the application, without a network."""
    from starlette.testclient import TestClient

    with contextlib.ExitStack() as stack:

        def make(**settings):
            app = create_app(live, Settings(**{"token": TOKEN, **settings}))
            return stack.enter_context(TestClient(app, raise_server_exceptions=False))

        yield make


@pytest.fixture(scope="session")
def client(fitted, tmp_path_factory):
    """A client of an application that all tests read from and none writes to."""
    from starlette.testclient import TestClient

    folder = tmp_path_factory.mktemp("read") / "model"
    fitted.save(folder)
    live = LiveModel(folder)
    with TestClient(create_app(live, Settings(token=TOKEN)), raise_server_exceptions=False) as client:
        yield client
    live.close()


@pytest.fixture
def writer(make_client):
    """A client with the token, of an application of its own."""
    client = make_client()
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    return client


@contextlib.contextmanager
def running(folder, *options, token=TOKEN):
    """Run the command in a process of its own; gives the process and a client."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if token:
        environment["TREEWASS_TOKEN"] = token
    command = [sys.executable, "-m", "treewass", "serve", str(folder), "--port", "0", *options]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:  # a pipe that nobody reads would stop it
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, encoding="utf-8")
        with stopping(process, log):
            line = process.stdout.readline()
            found = re.search(r"http://\S+:\d+", line)
            assert found, f"{line}{content(log)}"
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            with httpx2.Client(base_url=found[0], headers=headers, timeout=120) as client:
                yield process, client


@contextlib.contextmanager
def stopping(process, log):
    """Stop a process gracefully in the end, and keep what it logged."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        process.log = content(log)


def content(file):
    file.seek(0)
    return file.read()
