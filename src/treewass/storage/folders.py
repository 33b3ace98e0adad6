"""Files and folders that a crash leaves whole: writing in one step, and locks between threads and processes."""

from __future__ import annotations

import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = [
    "LEFT_OVER",
    "alone",
    "check_folder",
    "file_size",
    "flush",
    "make_folder",
    "replacing",
    "temporary",
]

# The name of a file that was being written; earlier releases let safetensors choose the second kind.
LEFT_OVER = re.compile(r"\.treewass-[0-9a-f]{32}\.\w+|\.tmp[0-9A-Za-z]{6}")
_HELD: set[int] = set()  # the open folders that `alone` has locked


def file_size(path: Path) -> int:
    """Return the bytes of a file; refuse a folder, and a pipe or a device, which can keep its reader waiting."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"Expected a file at {path}, but it is a folder, a pipe or a device.")
    return found.st_size


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name a file in an OSError that names none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def temporary(folder: Path, ending: str) -> Iterator[Path]:
    """Choose a name that nobody else uses, with an ending (no dot); remove the file that still has it in the end."""
    path = folder / f".treewass-{uuid.uuid4().hex}.{ending}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield another name to write a file to; it takes the place of `path`, in one step, if all went well."""
    with _naming(path), temporary(path.parent, path.suffix[1:] or "new") as written:
        yield written
        flush(written)
        written.replace(path)
    flush(path.parent)


def check_folder(path: Path) -> None:
    """Refuse a file that cannot be written, because its folder is missing or a folder has its name."""
    if not path.parent.is_dir():
        raise ValueError(f"Expected a folder to write {path.name} to, but there is none at {path.parent}.")
    if path.is_dir():
        raise ValueError(f"Expected a file to write to, but {path} is a folder.")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, if it is not there; refuse the name of a file.

    Examples
    --------
    >>> make_folder(Path(__file__, "model"))
    Traceback (most recent call last):
        ...
    ValueError: Expected a folder to save to, but ...folders.py is a file. Choose another name.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        file = next((one for one in (path, *path.parents) if one.exists() or one.is_symlink()), path)
        what = "a file" if file.exists() else "a link to nothing"
        raise ValueError(f"Expected a folder to save to, but {file} is {what}. Choose another name.") from error


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Let one thread of one process write to a folder at a time; False where the file system cannot lock folders."""
    descriptor = os.open(folder, os.O_RDONLY)
    _HELD.add(descriptor)
    locked = False
    try:
        with suppress(ImportError, OSError):  # on Windows, and on some network drives
            _lock(descriptor, True)
            locked = True
        with _naming(folder):
            yield locked
    finally:
        if descriptor in _HELD:  # not in a child that was forked meanwhile
            _HELD.remove(descriptor)
            if locked:
                _lock(descriptor, False)  # for such a child, too
            os.close(descriptor)


def _lock(descriptor: int, taken: bool) -> None:
    """Take the lock of an open folder, or give it back; the system does so when its holder ends, however it ends."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX if taken else fcntl.LOCK_UN)


def _close_held() -> None:
    """Close what a forked child has of its parent's locks, lest they outlive the parent."""
    for descriptor in _HELD:
        os.close(descriptor)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_held)
