"""Services that share their writes in PostgreSQL, each with a copy of the model."""

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.serve.conftest import running
from treewass import DocumentModel
from treewass.serve.applied_writes import KeyUsedError, NewDocument, UnknownDocumentError
from treewass.serve.live_model import LiveModel
from treewass.serve.writes import DamagedWritesError
from treewass_bench.postgres_server import PostgresServer

SECONDS = 60.0  # within which others see a write; a busy machine takes its time


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    DocumentModel(n_neighbors=1, metric="bow").fit(["a cat", "a dog"], ["cat", "dog"]).save(folder)
    return folder


@pytest.fixture
def copies(saved, tmp_path):
    """The same model on three machines."""
    folders = [tmp_path / f"machine-{number}" for number in range(3)]
    for folder in folders:
        shutil.copytree(saved, folder)
    return folders


def new(text):
    return [NewDocument(text, "cat")]


def wait_for(live, number, *, held=True):
    """Wait until a service knows that a document is there, or is not."""
    end = time.monotonic() + SECONDS
    while (number in live.current().index) != held:
        assert time.monotonic() < end, f"document {number} was not seen in {SECONDS} s"
        time.sleep(0.005)


@pytest.mark.slow
def test_services_see_each_others_writes(copies, dsn):
    with LiveModel(copies[0], dsn) as first, LiveModel(copies[1], dsn) as second:
        assert first.add(new("a grey cat"), key="k") == ([2], False)
        assert 2 in first.current().index
        assert second.add(new("a grey cat"), key="k") == ([2], True)
        with pytest.raises(KeyUsedError):
            second.add(new("another"), key="k")
        assert second.add(new("a black cat"))[0] == [3]
        wait_for(first, 3)
        first.remove([2])
        wait_for(second, 2, held=False)
        with pytest.raises(UnknownDocumentError):
            second.remove([2])
        assert first.n_pending == 3
        assert first.pending_bytes > 0
    with LiveModel(copies[2], dsn) as late:  # catches up with all of it
        assert late.current().index.ids.tolist() == [0, 1, 3]
        assert late.add(new("a white cat"))[0] == [4]
        assert late.add(new("a grey cat"), key="k") == ([2], True)
    assert not list(copies[0].glob("writes*"))


@pytest.mark.slow
def test_another_model_and_damage_are_refused(copies, dsn, tmp_path):
    import psycopg

    with LiveModel(copies[0], dsn) as live:
        live.add(new("a grey cat"))
        live.add(new("a black cat"))
    DocumentModel(n_neighbors=1, metric="bow").fit(["a fox", "a dog"], ["fox", "dog"]).save(tmp_path / "other")
    with pytest.raises(ValueError, match="Expected the model that the writes in the database follow"):
        LiveModel(tmp_path / "other", dsn)
    with LiveModel(copies[1], dsn) as live:
        assert len(live.current().index) == 4
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "UPDATE treewass_writes SET record = replace(convert_from(record, 'UTF8'), 'grey', 'blue')::bytea"
        )
    with pytest.raises(DamagedWritesError, match="write 1 is not as it was written"):
        LiveModel(copies[1], dsn)
    with pytest.raises(OSError, match="PostgreSQL does not answer"):
        LiveModel(copies[1], f"postgresql:///x?host={tmp_path}")


def write_for(live, name, stop, acknowledged, uncertain):
    """Add documents under new keys until told to stop; one whose fate is not known is asked for again."""
    number = 0
    while not stop.is_set():
        key = f"{name}-{number}"
        try:
            ids, _ = live.add(new(f"a cat called {name} {number}"), key=key)
        except OSError:
            uncertain.add(key)
            time.sleep(0.05)
            continue
        acknowledged[key] = ids[0]
        assert ids[0] in live.current().index  # who acknowledged it sees it at once
        number += 1


