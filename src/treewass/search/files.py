"""An index in a folder: safetensors files and a manifest that names them.

Files are named by their content and never changed; replacing the manifest, one rename, replaces the index. A crash
at any moment leaves the old index or the new one.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from treewass.saving import alone, check_file, describe_file, flush, manifest_hash, replace_manifest, temporary
from treewass.search.segment_checks import check_contents, check_shapes
from treewass.search.segments import Segment
from treewass.search.snapshots import Snapshot
from treewass.search.tensor_files import read_tensors, write_tensors
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

__all__ = ["load_index", "save_index"]

_FORMAT, _VERSION = "treewass index", 2  # in version 1 every tile was one piece
_MANIFEST = "manifest.json"
_TREE_ARRAYS = ("parents", "edge_lengths", "word_nodes", "leaf_lengths")
_FILE_NAME = re.compile(r"[0-9a-f]{32}\.safetensors")
_LEFT_OVER = re.compile(r"\.treewass-[0-9a-f]{32}\.(safetensors|json)")
_ATTEMPTS = 20  # to load an index that is replaced meanwhile
_SEGMENT_ARRAYS = tuple(field.name for field in fields(Segment) if field.name not in ("shift", "n_words"))


def save_index(folder: str | os.PathLike[str], metric: TreeMetric, snapshot: Snapshot) -> None:
    """Write an index, all of it or nothing.

    Parameters
    ----------
    folder : path-like
        Made, or replaced if it holds an index. Files that the index before did not list stay.
    metric : TreeMetric
        Trees and word masses.
    snapshot : Snapshot
        The documents.

    Raises
    ------
    ValueError
        If the folder holds something else.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    with alone(path):
        before = _files_to_replace(path)
        described = _write(path, metric, snapshot)
        for name in before - described:
            (path / name).unlink(missing_ok=True)


def _write(path: Path, metric: TreeMetric, snapshot: Snapshot) -> set[str]:
    """Write files, then the manifest that lists them; return their names."""
    described: dict[str, dict[str, Any]] = {}
    metric_file = _store(path, _metric_arrays(metric), described)
    segments = []
    for segment in snapshot.segments:
        arrays = {name: getattr(segment, name) for name in _SEGMENT_ARRAYS}
        segments.append({"file": _store(path, arrays, described), "shift": segment.shift})
    manifest: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "fraction_bits": metric.fraction_bits,
        "next_id": snapshot.next_id,
        "metric": metric_file,
        "segments": segments,
        "files": described,
    }
    manifest["sha256"] = manifest_hash(manifest)
    replace_manifest(path / _MANIFEST, manifest)
    return set(described)


def _files_to_replace(folder: Path) -> set[str]:
    """List the files of the index in a folder; refuse a folder that holds something else."""
    names = {file.name for file in folder.iterdir()}
    if _MANIFEST not in names:
        others = sorted(name for name in names if not (_FILE_NAME.fullmatch(name) or _LEFT_OVER.fullmatch(name)))
        if others:
            raise ValueError(
                f"Expected an empty folder or one with an index, but {folder} holds other files: {others[:5]}."
            )
        return set()
    try:
        listed = _own_manifest(folder).get("files")
    except ValueError as error:
        raise ValueError(
            f"Expected an empty folder or one with an index, nothing is written to {folder}: {error}"
        ) from error
    return {name for name in listed if _FILE_NAME.fullmatch(name)} if isinstance(listed, dict) else set()


def load_index(folder: str | os.PathLike[str], *, mmap: bool, verify: bool) -> tuple[TreeMetric, Snapshot]:
    """Read an index, or map its documents into memory.

    Parameters
    ----------
    folder : path-like
        As given to `save_index`.
    mmap : bool
        Map the documents instead of reading them.
    verify : bool
        Check the hash of every file and all invariants, which reads every byte.

    Returns
    -------
    metric : TreeMetric
    snapshot : Snapshot

    Raises
    ------
    ValueError
        If the folder holds no index, one of another version, or a damaged one.
    """
    path = Path(folder)
    manifest = _read_manifest(path)
    for _ in range(_ATTEMPTS):
        try:
            return _load(path, manifest, mmap, verify)
        except FileNotFoundError as error:
            missing, tried = error, manifest
        manifest = _read_manifest(path)
        if manifest == tried:
            break
    raise ValueError(f"Expected a whole index in {path}, but it lacks something: {missing!r}.") from missing


def _load(path: Path, manifest: dict[str, Any], mmap: bool, verify: bool) -> tuple[TreeMetric, Snapshot]:
    """Read what a manifest lists; a file that is not there may mean that the index has been replaced."""
    try:
        for name, described in manifest["files"].items():
            is_metric = name == manifest["metric"]
            check_file(path / name, described["bytes"], described["sha256"] if verify or is_metric else None)
        metric = _metric_of(read_tensors(path / manifest["metric"], mmap=False), manifest["fraction_bits"])
        segments = [
            _load_segment(path / entry["file"], entry["shift"], metric, mmap, verify, manifest["version"])
            for entry in manifest["segments"]
        ]
        snapshot = Snapshot(tuple(segments), manifest["next_id"])
    except FileNotFoundError:
        raise
    except (KeyError, TypeError, OSError) as error:
        raise ValueError(f"Expected a whole index in {path}, but it lacks something: {error!r}.") from error
    above = any(segment.ids[-1] >= snapshot.next_id for segment in segments)
    if above or (verify and (snapshot.ids[1:] == snapshot.ids[:-1]).any()):
        raise ValueError(
            f"Expected unique ids below {snapshot.next_id} in {path}. The manifest does not fit its files."
        )
    return metric, snapshot


