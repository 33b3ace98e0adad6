"""A process that has loaded all that a service needs: its forks start at once, and are killed by the tests."""

import json
import multiprocessing
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver

import httpx2
from uvicorn import _subprocess

from treewass import DocumentModel
from treewass.serve import LiveModel, NewDocument, Settings, application, guards, running

LOADED = (application, guards)
DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], ["cat", "dog"]).search("a cat")


def serve(folder, token, workers, told):
    """Run a service; its workers are forks of the process that has loaded everything, too."""
    _subprocess.spawn = multiprocessing.get_context("forkserver")
    forkserver._forkserver.ensure_running = lambda: None  # the one that this was forked from
    running.run_service(folder, Settings(token=token), port=0, workers=workers, announce=told.send)


def write(folder, name, told):
    """Add documents for ever, and tell of each; follow another model, as a service does."""
    with LiveModel(folder) as live:
        _write(live, name, told)


def write_and_fold(folder, name, told):
    """Add documents for ever, while another thread folds them."""

    def fold():
        while True:
            live.fold()

    with LiveModel(folder) as live:
        threading.Thread(target=fold, daemon=True).start()
        _write(live, name, told)


def replace(folder, told):
    """Save for ever a model made from the one in the folder."""
    while True:
        DocumentModel.load(folder).save(folder)
        told.send((None, None))


def _write(live, name, told):
    for count in range(1_000_000):
        text = f"a cat sleeps {name}-{count}"
        (number,), _ = live.add([NewDocument(text, "cat")], key=text)
        told.send((number, text))


def attack(address, hostile, ended, n_clients):
    """Send hostile requests without a pause, from some clients."""
    bodies = [(path, json.dumps(body).encode()) for path, body in hostile]

    def send(seed):
        moment = random.Random(seed)
        with httpx2.Client(base_url=address, headers={"Content-Type": "application/json"}, timeout=120) as client:
            while not ended.is_set():
                path, body = moment.choice(bodies)
                assert client.post(path, content=body).status_code in (200, 422, 503)

    with ThreadPoolExecutor(n_clients) as clients:
        list(clients.map(send, range(n_clients)))
