"""A process that has loaded all that a service needs: its forks start at once, and are killed by the tests."""

import multiprocessing
import threading
from multiprocessing import forkserver

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
