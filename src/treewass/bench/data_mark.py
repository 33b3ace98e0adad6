"""Which data stored rows are of: a mark in the folder of rows, so that rows of two data folders never mix."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from treewass.bench.datasets import PAPER_SETS, data_folder
from treewass.saving import replacing

__all__ = ["mark_data", "read_mark"]

_NAME = "data.json"
_FILES = (*(f"{name}.jsonl.gz" for name in PAPER_SETS), "splits.json.gz", "stop_words.txt", "word_vectors.npz")


def mark_data(rows: Path, data: str | os.PathLike[str] | None = None) -> None:
    """Write down which data the rows of a folder are of, or check that they are of these.

    Parameters
    ----------
    rows : Path
        The folder of rows; made if it is not there.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.

    Raises
    ------
    ValueError
        If the folder holds rows of other data.
    """
    folder = data_folder(data)
    found = {name: _digest(folder / name) for name in _FILES if (folder / name).exists()}
    known = read_mark(rows)
    if known is None:
        rows.mkdir(parents=True, exist_ok=True)
        mark = {"files": found, "vectors": _vectors(folder / "word_vectors.npz")}
        with replacing(rows / _NAME) as place:
            place.write_text(json.dumps(mark, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    other = sorted(name for name in known["files"].keys() | found.keys() if known["files"].get(name) != found.get(name))
    if other:
        raise ValueError(
            f"Expected the data that the rows in {rows} were measured on, but {', '.join(other[:5])} in {folder} "
            "differ. Give another folder for the rows: --output FOLDER."
        )


def read_mark(rows: Path) -> dict[str, Any] | None:
    """Read which data the rows of a folder are of.

    Parameters
    ----------
    rows : Path
        The folder of rows.

    Returns
    -------
    dict or None
        ``files``, the SHA-256 of each, and ``vectors``, their ``words`` and ``dimensions``; None if there
        is no mark.
    """
    path = rows / _NAME
    if not path.exists():
        return None
    mark: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return mark


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _vectors(path: Path) -> dict[str, int] | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        n_words, n_dimensions = arrays["vectors"].shape
    return {"words": int(n_words), "dimensions": int(n_dimensions)}
