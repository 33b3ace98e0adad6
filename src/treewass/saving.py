"""Writing to a folder so that a crash leaves the old content or the new: locks, temporary names, sealed manifests."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = [
    "alone",
    "check_file",
    "check_folder",
    "describe_file",
    "flush",
    "manifest_hash",
    "replace_manifest",
    "replacing",
    "temporary",
]

_SAVING = threading.RLock()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one thread, and where the file system can lock folders one process, save to a folder at a time.

    Parameters
    ----------
    folder : Path
        An existing folder.
    """
    with _SAVING:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(ImportError, OSError):
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


@contextmanager
def temporary(folder: Path, ending: str) -> Iterator[Path]:
    """Choose a name that nobody else uses; whatever file still has it in the end goes.

    Parameters
    ----------
    folder : Path
        Where the file will stand.
    ending : str
        Of the name, without a dot.
    """
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
    """Let a file be written under another name; it takes the place of `path`, in one step, if all went well.

    Parameters
    ----------
    path : Path
        The file to write or replace.

    Yields
    ------
    Path
        Where to write.
    """
    with temporary(path.parent, path.suffix[1:] or "new") as written:
        yield written
        flush(written)
        written.replace(path)
    flush(path.parent)


def check_folder(path: Path) -> None:
    """Demand a folder to write a file to, before the work that ends in it.

    Parameters
    ----------
    path : Path
        The file to write.

    Raises
    ------
    ValueError
        If its folder is not there, or a folder has its name.
    """
    if not path.parent.is_dir():
        raise ValueError(f"Expected a folder to write {path.name} to, but there is none at {path.parent}.")
    if path.is_dir():
        raise ValueError(f"Expected a file to write to, but {path} is a folder.")


def manifest_hash(manifest: dict[str, Any]) -> str:
    """Hash all of a manifest but its hash.

    Examples
    --------
    >>> manifest_hash({"version": 1}) == manifest_hash({"version": 1, "sha256": "…"})
    True
    """
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def replace_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Put a manifest, which holds its own hash, in the place of the one before, in one step.

    Parameters
    ----------
    path : Path
        The manifest's file.
    manifest : dict
        What JSON can hold.
    """
    with replacing(path) as written:
        written.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def describe_file(path: Path) -> dict[str, Any]:
    """Return the size of a file, as ``bytes``, and its hash, as ``sha256``."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def check_file(path: Path, n_bytes: int, digest: str | None) -> None:
    """Demand a file of a size and, if given, of a hash.

    Raises
    ------
    ValueError
        If it is another one.
    FileNotFoundError
        If there is none.
    """
    found = path.stat().st_size
    if found != n_bytes:
        raise ValueError(f"Expected {n_bytes} bytes in {path.name}, got {found}. The file is damaged.")
    if digest is not None and describe_file(path)["sha256"] != digest:
        raise ValueError(f"Expected {path.name} as it was written, but its hash differs: it is damaged.")