def _load_segment(path: Path, shift: int, metric: TreeMetric, mmap: bool, verify: bool, version: int) -> Segment:
    arrays = read_tensors(path, mmap=mmap)
    if set(arrays) != set(_SEGMENT_ARRAYS):
        raise ValueError(f"Expected the arrays {', '.join(_SEGMENT_ARRAYS)} in {path.name}, got {', '.join(arrays)}.")
    if version == 1:
        arrays["dense"] = arrays["dense"][:, None]
    segment = Segment(**arrays, shift=shift, n_words=metric.n_words)
    check_shapes(segment, metric, path.name)
    if verify:
        check_contents(segment, path.name)
    return segment


def _store(folder: Path, arrays: dict[str, Any], described: dict[str, dict[str, Any]]) -> str:
    """Write arrays to a file named by its content, describe it, and return its name."""
    with temporary(folder, "safetensors") as new:
        write_tensors(new, arrays)
        flush(new)
        description = describe_file(new)
        name = f"{description['sha256'][:32]}.safetensors"
        described[name] = description
        new.replace(folder / name)
    return name


def _metric_arrays(metric: TreeMetric) -> dict[str, Any]:
    arrays = {
        f"{name}.{number}": getattr(tree, name) for number, tree in enumerate(metric.trees) for name in _TREE_ARRAYS
    }
    return {**arrays, "masses": metric.masses}


def _metric_of(arrays: dict[str, Any], fraction_bits: int) -> TreeMetric:
    """Make the metric anew, which checks every invariant of trees and masses."""
    n_trees = (len(arrays) - 1) // len(_TREE_ARRAYS)
    trees = [Tree(*(arrays[f"{name}.{number}"] for name in _TREE_ARRAYS)) for number in range(n_trees)]
    return TreeMetric(trees, arrays["masses"], fraction_bits)


def _own_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest, refusing another format."""
    path = folder / _MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"Expected an index in {folder}, but its {_MANIFEST} cannot be read: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ValueError(f"Expected an index in {folder}, but its {_MANIFEST} describes something else.")
    return manifest


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest, refusing another format, another version, and damage."""
    manifest = _own_manifest(folder)
    if manifest.get("version") not in (1, _VERSION):
        raise ValueError(
            f"Expected an index of version 1 or {_VERSION}, got version {manifest.get('version')!r} in {folder}. "
            "Build it anew with this version of treewass."
        )
    if manifest.get("sha256") != manifest_hash(manifest):
        raise ValueError(
            f"Expected the {_MANIFEST} of {folder} as it was written, but its hash differs: it is damaged."
        )
    _check_entries(manifest, folder)
    return manifest


def _check_entries(manifest: dict[str, Any], folder: Path) -> None:
    """Demand entries of the right kinds, and names of files in this folder that fit together."""
    names = ("files", "segments", "next_id", "fraction_bits", "metric")
    listed, segments, next_id, bits, metric = (manifest.get(name) for name in names)
    _demand(_have_kinds(listed, dict, bytes=int, sha256=str), folder, f"files with bytes and sha256, got {listed!r}")
    _demand(_have_kinds(segments, list, file=str, shift=int), folder, f"a list of segments, got {segments!r}")
    _demand(type(next_id) is int and 0 <= next_id <= 2**63, folder, f"next_id from 0 to 2**63, got {next_id!r}")
    _demand(type(bits) is int, folder, f"fraction_bits as a whole number, got {bits!r}")
    _demand(isinstance(metric, str), folder, f"metric as the name of a file, got {metric!r}")
    listed_names, used = set(listed or ()), {str(metric), *(entry["file"] for entry in segments or ())}
    foreign = sorted(name for name in used | listed_names if not _FILE_NAME.fullmatch(name))
    _demand(not foreign, folder, f"names of 32 hexadecimal digits and .safetensors, got {foreign[:5]}")
    differing = sorted(used ^ listed_names)
    _demand(not differing, folder, f"the same files listed and used, but these are not: {differing[:5]}")


def _have_kinds(entries: Any, kind: type[Any], **kinds: type) -> bool:
    """Whether a dict or list holds dicts, each with values of some kinds."""
    if not isinstance(entries, kind):
        return False
    values = entries.values() if isinstance(entries, dict) else entries
    return all(isinstance(value, dict) and all(type(value.get(k)) is kinds[k] for k in kinds) for value in values)


def _demand(holds: bool, folder: Path, expected: str) -> None:
    if not holds:
        raise ValueError(f"Expected {expected} in the {_MANIFEST} of {folder}: it is damaged or not written by `save`.")
