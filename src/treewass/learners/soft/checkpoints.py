"""Checkpoints of a training in a folder: safetensors files, and a JSON file that names them.

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
from treewass.saving import replace_manifest, replacing
from treewass.search.tensor_files import read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Checkpoints"]

_FORMAT, _VERSION = "treewass training", 1
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
        epoch = len(progress.records)
        state, best = f"epoch-{epoch}.safetensors", None
        self._store(state, engine.state())
        if progress.best is not None:
            best = f"best-{progress.best_epoch}.safetensors"
            if not (self._folder / best).exists():
                self._store(best, progress.best.arrays())
        manifest = {
            "format": _FORMAT,
            "version": _VERSION,
            "description": self._description,
            "steps": engine.steps,
            "state": state,
            "best": best,
            "best_epoch": progress.best_epoch,
            "records": [asdict(record) for record in progress.records],
        }
        replace_manifest(self._folder / _MANIFEST, manifest)
        for kind in ("epoch-*.safetensors", "best-*.safetensors"):
            for file in self._folder.glob(kind):
                if file.name not in (state, best):
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
            for file in self._folder.glob("best-*.safetensors"):
                file.unlink()  # of a training that was killed before its first checkpoint
            return None
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if (manifest["format"], manifest["version"]) != (_FORMAT, _VERSION):
                raise ValueError(f"format {manifest['format']!r}, version {manifest['version']!r}")
            self._refuse_others(manifest["description"])
            best = None if manifest["best"] is None else self._load(manifest["best"])
            engine.restore(self._load(manifest["state"]), manifest["steps"])
            records = [EpochRecord(**record) for record in manifest["records"]]
            return Progress(records, None if best is None else Learned.from_arrays(best), manifest["best_epoch"])
        except (KeyError, TypeError, json.JSONDecodeError, FileNotFoundError) as error:
            raise ValueError(
                f"Expected a checkpoint in {self._folder}, but it is damaged: {error!r}. "
                "Remove the folder to start anew."
            ) from error

    def _refuse_others(self, found: Mapping[str, Any]) -> None:
        """Demand the documents and settings that the checkpoint was made with."""
        names = sorted({*self._description, *found})
        other = [name for name in names if self._description.get(name) != found.get(name)]
        if other:
            raise ValueError(
                f"Expected a checkpoint of the same documents and settings in {self._folder}, but these differ: "
                f"{', '.join(other)}. Choose another folder, or remove this one to start anew."
            )

    def _store(self, name: str, arrays: dict[str, NDArray[Any]]) -> None:
        with replacing(self._folder / name) as written:
            write_tensors(written, arrays)

    def _load(self, name: str) -> dict[str, NDArray[Any]]:
        return read_tensors(self._folder / Path(name).name, mmap=False)
