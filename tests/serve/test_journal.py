import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewass.serve.journal import DamagedJournalError, Journal, UncertainWriteError

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


def test_records_that_are_gone_are_noticed(journal):
    end = journal.size
    os.truncate(journal.path, end - 1)
    with pytest.raises(DamagedJournalError, match=f"Expected at least {end} bytes in writes.log, but it has {end - 1}"):
        journal.read(end)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "writes.log").write_bytes(b"something else")
    with pytest.raises(ValueError, match="Expected a journal of version 1"):
        Journal(tmp_path / "writes.log")


def test_a_write_that_fails_leaves_the_file_as_it_was(journal, monkeypatch):
    before = journal.path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        journal.append({"lost": True})
    assert journal.path.read_bytes() == before


def test_a_write_that_fails_and_cannot_be_undone_is_said_to_be_uncertain(journal, monkeypatch):
    def broken(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        patch.setattr("os.ftruncate", broken)
        with pytest.raises(UncertainWriteError, match="Input/output error"):
            journal.append({"perhaps": True})
    assert reopened(journal.path)[0] == [*RECORDS, {"perhaps": True}]


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
