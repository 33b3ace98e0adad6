import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewass.serve.journal import DamagedJournalError, FailedDiskError, Journal, UncertainWriteError

RECORDS = [{"operation": "add", "texts": [f"naïve {number}"], "ids": [number]} for number in range(4)]


@pytest.fixture
def journal(tmp_path):
    journal = Journal.create(tmp_path / "writes.log", {"base": "data"})
    for record in RECORDS:
        journal.append(record)
    yield journal
    journal.close()


def reopened(path):
    journal = Journal(path)
    records, end = journal.read(journal.start)
    journal.close()
    return records[1:], end


def test_what_is_appended_is_read(journal):
    assert reopened(journal.path) == (RECORDS, journal.size)


def test_reading_goes_on_where_it_ended(journal):
    _, end = journal.read(journal.start)
    journal.append({"last": True})
    assert journal.read(end) == ([{"last": True}], journal.size)


def test_a_record_cut_short_at_any_byte_is_left_out_and_the_next_one_follows(journal):
    whole = journal.path.read_bytes()
    end = journal.size
    journal.append({"torn": "naïve"})
    torn = journal.path.read_bytes()[end:]
    for length in range(len(torn)):
        journal.path.write_bytes(whole + torn[:length])
        records, stop = reopened(journal.path)
        assert (records, stop) == (RECORDS, end)
        again = Journal(journal.path)
        again.cut(stop)
        again.append({"next": 1})
        again.close()
        assert reopened(journal.path)[0] == [*RECORDS, {"next": 1}]


def test_zeros_at_the_end_are_left_out(journal):
    journal.path.write_bytes(journal.path.read_bytes() + bytes(100))
    assert reopened(journal.path)[0] == RECORDS


@settings(max_examples=30)
@given(st.data())
def test_damage_before_whole_records_is_never_taken_for_a_crash(data):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.create(Path(folder, "writes.log"), {"base": "data"})
        journal.append(RECORDS[0])
        end = journal.size
        journal.append(RECORDS[1])
        content = bytearray(journal.path.read_bytes())
        place = data.draw(st.integers(Journal.start, end - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        journal.path.write_bytes(content)
        with pytest.raises(DamagedJournalError, match="is damaged and others follow it"):
            journal.read(journal.start)
        journal.close()


def test_damage_to_the_first_record_is_never_taken_for_a_crash(tmp_path):
    journal = Journal.create(tmp_path / "writes.log", {"base": "data"})
    whole = journal.path.read_bytes()
    for place in range(Journal.start, len(whole)):
        for damaged in (whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], whole[:place]):
            journal.path.write_bytes(damaged)
            with pytest.raises(DamagedJournalError, match=r"in the first record of writes\.log, but it is"):
                journal.read(journal.start)
    journal.close()


def test_a_first_record_of_another_kind_is_damage(tmp_path):
    journal = Journal.create(tmp_path / "writes.log", {"other": "data"})
    with pytest.raises(DamagedJournalError, match="Expected the name of a model's data"):
        journal.read(journal.start)
    journal.close()


def test_records_that_are_gone_are_noticed(journal):
    end = journal.size
    os.truncate(journal.path, end - 1)
    with pytest.raises(DamagedJournalError, match=f"Expected at least {end} bytes in writes.log, but it has {end - 1}"):
        journal.read(end)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "writes.log").write_bytes(b"something else")
    with pytest.raises(ValueError, match="Expected a journal of version 1"):
        Journal(tmp_path / "writes.log")


def fail(patch, name, times=None):
    """Let a call fail, always or so many times; return what it was called with afterwards."""
    real, called = getattr(os, name), []

    def call(*arguments):
        called.append(arguments)
        if times is None or len(called) <= times:
            raise OSError(5, "Input/output error")
        return real(*arguments)

    patch.setattr(os, name, call)
    return called


def test_a_write_that_fails_leaves_the_file_as_it_was_on_the_disk_too(journal, monkeypatch):
    before = journal.path.read_bytes()
    flushed = fail(monkeypatch, "fsync", times=1)
    with pytest.raises(OSError, match="Input/output error") as caught:
        journal.append({"lost": True})
    assert not isinstance(caught.value, UncertainWriteError)
    assert len(flushed) == 2
    assert journal.path.read_bytes() == before
    with journal.locked():
        journal.append({"next": 1})
    assert reopened(journal.path)[0] == [*RECORDS, {"next": 1}]


def test_a_write_that_fails_and_cannot_be_undone_is_said_to_be_uncertain(journal, monkeypatch):
    with monkeypatch.context() as patch:
        fail(patch, "fsync")
        fail(patch, "ftruncate")
        with pytest.raises(UncertainWriteError, match="Input/output error"):
            journal.append({"perhaps": True})
    assert reopened(journal.path)[0] == [*RECORDS, {"perhaps": True}]


@pytest.mark.parametrize("name", ["append", "sync", "cut"])
def test_after_a_disk_failed_a_journal_is_not_used_until_it_is_opened_again(journal, monkeypatch, name):
    """The record may be in memory only, and the next flush may be reported as a success all the same."""
    end = journal.size
    with journal.path.open("ab") as file:
        file.write(b"torn")
    actions = {
        "append": lambda: journal.append({"perhaps": True}),
        "sync": journal.sync,
        "cut": lambda: journal.cut(end),
    }
    with monkeypatch.context() as patch:
        fail(patch, "fsync")
        with pytest.raises(UncertainWriteError if name == "append" else FailedDiskError):
            actions[name]()
    with pytest.raises(FailedDiskError, match="until the service is started again"), journal.locked():
        pass
    again = Journal(journal.path)
    with again.locked():
        assert reopened(journal.path)[0] == RECORDS
    again.close()


def test_a_journal_is_written_again_as_it_is(journal, monkeypatch):
    before, inode = journal.path.read_bytes(), journal.path.stat().st_ino
    journal.renew()
    assert (journal.path.read_bytes(), journal.path.stat().st_ino) == (before, inode)
    fail(monkeypatch, "fsync")
    with pytest.raises(FailedDiskError):
        journal.renew()


def test_what_is_cut_off_is_logged(journal, caplog):
    end = journal.size
    journal.cut(end)
    assert not caplog.messages
    journal.path.write_bytes(journal.path.read_bytes() + bytes(7))
    journal.cut(end)
    assert caplog.messages == ["writes.log: cut off 7 bytes of a write that was never acknowledged"]
    assert journal.size == end


def test_reads_that_come_short_are_gone_on_with(journal, monkeypatch):
    whole = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, size, start: whole(descriptor, min(size, 50), start))
    assert reopened(journal.path) == (RECORDS, journal.size)
