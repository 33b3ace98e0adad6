"""An index in shards in a folder: a manifest, and a data folder with a part for each shard, an index by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from treewass.search.index import TreeIndex
from treewass.search.index_folder import load_index
from treewass.search.shard_answers import Shard
from treewass.storage.data_folders import DATA_NAME, new_data
from treewass.storage.folders import flush
from treewass.storage.manifests import ManifestKind, are_described, check_file, describe_file
from treewass.trees.metric import TreeMetric

__all__ = [
    "PART_NAME",
    "are_parts",
    "holds_shards",
    "load_parts",
    "load_shards",
    "part_folders",
    "part_manifest",
    "refuse_missing",
    "save_parts",
    "save_shards",
]

_KIND = ManifestKind(
    "an index in shards", "treewass sharded index", (1,), "Build the index again with this version of treewass."
)
PART_NAME = re.compile(r"index(-[0-9]+)?")


def part_manifest(part: str) -> str:
    """Return where the manifest of a part is, below its data folder."""
    return f"{part}/manifest.json"


def save_shards(folder: str | os.PathLike[str], shards: Sequence[Shard]) -> None:
    """Write shards, all of them or nothing.

    Parameters
    ----------
    folder : path-like
        Made, or replaced if it holds an index in shards.
    shards : sequence of Shard
        Those of one index.

    Raises
    ------
    ValueError
        If the folder holds something else.
    """
    path = Path(folder)
    with new_data(path, _KIND) as data:
        data.mkdir()
        parts = save_parts(data, shards)
        flush(data)
        files = {name: describe_file(data / name) for name in map(part_manifest, parts)}
        flush(path)  # the data folder's name, before a manifest names it
        _KIND.write(path, {"data": data.name, "parts": parts, "files": files})


def load_shards(
    folder: str | os.PathLike[str], *, mmap: bool, check: Literal["later", "numbers", "documents"]
) -> list[TreeIndex]:
    """Read the shards that `save_shards` wrote, or map their documents into memory; parameters as in `load_index`.

    Raises
    ------
    ValueError
        If the folder holds no index in shards, one of another version, a damaged one, or one with a part missing.
    """
    path = Path(folder)

    def load(manifest: dict[str, Any]) -> list[TreeIndex]:
        return load_parts(*_checked(manifest, path), mmap=mmap, check=check)

    return _KIND.read_listed(path, load)


def holds_shards(folder: Path) -> bool:
    """Tell whether a folder holds an index in shards, of whatever version."""
    try:
        _KIND.recognize(folder)
    except ValueError:
        return False
    return True


def part_folders(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the folders of the shards that `save_shards` wrote, each an index by itself; raises as `load_shards`."""
    path = Path(folder)
    data, parts = _KIND.read_listed(path, lambda manifest: _checked(manifest, path))
    return [data / part for part in parts]


def _checked(manifest: dict[str, Any], path: Path) -> tuple[Path, list[str]]:
    """Check that a manifest lists parts, and that they are there; return their data folder and their names."""
    data, parts, files = manifest.get("data"), manifest.get("parts", ()), manifest.get("files", {})
    if not (
        isinstance(data, str)
        and DATA_NAME.fullmatch(data)
        and are_parts(parts)
        and are_described(files)
        and set(map(part_manifest, parts)) == set(files)
    ):
        raise ValueError(f"Expected the {_KIND.file} of {path} to list the parts of an index: it is damaged.")
    refuse_missing(path / data, parts)
    for name, described in files.items():
        check_file(path / data / name, described)
    return path / data, parts


def save_parts(data: Path, shards: Sequence[Shard]) -> list[str]:
    """Write a part for each shard into a data folder; return their names."""
    parts = [f"index-{number}" for number in range(len(shards))]
    for part, shard in zip(parts, shards, strict=True):
        shard.save(data / part)
    return parts


def load_parts(
    data: Path, parts: Sequence[str], *, mmap: bool, check: Literal["later", "numbers", "documents"]
) -> list[TreeIndex]:
    """Read the parts in a data folder as indexes; a metric that several of them have is read once."""
    metrics: dict[tuple[str, int], TreeMetric] = {}
    return [TreeIndex._of(*load_index(data / part, mmap=mmap, check=check, metrics=metrics)) for part in parts]


def are_parts(parts: Any) -> bool:
    """Tell whether a value of JSON lists the names of parts, each once."""
    return (
        isinstance(parts, list)
        and len(parts) > 0
        and all(isinstance(name, str) and PART_NAME.fullmatch(name) for name in parts)
        and len(set(parts)) == len(parts)
    )


def refuse_missing(data: Path, parts: Sequence[str]) -> None:
    """Refuse a data folder without one of its parts: an answer from the others would lack documents."""
    missing = [part for part in parts if not (data / part).is_dir()]
    if missing:
        raise ValueError(
            f"Expected all {len(parts)} parts of the index in {data}, but some are missing: {', '.join(missing[:5])}. "
            "Put them back, or build the index again."
        )
