"""Faults that are real: files that cannot grow, a disk that is full."""

from __future__ import annotations

import resource
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest


@contextmanager
def files_of_at_most(n_bytes):
    """Let no file of this process grow beyond a size; writing more is an OSError, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class SmallDisk(NamedTuple):
    """A file system of its own, in memory."""

    path: Path
    page: int

    def leave(self, n_bytes):
        """Fill the disk but for some bytes."""
        ballast = self.path / "ballast"
        ballast.unlink(missing_ok=True)
        free = shutil.disk_usage(self.path).free
        ballast.write_bytes(bytes(max(0, free - n_bytes)))


@contextmanager
def full_disk(path, n_bytes):
    """Mount a small disk; skip the test where that is not allowed."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a tmpfs cannot be mounted here ({error})")
    try:
        yield SmallDisk(path, resource.getpagesize())
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
