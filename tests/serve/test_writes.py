"""The file of writes under attack: bytes that change, vanish or appear, and processes that are killed."""

import logging
import random
import shutil
import sqlite3
from contextlib import closing

import pytest

from treewass.serve.writes import DamagedWritesError, Head, Writes

RECORDS = [{"operation": "remove", "ids": [number], "text": "x" * (40 * number)} for number in range(1, 41)]


def written(folder, n_moved=30):
    """Write records, the first of which are in the file itself and the others in its log, as a kill leaves them."""
    source = folder / "source"
    source.mkdir()
    with closing(Writes(source)) as writes:
        with writes.transaction():
            writes.begin(Head("store", "data-0"))
        number, chain = 0, ""
        for record in RECORDS:
            with writes.transaction():
                number, _, chain = writes.append(record, number, chain)
            if number == n_moved:
                writes.truncate()
        killed = folder / "killed"
        shutil.copytree(source, killed)
    return killed


def read(folder):
    with closing(Writes(folder)) as writes, writes.reading():
        writes.check_end(0)
        head = writes.head()
        return [row.record for row in writes.since(head.number, head.chain)]


def test_a_killed_process_loses_nothing(tmp_path):
    assert read(written(tmp_path)) == RECORDS


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM writes WHERE number = 20", "write 20 is missing and others follow it"),
        ("DELETE FROM writes WHERE number = 40", "ends before write 40, which was acknowledged"),
        ("DELETE FROM writes WHERE number = 0", "its first row, 1, is not as it was written"),
        ("UPDATE writes SET record = CAST('{}' AS BLOB) WHERE number = 20", "write 20 is not as it was written"),
        ("UPDATE writes SET record = 'text' WHERE number = 20", "write 20 is not as it was written"),
        ("UPDATE writes SET number = 50 WHERE number = 40", "write 40 is missing"),
        ("DROP TABLE writes", "ends before write 40"),
    ],
)
def test_changed_and_missing_rows_are_refused_by_name(tmp_path, statement, message):
    folder = written(tmp_path)
    with closing(sqlite3.connect(folder / "writes.sqlite")) as connection, connection:
        connection.execute(statement)
    with pytest.raises(DamagedWritesError, match=message):
        read(folder)


def test_a_cut_end_is_refused_or_where_nothing_is_known_of_it_reported(tmp_path, caplog):
    folder = written(tmp_path)
    log = folder / "writes.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-1000])
    with pytest.raises(DamagedWritesError, match="ends before write 40, which was acknowledged"):
        read(folder)
    assert "records may be missing: 11360 bytes at the end are no whole write" in caplog.text
    (folder / "writes.last").unlink()
    assert read(folder) == RECORDS[:39]


def test_an_older_note_of_the_last_write_hides_nothing(tmp_path):
    folder = written(tmp_path)
    (folder / "writes.last").write_text("7\n")
    assert read(folder) == RECORDS


def test_an_unreadable_note_of_the_last_write_is_reported(tmp_path, caplog):
    folder = written(tmp_path)
    (folder / "writes.last").write_text("")
    assert read(folder) == RECORDS
    assert "writes.last cannot be read: writes may be missing" in caplog.text


def damage(path, moment):
    """Change, zero, cut, extend or overwrite some part of a file; return how."""
    content = bytearray(path.read_bytes())
    place, length = moment.randrange(len(content)), moment.choice([1, 1, 4, 64, 4096])
    end = min(len(content), place + length)
    kind = moment.choice(["flip", "zero", "cut", "drop", "random", "copy", "zero tail"])
    if kind == "flip":
        content[place] ^= 1 << moment.randrange(8)
    elif kind == "zero":
        content[place:end] = bytes(end - place)
    elif kind == "cut":
        del content[place:]
    elif kind == "drop":
        del content[place:end]
    elif kind == "random":
        content[place:end] = moment.randbytes(end - place)
    elif kind == "copy":
        other = moment.randrange(len(content))
        content[place:end] = content[other : other + end - place]
    else:
        content[place:] = bytes(len(content) - place)
    path.write_bytes(content)
    return f"{kind} of {path.name} at {place}"


@pytest.mark.parametrize("n", [pytest.param(150, marks=pytest.mark.slow), pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ["writes.sqlite", "writes.sqlite-wal"])
def test_no_corruption_is_accepted_with_lost_writes(tmp_path, name, n, caplog):
    """Every write is read as it was written, or the file is refused; what is left is never read without a word."""
    caplog.set_level(logging.CRITICAL)
    folder, moment, refused = written(tmp_path), random.Random(n), 0
    for number in range(n):
        trial = tmp_path / str(number)
        shutil.copytree(folder, trial)
        how = damage(trial / name, moment)
        try:
            assert read(trial) == RECORDS, how
        except DamagedWritesError:
            refused += 1
        shutil.rmtree(trial)
    assert refused > n // 10
