"""Folders whose manifest names one sub-folder of data, which is never changed, only replaced by another one."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from treewass.storage.folders import LEFT_OVER, alone, make_folder
from treewass.storage.manifests import ManifestKind

__all__ = ["DATA_NAME", "new_data"]

DATA_NAME = re.compile(r"data-[0-9a-f]{32}")


@contextmanager
def new_data(path: Path, kind: ManifestKind) -> Iterator[Path]:
    """Yield a data folder, not made yet, to fill and then to name in the manifest, under `data`.

    The folder that the manifest named before is removed when all went well, the new one if anything failed before the
    manifest named it. What killed processes left is removed first. A folder that holds something else is refused.
    """
    make_folder(path)
    with alone(path) as locked:
        before = (kind.refuse_others(path, DATA_NAME) or {}).get("data")
        if locked:
            _remove(path, {entry.name for entry in path.iterdir()} - {before})
        data = path / f"data-{uuid.uuid4().hex}"
        try:
            yield data
        except BaseException:
            if not _is_named(path, kind, data.name):
                shutil.rmtree(data, ignore_errors=True)
            raise
        _remove(path, {before})


def _is_named(path: Path, kind: ManifestKind, name: str) -> bool:
    """Tell whether the manifest on the disk names a data folder: then the folder is what counts."""
    try:
        return kind.recognize(path).get("data") == name
    except ValueError:
        return False


def _remove(path: Path, names: set[Any]) -> None:
    """Remove data folders, and files that were being written; what others put there stays."""
    for name in filter(None, names):
        if DATA_NAME.fullmatch(name):
            shutil.rmtree(path / name, ignore_errors=True)
        elif LEFT_OVER.fullmatch(name):
            (path / name).unlink(missing_ok=True)
