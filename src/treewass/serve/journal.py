"""A log of writes: a record is on the disk before the write it holds is acknowledged.

The file begins with a line that names the format. Each record after it is a mark, a length, a checksum and JSON. A
crash during a write leaves part of the last record, which is cut off; damage with whole records after it is an error.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from treewass.saving import flush, temporary
from treewass.serve.locks import lock_file, unlock_file

__all__ = [
    "DamagedJournalError",
    "FailedDiskError",
    "Journal",
    "Record",
    "UncertainWriteError",
]

Record = dict[str, Any]
_LOGGER = logging.getLogger("treewass.serve")
_HEADER = b"treewass journal 1\n"
_MARK = b"\xffTWR"  # begins a record; UTF-8 never holds its first byte
_FAILED = "The disk failed to keep an earlier write: nothing more is written until the service is started again."
_FRAME = struct.Struct("<4sII")  # the mark, then length and checksum of the JSON that follows


class DamagedJournalError(ValueError):
    """A journal does not hold what was written to it."""


class UncertainWriteError(OSError):
    """A write failed, and it is not known whether it is in the journal."""


class FailedDiskError(OSError):
    """The disk failed earlier: what is read from the journal may be in memory only, so it is not used any more."""


class Journal:
    """A file that records are appended to.

    Parameters
    ----------
    path : Path
        A journal that `create` made.

    Raises
    ------
    ValueError
        If the file is something else.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal.create(Path(folder, "writes.log"), {"base": "a"})
    ...     with journal.locked():
    ...         end = journal.append({"operation": "remove", "ids": [3]})
    ...     records, whole = journal.read(journal.start)
    ...     journal.close()
    >>> records, whole == end
    ([{'base': 'a'}, {'operation': 'remove', 'ids': [3]}], True)
    """

    start = len(_HEADER)

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_failed = False
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        if os.pread(self._descriptor, len(_HEADER), 0) != _HEADER:
            self.close()
            raise ValueError(f"Expected a journal of version 1 in {path.name}, but the file is something else.")

    @classmethod
    def create(cls, path: Path, first: Record) -> Journal:
        """Make a journal with its first record, in one step, and open it.

        Parameters
        ----------
        path : Path
            Replaced if it is there.
        first : dict
            What JSON can hold; ``base`` names the data that the writes follow.
        """
        with temporary(path.parent, "log") as new:
            new.write_bytes(_HEADER + _framed(first))
            flush(new)
            new.replace(path)
        flush(path.parent)
        return cls(path)

    @property
    def size(self) -> int:
        """Bytes of the file, now."""
        return os.fstat(self._descriptor).st_size

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process at a time append, or read what others have appended; threads see to themselves.

        Raises
        ------
        FailedDiskError
            If the disk has failed to keep what was written: a system may then report the next flush as a success.
        """
        if self._descriptor < 0:
            raise OSError(errno.EBADF, "the journal is closed")
        if self._has_failed:
            raise FailedDiskError(errno.EIO, _FAILED)
        lock_file(self._descriptor)
        try:
            yield
        finally:
            unlock_file(self._descriptor)

    def read(self, start: int) -> tuple[list[Record], int]:
        """Read the whole records from some place on.

        Parameters
        ----------
        start : int
            Where a record begins.

        Returns
        -------
        records : list of dict
        end : int
            Where the last whole record ends; what follows is part of one that was never acknowledged.

        Raises
        ------
        DamagedJournalError
            If a record that others follow is damaged, or the first one, which is never written in parts; or if the file
            ends before that place.
        """
        parts, reached, stop = [], start, self.size
        if stop < start:
            raise DamagedJournalError(
                f"Expected at least {start} bytes in {self.path.name}, but it has {stop}: records that were there are "
                "gone. Restore the file from a copy."
            )
        while reached < stop:  # one call reads two gigabytes at most
            part = os.pread(self._descriptor, min(stop - reached, 1 << 26), reached)
            if not part:
                raise OSError(f"{self.path.name} ended while it was read.")
            parts.append(part)
            reached += len(part)
        data = b"".join(parts)
        records, place = [], 0
        while place < len(data):
            payload = _payload(data, place)
            if payload is None:
                self._refuse_damage(data, place, start)
                break
            records.append(json.loads(payload))
            place += _FRAME.size + len(payload)
        if start == self.start and not (records and "base" in records[0]):
            raise DamagedJournalError(
                f"Expected the name of a model's data in the first record of {self.path.name}, but it is damaged. "
                "Restore the file from a copy; to give up its writes, move it away."
            )
        return records, start + place

    def append(self, record: Record) -> int:
        """Append a record and wait until it is on the disk; the caller holds the lock and has cut the file.

        Parameters
        ----------
        record : dict
            What JSON can hold.

        Returns
        -------
        int
            Where it ends.

        Raises
        ------
        OSError
            If it cannot be written, on a full disk for instance, or if the file has been removed, so that nobody would
            find what is written to it; then the file is as it was.
        UncertainWriteError
            If that cannot be said, since the file could not be cut either: the record may be read from it later.
        """
        if os.fstat(self._descriptor).st_nlink == 0:
            raise OSError(errno.ENOENT, "the journal was removed or replaced, start the service again")
        before = self.size
        data = memoryview(_framed(record))
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            try:
                self._cut(before)
            except OSError:
                raise UncertainWriteError(error.errno, error.strerror) from error
            raise
        return self.size

    def cut(self, end: int) -> None:
        """Cut off what follows the last whole record."""
        left = self.size - end
        if left > 0:
            _LOGGER.warning("%s: cut off %d bytes of a write that was never acknowledged", self.path.name, left)
            self._cut(end)

    def sync(self) -> None:
        """Wait until all of the file is on the disk, whoever wrote it."""
        with self._noting_failure():
            os.fsync(self._descriptor)

    def renew(self) -> None:
        """Write all of the file again, byte for byte where it stands, and wait until it is on the disk.

        What a service whose disk failed has left may be in memory only, and pass for written.
        """
        with self._noting_failure(), self.path.open("r+b") as file:
            while part := file.read(1 << 26):
                file.seek(-len(part), os.SEEK_CUR)
                file.write(part)
                file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Close the file; once is enough."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _cut(self, end: int) -> None:
        with self._noting_failure():
            os.ftruncate(self._descriptor, end)
            os.fsync(self._descriptor)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._has_failed = True
            raise FailedDiskError(error.errno, _FAILED) from error

    def _refuse_damage(self, data: bytes, place: int, start: int) -> None:
        """Tell a record that a crash cut short, which no other follows, from damage."""
        later = data.find(_MARK, place + 1)
        while later >= 0:
            if _payload(data, later) is not None:
                raise DamagedJournalError(
                    f"Expected whole records in {self.path.name}, but the one at byte {start + place} is damaged and "
                    "others follow it. Restore the file from a copy; to give up what follows, cut it there."
                )
            later = data.find(_MARK, later + 1)


def _framed(record: Record) -> bytes:
    payload = json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
    return _FRAME.pack(_MARK, len(payload), zlib.crc32(payload)) + payload


def _payload(data: bytes, place: int) -> bytes | None:
    """Return the JSON of a whole and sound record."""
    if place + _FRAME.size > len(data):
        return None
    mark, length, checksum = _FRAME.unpack_from(data, place)
    payload = data[place + _FRAME.size : place + _FRAME.size + length]
    return payload if mark == _MARK and len(payload) == length and zlib.crc32(payload) == checksum else None
