"""Locks between the processes of a service, and between services of one model; they end with who holds them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treewass.model.files import data_name

__all__ = ["lock_file", "serving", "sharing", "unlock_file"]

_LOGGER = logging.getLogger("treewass.serve")
_LOCK, _WORKERS_LOCK = ".service.lock", ".workers.lock"


def lock_file(descriptor: int, *, wait: bool = True, shared: bool = False) -> None:
    """Lock an open file against other processes.

    Parameters
    ----------
    descriptor : int
        The open file.
    wait : bool, default=True
        Whether to wait for others; otherwise their lock is a BlockingIOError.
    shared : bool, default=False
        Whether others may hold it too, if they share it.

    Raises
    ------
    ImportError
        Where the system has no such locks.
    """
    try:
        import fcntl
    except ImportError as error:
        raise ImportError("The service needs file locks as Linux and macOS have them; on Windows use WSL.") from error
    fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


def unlock_file(descriptor: int) -> None:
    """Give a lock of `lock_file` back."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def serving(folder: Path) -> Iterator[None]:
    """Be the one service of a model.

    Parameters
    ----------
    folder : Path
        The model's folder.

    Raises
    ------
    ValueError
        If there is no model, then no file is made; or if another service runs on it.
    """
    data_name(folder)
    with _open_lock(folder / _LOCK) as descriptor:
        try:
            lock_file(descriptor, wait=False)
        except BlockingIOError:
            raise ValueError(
                f"Another service runs on the model in {folder}, or a LiveModel has it open. Stop it first, or give "
                "one service several workers."
            ) from None
        _await_workers(folder)
        yield


@contextmanager
def sharing(folder: Path) -> Iterator[None]:
    """Be one of the workers of a service."""
    with _open_lock(folder / _WORKERS_LOCK) as descriptor:
        lock_file(descriptor, shared=True)
        yield


def _await_workers(folder: Path) -> None:
    """Wait for workers whose service was killed; they end within seconds."""
    with _open_lock(folder / _WORKERS_LOCK) as descriptor:
        try:
            lock_file(descriptor, wait=False)
        except BlockingIOError:
            _LOGGER.info("waiting for the workers of a service that was killed")
            lock_file(descriptor)


@contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
