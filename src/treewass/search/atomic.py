"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["flush", "replacing", "temporary"]


@contextmanager
def temporary(folder: Path, ending: str) -> Iterator[Path]:
    """Choose a name that nobody else uses; whatever still has it in the end goes.

    Parameters
    ----------
    folder : Path
        Where the file will be.
    ending : str
        Of its name.

    Yields
    ------
    Path
    """
    path = folder / f".treewass-{uuid.uuid4().hex}.{ending}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Let a file be written under another name; it takes the place of `path` if all went well.

    Parameters
    ----------
    path : Path
        The file to write or replace.

    Yields
    ------
    Path
        Where to write.
    """
    with temporary(path.parent, path.name) as written:
        yield written
        flush(written)
        written.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
