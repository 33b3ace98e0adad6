"""Services that share their writes in PostgreSQL, each with a copy of the model."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.serve.conftest import running
from treewass import DocumentModel
from treewass.cli.app import app
from treewass.serve import backup_model, fold_writes, publish_model
from treewass.serve.applied_writes import KeyUsedError, NewDocument, UnknownDocumentError
from treewass.serve.live_model import LiveModel
from treewass.serve.writes import DamagedWritesError
from treewass.stores import PostgresIndex, postgres_tables
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
    wait_until(lambda: (number in live.current().index) == held, f"document {number} was not seen")


def wait_until(is_so, otherwise):
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end, f"{otherwise} in {SECONDS} s"
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
    with LiveModel(copies[2], dsn) as late:  # catches up with all of it
        assert late.current().index.ids.tolist() == [0, 1, 3]
        assert late.add(new("a white cat"))[0] == [4]
        assert late.add(new("a grey cat"), key="k") == ([2], True)
    assert not list(copies[0].glob("writes.sqlite*"))


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


@pytest.mark.slow
def test_each_service_folds_into_its_own_folder_and_a_backup_has_all(copies, dsn, tmp_path):
    with LiveModel(copies[0], dsn) as first, LiveModel(copies[1], dsn) as second:
        assert first.add(new("a grey cat"), key="k") == ([2], False)
        wait_for(second, 2)
        assert second.fold() == 1
        assert (first.n_pending, second.n_pending) == (1, 0)
        assert second.add(new("a black cat"))[0] == [3]
        wait_for(first, 3)
        assert first.fold() == 2
        assert first.add(new("a white cat"))[0] == [4]
        wait_for(second, 4)
    for folder, there in ((copies[0], [0, 1, 2, 3]), (copies[1], [0, 1, 2]), (copies[2], [0, 1])):
        assert DocumentModel.load(folder).index_.ids.tolist() == there
        with LiveModel(folder, dsn) as again:  # goes on behind what its folder holds
            assert again.current().index.ids.tolist() == [0, 1, 2, 3, 4]
            assert again.add(new("a grey cat"), key="k") == ([2], True)
    for refused in (LiveModel, fold_writes, lambda folder: backup_model(folder, tmp_path / "backup")):
        with pytest.raises(ValueError, match="are in a database, with which it was served: name it with --store"):
            refused(copies[1])
    assert backup_model(copies[2], tmp_path / "backup", dsn) == 5
    with LiveModel(tmp_path / "backup") as backup:  # a model of its own
        assert backup.add(new("a brown cat"))[0] == [5]


@pytest.mark.slow
def test_a_database_forgets_what_was_folded(copies, dsn):
    import psycopg

    with LiveModel(copies[0], dsn) as running_on, LiveModel(copies[1], dsn) as other:
        running_on.add(new("a grey cat"), key="k")
        wait_for(other, 2)
        assert fold_writes(copies[0], dsn) == 1
        assert other.add(new("a black cat"))[0] == [3]  # services that run go on
        assert other.add(new("a grey cat"), key="k") == ([2], True)
        wait_for(running_on, 3)
        wait_until(lambda: running_on.n_pending == 1, "the folded model was not taken up")  # after the writes
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT convert_from(record, 'UTF8') FROM treewass_writes").fetchall()
    assert "black" in str(rows)
    assert "grey" not in str(rows)
    with pytest.raises(ValueError, match="Copy that model here"):
        LiveModel(copies[2], dsn)
    shutil.rmtree(copies[2])
    shutil.copytree(copies[0], copies[2])
    with LiveModel(copies[2], dsn) as late:
        assert late.current().index.ids.tolist() == [0, 1, 2, 3]


def classes(live):
    return list(live.current().classes)


@pytest.mark.slow
def test_services_switch_to_a_published_model(copies, dsn, tmp_path):
    other = DocumentModel(n_neighbors=1, metric="bow").fit(["a fox", "a dog"], ["fox", "dog"])
    other.save(tmp_path / "other")
    with LiveModel(copies[0], dsn) as first, LiveModel(copies[1], dsn) as second:
        first.add(new("a grey cat"))
        wait_for(second, 2)
        shutil.rmtree(copies[0])
        shutil.copytree(tmp_path / "other", copies[0])
        with contextlib.suppress(ValueError):  # said once, and a notice of the database may have come first
            first.follow()
        first.follow()
        assert classes(first) == ["cat", "dog"]
        assert first.add(new("a black cat"))[0] == [3]  # as before, until it is published
        assert publish_model(copies[0], dsn) == 2
        assert publish_model(copies[0], dsn) == 0
        end = time.monotonic() + SECONDS
        while classes(first) != ["dog", "fox"]:  # told by the database
            assert time.monotonic() < end
            time.sleep(0.005)
        assert classes(second) == ["cat", "dog"]  # has no copy of it
        with pytest.raises(OSError, match="Copy that model here"):
            second.add(new("a black cat"))
        shutil.rmtree(copies[1])
        shutil.copytree(tmp_path / "other", copies[1])
        second.follow()
        assert classes(second) == ["dog", "fox"]
        assert second.add([NewDocument("a red fox", "fox")])[0] == [2]
        wait_for(first, 2)
    (kept,) = copies[0].glob("replaced-writes-*.jsonl")
    assert "a grey cat" in kept.read_text()


@pytest.mark.slow
def test_a_published_model_knows_the_keys_of_the_writes_that_it_holds(copies, dsn):
    with LiveModel(copies[0], dsn) as live:
        live.add(new("a grey cat"), key="held")
        live.fold()
        live.add(new("a black cat"), key="missing")
    shutil.rmtree(copies[1])
    shutil.copytree(copies[0], copies[1])
    model = DocumentModel.load(copies[1])  # made from the fold, while services go on
    model.save(copies[1])
    assert publish_model(copies[1], dsn) == 1
    with LiveModel(copies[1], dsn) as live:
        assert live.add(new("a grey cat"), key="held") == ([2], True)
        assert live.add(new("a black cat"), key="missing") == ([3], False)  # it is not there
        assert live.current().index.ids.tolist() == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_fold_that_was_changed_is_another_model_until_it_is_published(copies, dsn):
    with LiveModel(copies[0], dsn) as first, LiveModel(copies[1], dsn) as second:
        first.add(new("a grey cat"))
        first.fold()
        model = DocumentModel.load(copies[0])
        model.save(copies[0])  # the same documents: followed
        first.follow()
        assert first.add(new("a black cat"))[0] == [3]
        model.remove([0])
        model.add(["a dog"], ["dog"])  # takes an id that the database has given to another document
        model.save(copies[0])
        with contextlib.suppress(ValueError):  # said once, and a notice of the database may have come first
            first.follow()
        assert first.current().index.ids.tolist() == [0, 1, 2, 3]
        assert second.add(new("a white cat"))[0] == [4]
        wait_for(first, 4)
        with pytest.raises(ValueError, match=r"replaced meanwhile|holds another one"):
            first.fold()  # would undo what was saved
    with pytest.raises(ValueError, match=r"holds another one .* run treewass publish"):
        LiveModel(copies[0], dsn)
    assert publish_model(copies[0], dsn) == 2
    with LiveModel(copies[0], dsn) as live:
        assert live.current().index.ids.tolist() == [1, 2, 3]


@pytest.mark.slow
def test_commands_take_a_model_with_its_writes_in_a_database(copies, dsn, tmp_path):
    def run(command, *arguments):
        done = CliRunner().invoke(app, [command, str(copies[0]), *arguments, "--store", dsn])
        assert done.exit_code == 0, f"{done.output}{done.exception}"
        return done.stdout

    data = tmp_path / "data.csv"
    data.write_text("text,label\na cat and a dog,cat\n", encoding="utf-8")
    with LiveModel(copies[1], dsn) as other:
        other.add(new("a grey cat"))
        assert "with the id 3." in run("add", str(data), "--label", "label")
        wait_for(other, 3)
        assert "1 document removed" in run("remove", "id:2")
        wait_for(other, 2, held=False)
        other.add(new("a black cat"))
        assert "in 2 parts" in run("shard", "-n", "2")
        loaded = DocumentModel.load(copies[0])
        assert (len(loaded.index_.shards), loaded.index_.ids.tolist()) == (2, [0, 1, 3, 4])
        other.add(new("a white cat"))  # the database knows what the parts hold
        with LiveModel(copies[0], dsn) as live:
            assert live.current().index.ids.tolist() == other.current().index.ids.tolist() == [0, 1, 3, 4, 5]
        assert "treewass publish" in run("update", str(data))
        assert len(DocumentModel.load(copies[0]).index_) == 6
        assert "is the model of the services" in run("publish")
    refused = CliRunner().invoke(app, ["shard", str(copies[0]), "-n", "2"])
    assert "name it with --store" in str(refused.exception)


@pytest.mark.slow
def test_writes_in_the_folder_are_not_left_behind(copies, dsn):
    with LiveModel(copies[0]) as live:
        live.add(new("a grey cat"))
    with pytest.raises(ValueError, match=r"holds 1 writes, which the database would not have\. Run treewass fold"):
        LiveModel(copies[0], dsn)
    fold_writes(copies[0])
    with LiveModel(copies[0], dsn) as live:
        assert 2 in live.current().index


def signal_all(server, number):
    """Send a signal to all processes of a server."""
    parent = server._process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for process in (parent, *map(int, children)):
        os.kill(process, number)


@pytest.mark.slow
def test_reads_go_on_while_the_database_says_nothing(copies, monkeypatch):
    """A server that is stopped accepts connections and never answers, as does a machine behind a broken network."""
    monkeypatch.setattr("treewass.serve.postgres_writes._STATEMENT_SECONDS", 3.0)
    monkeypatch.setitem(postgres_tables._PATIENCE, "connect_timeout", 2)
    server, problems = PostgresServer(), []
    with LiveModel(copies[0], server.dsn) as live, LiveModel(copies[1], server.dsn) as other:
        live.add(new("a grey cat"))
        wait_for(other, 2)
        signal_all(server, signal.SIGSTOP)

        def write():
            try:
                live.add(new("a black cat"), key="k")
            except OSError as error:
                problems.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        assert 2 in live.current().index
        assert 2 in other.current().index
        assert writer.is_alive()  # it waits, and whoever reads does not
        writer.join()
        assert len(problems) == 1
        with pytest.raises(OSError, match="PostgreSQL does not answer"):
            LiveModel(copies[2], server.dsn)
        with pytest.raises(OSError, match="PostgreSQL does not answer"):
            live.follow()
        signal_all(server, signal.SIGCONT)
        assert live.add(new("a black cat"), key="k")[0] == [3]
        wait_for(other, 3)
    server.stop()


def test_a_server_that_never_answers_is_given_up(copies, monkeypatch):
    monkeypatch.setitem(postgres_tables._PATIENCE, "connect_timeout", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dsn = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/news"
        with pytest.raises(OSError, match="PostgreSQL does not answer: connection timeout expired"):
            LiveModel(copies[0], dsn)
        with pytest.raises(OSError, match="PostgreSQL does not answer: connection timeout expired"):
            PostgresIndex(dsn, DocumentModel.load(copies[0]).metric_.for_float32())


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
    writers = [threading.Thread(target=write_for, args=own, daemon=True) for own in arguments]
    for writer in writers:
        writer.start()
    for _ in range(n_kills):
        goal, end = len(acknowledged) + 10, time.monotonic() + SECONDS
        while len(acknowledged) < goal:
            assert time.monotonic() < end, f"{len(acknowledged)} writes of {goal} in {SECONDS} s"
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
        live.follow()  # the last write may have been made and not told
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
