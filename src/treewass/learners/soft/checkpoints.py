"""Checkpoints of a training in a folder: safetensors files, and a JSON file that names them and holds their hashes.

Files are written under another name and moved into place; replacing the JSON file, one rename, replaces the
checkpoint. A crash at any moment leaves the old checkpoint or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewass.learners.soft.settings import EpochRecord
from treewass.learners.soft.training import Engine, Learned, Progress
from treewass.saving import check_file, describe_file, manifest_hash, replace_manifest, replacing
from treewass.search.tensor_files import read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Checkpoints"]

_FORMAT, _VERSION = "treewass training", 2
_MANIFEST = "training.json"


class Checkpoints:
    """The checkpoint of one training, replaced after every epoch.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    description : mapping
        All that the training depends on, as JSON values: a checkpoint of anything else is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], description: Mapping[str, Any]) -> None:
        self._folder = Path(folder)
        self._description = json.loads(json.dumps(description))
        self._best: dict[str, Any] | None = None  # the file of the best epoch, if it is written

    def save(self, engine: Engine, progress: Progress) -> None:
        """Write where a training is, all of it or nothing.

        Parameters
        ----------
        engine : Engine
            Whose arrays to keep.
        progress : Progress
            Records and the best epoch.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        state = self._store(f"epoch-{len(progress.records)}.safetensors", engine.state())
        if progress.best is not None:
            name = f"best-{progress.best_epoch}.safetensors"
            if self._best is None or self._best["file"] != name:
                self._best = self._store(name, progress.best.arrays())
        manifest: dict[str, Any] = {
            "format": _FORMAT,
            "version": _VERSION,
            "description": self._description,
            "steps": engine.steps,
            "state": state,
            "best": self._best,
            "best_epoch": progress.best_epoch,
            "records": [asdict(record) for record in progress.records],
        }
        manifest["sha256"] = manifest_hash(manifest)
        replace_manifest(self._folder / _MANIFEST, manifest)
        current = [entry["file"] for entry in (state, self._best) if entry is not None]
        for kind in ("epoch-*.safetensors", "best-*.safetensors"):
            for file in self._folder.glob(kind):
                if file.name not in current:
                    file.unlink()

    def resume(self, engine: Engine) -> Progress | None:
        """Put an engine where the checkpoint left it.

        Parameters
        ----------
        engine : Engine
            A new one.

        Returns
        -------
        Progress or None
            None if there is no checkpoint.

        Raises
        ------
        ValueError
            If the checkpoint is damaged, or one of other documents or settings.
        """
        path = self._folder / _MANIFEST
        if not path.exists():
            return None
        manifest = self._read_manifest(path)
        self._refuse_others(manifest["description"])
        try:
            best = None if manifest["best"] is None else Learned.from_arrays(self._load(manifest["best"], mmap=False))
            engine.restore(self._load(manifest["state"], mmap=True), manifest["steps"])
            records = [EpochRecord(**record) for record in manifest["records"]]
            progress = Progress(records, best, manifest["best_epoch"])
        except (KeyError, TypeError, ValueError, FileNotFoundError) as error:
            raise self._damaged(error) from error
        self._best = manifest["best"]
        return progress

    def _read_manifest(self, path: Path) -> dict[str, Any]:
        """Read the JSON file, and demand that it is of this version and as it was written."""
        try:
            manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            found = manifest["format"], manifest["version"]
            if found == (_FORMAT, _VERSION) and manifest["sha256"] != manifest_hash(manifest):
                raise ValueError(f"Expected {path.name} as it was written, but its hash differs.")
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(error) from error
        if found != (_FORMAT, _VERSION):
            raise ValueError(
                f"Expected a checkpoint of format {_FORMAT!r}, version {_VERSION}, in {self._folder}, got format "
                f"{found[0]!r}, version {found[1]!r}. Remove the folder to start anew."
            )
        return manifest

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(
            f"Expected a checkpoint in {self._folder}, but it is damaged: {error!r}. Remove the folder to start anew."
        )

    def _refuse_others(self, found: Mapping[str, Any]) -> None:
        """Demand the documents and settings that the checkpoint was made with."""
        names = sorted({*self._description, *found})
        other = [name for name in names if self._description.get(name) != found.get(name)]
        if other:
            raise ValueError(
                f"Expected a checkpoint of the same documents and settings in {self._folder}, but these differ: "
                f"{', '.join(other)}. Choose another folder, or remove this one to start anew."
            )

    def _store(self, name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Write arrays to a file; return its name, size and hash."""
        with replacing(self._folder / name) as written:
            write_tensors(written, arrays)
            return {"file": name, **describe_file(written)}

    def _load(self, entry: Mapping[str, Any], *, mmap: bool) -> dict[str, NDArray[Any]]:
        """Read the arrays of a file that is as it was written."""
        path = self._folder / Path(entry["file"]).name
        check_file(path, entry["bytes"], entry["sha256"])
        return read_tensors(path, mmap=mmap)
