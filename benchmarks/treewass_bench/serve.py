"""``python -m treewass_bench serve``: searches and writes through the service, and the same searches in one process."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from treewass import DocumentModel, ProfileTreeWasserstein
from treewass_bench.datasets import generated_texts
from treewass_bench.rows import Row, Value

__all__ = ["bench_serve"]

_TOKEN = "token-of-the-benchmark"
_LEARNED_FROM = 5_000  # documents; the others are added
_ROUNDS = 3
_NEIGHBORS = 10
_SECONDS = 20  # the longest that one client of one round may take
_STOP_SECONDS = 60
_PROTOCOL = (
    "generated topical documents of 40 words, 20 000 words, 8 classes, seed 0; 10 neighbours; one text a request; "
    "in-process is DocumentModel.search in one thread; clients are threads of one process, each with a connection of "
    "its own, on the machine of the service; three rounds, taken in turn: median rate, percentiles over all answers; "
    "errors are answers of another status and connections that failed, unsent are requests that the time did not allow"
)
_Case = tuple[str, int, int]  # what, workers, clients


@dataclass(slots=True)
class _Round:
    """What came of the requests of a round, or of one client in it."""

    seconds: list[float] = field(default_factory=list)  # of each answer
    n_errors: int = 0
    n_unsent: int = 0
    per_second: float = 0.0


def bench_serve(n_documents: int = 100_000, n_requests: int = 1_000, n_writes: int = 50) -> Iterator[Row]:
    """Measure throughput and latency on loopback.

    Parameters
    ----------
    n_documents : int, default=100_000
        Documents to search.
    n_requests : int, default=1_000
        Searches of a round, shared by the clients.
    n_writes : int, default=50
        Documents added in a round, one a request.

    Yields
    ------
    Row
        One a case.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "model")
        texts = _make_model(folder, n_documents, n_requests)
        model = DocumentModel.load(folder)
        cases: dict[_Case, list[_Round]] = {}
        for _ in range(_ROUNDS):
            cases.setdefault(("in-process search", 0, 1), []).append(_in_process(model, texts))
            for workers in (1, 2):
                with _service(folder, workers) as address:
                    for what, clients, bodies in (
                        ("search", 1, [_search_body(text) for text in texts]),
                        ("search", 8, [_search_body(text) for text in texts]),
                        ("search with highlights", 1, [_search_body(text, True) for text in texts[: len(texts) // 10]]),
                        ("add", 1, [_add_body(text) for text in texts[:n_writes]]),
                    ):
                        cases.setdefault((what, workers, clients), []).append(_load(address, bodies, clients))
        for case, rounds in cases.items():
            yield _row(case, rounds, n_documents)


def _make_model(folder: Path, n_documents: int, n_queries: int) -> list[str]:
    """Save a model of generated documents; return texts to search for."""
    texts, y = generated_texts(n_documents + n_queries)
    first = min(_LEARNED_FROM, n_documents // 2)
    model = DocumentModel(metric=ProfileTreeWasserstein(refine=False)).fit(texts[:first], y[:first])
    model.add(texts[first:n_documents], y[first:n_documents])
    model.search(texts[-1])
    model.save(folder)
    return texts[n_documents:]


def _in_process(model: DocumentModel, texts: Sequence[str]) -> _Round:
    model.search(texts[0], _NEIGHBORS)
    seconds = []
    began = time.perf_counter()
    for text in texts:
        start = time.perf_counter()
        model.search(text, _NEIGHBORS)
        seconds.append(time.perf_counter() - start)
    return _Round(seconds, per_second=len(texts) / (time.perf_counter() - began))


def _search_body(text: str, highlight: bool = False) -> tuple[str, bytes]:
    return "/api/search", json.dumps({"texts": [text], "k": _NEIGHBORS, "highlight": highlight}).encode()


def _add_body(text: str) -> tuple[str, bytes]:
    return "/api/documents", json.dumps({"documents": [{"text": text, "label": 0}]}).encode()


@contextmanager
def _service(folder: Path, workers: int) -> Iterator[tuple[str, int]]:
    """Run the command; give its address."""
    command = [sys.executable, "-m", "treewass", "serve", str(folder), "--port", "0", "--workers", str(workers)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "TREEWASS_TOKEN": _TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        host, _, port = line.partition("http://")[2].partition(" ")[0].partition(":")
        if not port:
            raise OSError(f"The service did not start: {line!r}.")
        address = (host, int(port))
        for _ in range(4 * workers):
            _client(address, [_search_body("w1")])  # a connection may reach any worker: load them all
        yield address
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            if process.stdout:
                process.stdout.close()


def _load(address: tuple[str, int], bodies: Sequence[tuple[str, bytes]], clients: int) -> _Round:
    """Send requests from several clients at once."""
    with ThreadPoolExecutor(clients) as threads:
        began = time.perf_counter()
        parts = list(threads.map(partial(_client, address), [bodies[number::clients] for number in range(clients)]))
        took = time.perf_counter() - began
    seconds = [value for part in parts for value in part.seconds]
    return _Round(
        seconds, sum(part.n_errors for part in parts), sum(part.n_unsent for part in parts), len(seconds) / took
    )


def _client(address: tuple[str, int], bodies: Sequence[tuple[str, bytes]]) -> _Round:
    """Send requests one after the other, within a time; after a failure, on a new connection."""
    done = _Round()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {_TOKEN}"}
    deadline = time.perf_counter() + _SECONDS
    with closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
        for number, (path, body) in enumerate(bodies):
            start = time.perf_counter()
            if start > deadline:
                done.n_unsent = len(bodies) - number
                break
            try:
                connection.request("POST", path, body, headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                done.n_errors += 1
                connection.close()
                continue
            done.seconds.append(time.perf_counter() - start)
            done.n_errors += answer.status not in (200, 201)
    return done


def _row(case: _Case, rounds: Sequence[_Round], n_documents: int) -> Row:
    what, workers, clients = case
    milliseconds = [1000 * value for taken in rounds for value in taken.seconds]
    named: dict[str, Value] = {"case": what, "workers": workers, "clients": clients, "documents": n_documents}
    measures: dict[str, Value] = {
        "requests": len(milliseconds),
        "errors": sum(taken.n_errors for taken in rounds),
        "unsent": sum(taken.n_unsent for taken in rounds),
        "per_second": round(float(np.median([taken.per_second for taken in rounds])), 1),
        "p50_ms": round(float(np.percentile(milliseconds, 50)), 2) if milliseconds else None,
        "p99_ms": round(float(np.percentile(milliseconds, 99)), 2) if milliseconds else None,
    }
    return Row("serve", named, measures, _PROTOCOL)
