"""Training of the supervised word mover's distance in a folder: written whole, resumed to the bit."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treewass.distances.swmd_loss import SwmdMetric
from treewass.distances.swmd_training import SwmdRecord, SwmdState
from treewass.saving import replacing
from treewass.search.tensor_files import read_tensors, write_tensors

__all__ = ["load_checkpoint", "save_checkpoint"]

_FORMAT, _VERSION, _MANIFEST = "treewass S-WMD training", 1, "checkpoint.json"
_METRICS = ("metric", "best", "first", "second")
_ARRAYS = ("linear_map", "log_weights")


def save_checkpoint(folder: str | os.PathLike[str], state: SwmdState, identity: str) -> None:
    """Write the state of training; a crash at any moment leaves the one before or this one.

    Parameters
    ----------
    folder : path-like
        Made, or one with a checkpoint.
    state : SwmdState
        What to write.
    identity : str
        Fingerprint of documents and settings.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    name = f"step-{len(state.records):08d}.safetensors"
    arrays = {f"{metric}.{array}": getattr(getattr(state, metric), array) for metric in _METRICS for array in _ARRAYS}
    with replacing(path / name) as written:
        write_tensors(written, arrays)
    manifest = {
        "format": _FORMAT,
        "version": _VERSION,
        "fingerprint": identity,
        "file": name,
        "best_loss": state.best_loss,
        "records": [asdict(record) for record in state.records],
    }
    with replacing(path / _MANIFEST) as written:
        written.write_text(json.dumps(manifest) + "\n", encoding="utf-8")
    for old in path.glob("step-*.safetensors"):
        if old.name != name:
            old.unlink(missing_ok=True)


def load_checkpoint(folder: str | os.PathLike[str], identity: str) -> SwmdState | None:
    """Read the state of training; None where there is none.

    Parameters
    ----------
    folder : path-like
        As given to `save_checkpoint`.
    identity : str
        Fingerprint of documents and settings.

    Returns
    -------
    SwmdState or None

    Raises
    ------
    ValueError
        If the folder holds the training of something else, or a damaged one.
    """
    path = Path(folder) / _MANIFEST
    if not path.exists():
        return None
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if (manifest["format"], manifest["version"]) != (_FORMAT, _VERSION):
            raise ValueError(f"Expected a checkpoint of version {_VERSION} in {folder}. Choose another folder.")
        if manifest["fingerprint"] != identity:
            raise ValueError(
                f"Expected the training of the same documents with the same settings in {folder}, but it is that of "
                "others. Choose another folder, or remove this one."
            )
        arrays = read_tensors(Path(folder) / Path(manifest["file"]).name, mmap=False)
        metrics = {name: SwmdMetric(*(arrays[f"{name}.{array}"] for array in _ARRAYS)) for name in _METRICS}
        records = [SwmdRecord(**record) for record in manifest["records"]]
        return SwmdState(**metrics, best_loss=manifest["best_loss"], records=records)
    except (KeyError, TypeError, OSError, json.JSONDecodeError) as error:
        raise ValueError(f"Expected a whole checkpoint in {folder}, but it is damaged: {error!r}.") from error