def kill_postgres(n_kills, copies):
    server, stop, acknowledged, uncertain = PostgresServer(), threading.Event(), {}, set()
    lives = [LiveModel(folder, server.dsn) for folder in copies[:2]]
    arguments = [(live, name, stop, acknowledged, uncertain) for live, name in zip(lives, "ab", strict=True)]
    writers = [threading.Thread(target=write_for, args=own) for own in arguments]
    for writer in writers:
        writer.start()
    for _ in range(n_kills):
        goal = len(acknowledged) + 10
        while len(acknowledged) < goal:
            time.sleep(0.01)
        server.kill()
        assert len(lives[0].current().index) > 2  # reads go on
        server.start()
    stop.set()
    for writer in writers:
        writer.join()
    for live in lives:
        for number in acknowledged.values():
            wait_for(live, number)
        live.close()
    with LiveModel(copies[2], server.dsn) as late:
        assert late.current().index.ids.tolist() == sorted({0, 1, *acknowledged.values()})  # none lost, none doubled
    server.stop()


@pytest.mark.slow
def test_postgres_killed_under_two_services(copies):
    kill_postgres(2, copies)


@pytest.mark.soak
def test_postgres_killed_often_under_two_services(copies):
    kill_postgres(20, copies)


WRITER = """
import sys
from treewass.serve import LiveModel, NewDocument
with LiveModel(sys.argv[1], sys.argv[2]) as live:
    while True:
        ids, _ = live.add([NewDocument("a cat", "cat")])
        sys.stdout.write(f"{ids[0]}\\n")
        sys.stdout.flush()
"""


def kill_service(n_kills, copies, dsn):
    """Kill a process that writes, again and again, while another one reads and writes."""
    told = [0, 1]
    with LiveModel(copies[0], dsn) as live:
        for _ in range(n_kills):
            arguments = [sys.executable, "-c", WRITER, str(copies[1]), dsn]
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
                told += [int(writer.stdout.readline()) for _ in range(5)]
                told += live.add(new("a cat of this process"))[0]
                writer.kill()
                told += [int(line) for line in writer.stdout if line.endswith("\n")]
        wait_for(live, max(told))
        held = live.current().index.ids.tolist()
    assert len(told) == len(set(told))
    assert set(told) <= set(held)
    assert len(held) <= len(told) + n_kills  # at most one write of each was made and not acknowledged
    with LiveModel(Path(copies[2]), dsn) as late:
        assert late.current().index.ids.tolist() == held


@pytest.mark.slow
def test_a_service_killed_under_writes(copies, dsn):
    kill_service(2, copies, dsn)


@pytest.mark.soak
def test_services_killed_often_under_writes(copies, dsn):
    kill_service(20, copies, dsn)


def ask_and_write(client, name, n_rounds, seen, problems):
    """Add, read, remove by one service; note what it acknowledged, and every answer that is not as it must be."""
    for number in range(n_rounds):
        added = client.post("/api/documents", json={"documents": [{"text": f"a cat {name} {number}", "label": "cat"}]})
        if added.status_code != 201:
            problems.append(added.text)
            continue
        own = added.json()["ids"][0]
        read = client.get(f"/api/documents/{own}")
        if read.status_code != 200 or read.json()["text"] != f"a cat {name} {number}":
            problems.append(f"{own} was not seen by the service that acknowledged it: {read.text}")
        if number % 3 == 0:
            if client.delete(f"/api/documents/{own}").status_code >= 300:
                problems.append(f"{own} was not removed")
            if client.get(f"/api/documents/{own}").status_code != 404:
                problems.append(f"{own} was seen after it was removed")
            seen.append((own, False))
        else:
            seen.append((own, True))


@pytest.mark.slow
def test_two_services_under_mixed_load_answer_by_the_rule(copies, dsn):
    """A service sees what it acknowledged at once; the other one soon, and both the same in the end."""
    seen, problems = [], []
    with (
        running(copies[0], "--store", dsn) as (_, first),
        running(copies[1], "--store", dsn, "--workers", "2") as (_, second),
    ):
        writers = [
            threading.Thread(target=ask_and_write, args=(client, name, 15, seen, problems))
            for name, client in (("one", first), ("two", first))
        ]
        for writer in writers:
            writer.start()
        for number in range(15):
            other = second.post("/api/documents", json={"documents": [{"text": f"a dog {number}", "label": "dog"}]})
            seen.append((other.json()["ids"][0], True))
        for writer in writers:
            writer.join()
        assert not problems
        assert len({number for number, _ in seen}) == 45
        for client in (first, second, second):
            end, answers = time.monotonic() + SECONDS, {}
            while answers != dict(seen):
                assert time.monotonic() < end, answers
                answers = {number: client.get(f"/api/documents/{number}").status_code == 200 for number, _ in seen}
