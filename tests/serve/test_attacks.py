"""Attacks on a service: kills while it writes, folds and gets another model, and many requests with hostile ones.

The full counts are marked soak: ``pytest -m soak tests/serve``. Those marked slow are the same with fewer rounds.
"""

import contextlib
import multiprocessing
import random
import threading
import time

import httpx2
import numpy as np
import pytest

from tests.serve import loaded
from tests.serve.conftest import TOKEN, running
from treewass import DocumentModel
from treewass.serve import LiveModel, fold_writes

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.serve.loaded"])


def counts(few, many):
    few, many = (values if isinstance(values, tuple) else (values,) for values in (few, many))
    return [pytest.param(*few, marks=pytest.mark.slow), pytest.param(*many, marks=pytest.mark.soak)]


class Life:
    """A process that does something until it is killed, and tells what it has done."""

    def __init__(self, target, *arguments):
        self._told, teller = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=target, args=(*arguments, teller))
        self._process.start()
        teller.close()

    def wait(self):
        assert self._told.poll(120)

    def kill(self):
        """Kill it; return all that it has told. It must not have ended before, by an error."""
        assert self._process.exitcode is None
        self._process.kill()
        self._process.join()
        told = []
        try:
            while self._told.poll():
                told.append(self._told.recv())
        except (EOFError, OSError):
            pass
        return told


def check_all_there(folder, acknowledged):
    """Every document that was acknowledged is there once, under the id that was told."""
    with LiveModel(folder) as live:
        documents = live.current().documents
        texts = dict(zip(documents.ids.tolist(), documents.texts, strict=True))
    assert len(set(texts.values())) == len(texts)  # none is doubled
    assert {number: texts.get(number) for number in acknowledged} == acknowledged
    return len(texts)


@pytest.mark.parametrize("kills", counts(10, 100))
@pytest.mark.parametrize("n_processes", [1, 2])
def test_kills_while_it_folds_lose_nothing_and_block_nothing(folder, kills, n_processes):
    moment, acknowledged = random.Random(kills), {}
    for life in range(kills):
        lives = [Life(loaded.write_and_fold, folder, f"{life}-{number}") for number in range(n_processes)]
        for running_life in lives:
            running_life.wait()
        time.sleep(moment.random() * 0.3)
        for running_life in moment.sample(lives, n_processes):
            acknowledged |= {number: text for number, text in running_life.kill() if number is not None}
        check_all_there(folder, acknowledged)
    assert len(acknowledged) >= kills  # each life had one at least
    fold_writes(folder)
    assert len(DocumentModel.load(folder).index_) == check_all_there(folder, acknowledged)


@pytest.mark.parametrize("kills", counts(10, 100))
def test_kills_while_the_model_is_replaced_lose_nothing_and_block_nothing(folder, kills):
    moment, acknowledged = random.Random(kills), {}
    with LiveModel(folder) as live:
        live.remove([0])
        live.fold()  # so that the model notes which writes it holds
    for life in range(kills):
        writer, replacer = Life(loaded.write, folder, str(life)), Life(loaded.replace, folder)
        writer.wait()
        replacer.wait()
        time.sleep(moment.random() * 0.3)
        victims = [writer, replacer] if moment.random() < 0.5 else [replacer, writer]
        for victim in victims:
            acknowledged |= {number: text for number, text in victim.kill() if number is not None}
        check_all_there(folder, acknowledged)
    assert len(acknowledged) >= kills  # each life had one at least
    assert not list(folder.glob("replaced-writes-*"))


@pytest.mark.parametrize(("n_requests", "most"), counts((2000, 25), (100_000, 5)))
@pytest.mark.parametrize("kind", ["explanations", "batches"])
def test_hostile_requests_do_not_keep_others_waiting(folder, kind, n_requests, most, record_property):
    rng = np.random.default_rng(0)
    words = [f"word{number}" for number in range(4000)]
    texts = [" ".join(rng.choice(words, 60)) for _ in range(1000)]
    DocumentModel(n_neighbors=5).fit(texts, [str(number % 5) for number in range(1000)]).save(folder)
    alone, attacked, errors = [], [], []
    with running(folder) as (_, client):
        mixed(client, texts, 400)
        turns = max(2, n_requests // 10_000)  # a machine is not as busy at one time as at another
        for _ in range(turns):
            quiet = mixed(client, texts, n_requests // turns // 5)
            with attacking(str(client.base_url), hostile_requests(kind, words, rng)):
                busy = mixed(client, texts, n_requests // turns)
            alone += quiet[0]
            attacked += busy[0]
            errors += quiet[1] + busy[1]
    assert errors == []
    before, during = (1000 * float(np.quantile(seconds, 0.99)) for seconds in (alone, attacked))
    medians = [1000 * float(np.median(seconds)) for seconds in (alone, attacked)]
    figures = f"search p99 {before:.1f} ms alone, {during:.1f} ms attacked, ratio {during / before:.2f}; p50 {medians}"
    record_property("figures", figures)
    print(figures, len(attacked), "searches of", n_requests, "requests")  # noqa: T201
    assert during <= most * before, figures


def hostile_requests(kind, words, rng):
    """Requests that cost as much as is allowed, or more, as paths and bodies."""
    if kind == "batches":
        texts = [" ".join(words)] * 100
        return [("/api/search", {"texts": texts, "k": 100}), ("/api/predict", {"texts": texts})]
    documents = [" ".join(rng.permutation(words)[:count]) for count in (1990, 1990, 3900)] + [" ".join(words * 11)]
    return [("/api/explain", {"first": one, "second": other}) for one in documents for other in documents]


@contextlib.contextmanager
def attacking(address, hostile):
    """Let six clients attack, from a process of their own."""
    ended = CONTEXT.Event()
    attacker = CONTEXT.Process(target=loaded.attack, args=(address, hostile, ended, 6))
    attacker.start()
    try:
        yield
    finally:
        ended.set()
        attacker.join()
    assert attacker.exitcode == 0


def mixed(client, texts, count, n_clients=4):
    """Search, classify, look up, add and remove from some clients; return the seconds of searches, and errors."""
    seconds, errors = [], []

    def work(seed):
        moment = random.Random(seed)
        with httpx2.Client(base_url=client.base_url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=120) as own:
            for _ in range(count // n_clients):
                kind, text = moment.random(), moment.choice(texts)
                began = time.perf_counter()
                if kind < 0.7:
                    answer = own.post("/api/search", json={"texts": [text], "k": 10})
                    seconds.append(time.perf_counter() - began)
                elif kind < 0.85:
                    answer = own.post("/api/predict", json={"texts": [text]})
                elif kind < 0.95:
                    answer = own.get(f"/api/documents/{moment.randrange(1000)}")
                else:
                    answer = own.post("/api/documents", json={"documents": [{"text": text, "label": "1"}]})
                    if answer.status_code == 201:
                        answer = own.delete(f"/api/documents/{answer.json()['ids'][0]}")
                if answer.status_code >= 400:
                    errors.append((answer.request.method, str(answer.url), answer.status_code, answer.text[:200]))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(n_clients)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return seconds, errors
