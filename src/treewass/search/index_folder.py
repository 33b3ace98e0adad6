"""An index in a folder: safetensors files and a manifest that names them.

Files are named by their content and never changed; replacing the manifest, one rename, replaces the index. A crash
at any moment leaves the old index or the new one. The manifest holds a hash and a checksum of each file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treewass.search.segment_checks import check_contents, check_documents, check_shapes
from treewass.search.segments import ARRAYS, BEYOND, Segment
from treewass.search.snapshot import Snapshot
from treewass.search.word_lists import LIST_ARRAYS, ListsOnce, WordLists, are_sound, check_lists
from treewass.storage.folders import LEFT_OVER, alone, flush, make_folder, temporary
from treewass.storage.manifests import ManifestKind, are_described, check_bytes, check_file, describe_file
from treewass.storage.tensors import arrays_in, file_bytes, read_tensors, write_tensors
from treewass.trees.columns import compact_directory
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_index", "save_index"]

_VERSIONS = (1, 2, 3, 4, 5)
_KIND = ManifestKind("an index", "treewass index", _VERSIONS, "Build the index again with this version of treewass.")
_WHOLE_DIRECTORY = 3  # up to this version the directory had an entry for each feature and tile
_TREE_ARRAYS = ("parents", "edge_lengths", "word_nodes", "leaf_lengths")
_FILE_NAME = re.compile(r"[0-9a-f]{32}\.safetensors")


def save_index(folder: str | os.PathLike[str], metric: TreeMetric, snapshot: Snapshot) -> None:
    """Write an index, all of it or nothing.

    Parameters
    ----------
    folder : path-like
        Made, or replaced if it holds an index. What killed saves left is removed.
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
    make_folder(path)
    with alone(path) as locked:
        before = _KIND.refuse_others(path, _FILE_NAME) or {}
        listed = before.get("files")
        old = set(listed) if isinstance(listed, dict) else set()
        if locked:
            _remove(path, {file.name for file in path.iterdir()} - old)
        written = _write(path, metric, snapshot)
        _remove(path, old - written)


def _remove(path: Path, names: set[str]) -> None:
    """Remove files of an index, or of one that was being written; files of others stay."""
    for name in names:
        if _FILE_NAME.fullmatch(name) or LEFT_OVER.fullmatch(name):
            (path / name).unlink(missing_ok=True)


def _write(path: Path, metric: TreeMetric, snapshot: Snapshot) -> set[str]:
    """Write files, then the manifest that lists them; return their names."""
    described: dict[str, dict[str, Any]] = {}
    metric_file = _store(path, _metric_arrays(metric), described)
    segments = []
    for segment in snapshot.segments:
        arrays = {name: getattr(segment, name) for name in (*ARRAYS, *(BEYOND if segment.beyond_words.size else ()))}
        if segment.has_counts:
            arrays.update(segment.lists.get(metric, segment)._asdict())
        segments.append({"file": _store(path, arrays, described), "shift": segment.shift})
    entries = {
        "fraction_bits": metric.fraction_bits,
        "next_id": snapshot.next_id,
        "metric": metric_file,
        "segments": segments,
        "files": described,
    }
    _KIND.write(path, entries)
    return set(described)


def load_index(
    folder: str | os.PathLike[str],
    *,
    mmap: bool,
    check: Literal["later", "numbers", "documents"],
    metrics: dict[tuple[str, int], TreeMetric] | None = None,
) -> tuple[TreeMetric, Snapshot, Callable[[], None]]:
    """Read an index, or map its documents into memory.

    Parameters
    ----------
    folder : path-like
        As given to `save_index`.
    mmap : bool
        Map the documents instead of reading them.
    check : {"later", "numbers", "documents"}
        What is checked at once: manifest, metric and sizes; or the hash of every file and all invariants, too; or
        also that everything else follows from the documents, which embeds them again.
    metrics : dict, optional
        Metrics that were read already, by file and fraction bits: files are named by their content. Filled up.

    Returns
    -------
    metric : TreeMetric
    snapshot : Snapshot
    check_rest : callable
        To be called before the first use of the snapshot: raises a ValueError if a file was changed.

    Raises
    ------
    ValueError
        If the folder holds no index, one of another version, or a damaged one.
    """
    path = Path(folder)
    return _KIND.read_listed(
        path, lambda manifest: _load(path, manifest, mmap, check, {} if metrics is None else metrics)
    )


def _load(
    path: Path, manifest: dict[str, Any], mmap: bool, check: str, metrics: dict[tuple[str, int], TreeMetric]
) -> tuple[TreeMetric, Snapshot, Callable[[], None]]:
    """Read what a manifest lists; a file that is not there may mean that the index has been replaced."""
    _check_entries(manifest, path)
    files, at_once = manifest["files"], check != "later"
    try:
        for name, described in files.items():
            check_file(path / name, described, hashed=at_once or name == manifest["metric"])
        key = manifest["metric"], manifest["fraction_bits"]
        if key not in metrics:
            metrics[key] = _metric_of(read_tensors(path / key[0], mmap=False), key[1])
        metric = metrics[key]
        contents = {entry["file"]: file_bytes(path / entry["file"], mmap=mmap) for entry in manifest["segments"]}
        segments = [
            _make_segment(contents[entry["file"]], entry, metric, check, manifest["version"])
            for entry in manifest["segments"]
        ]
        snapshot = Snapshot(tuple(segments), manifest["next_id"])
    except FileNotFoundError:
        raise
    except (KeyError, TypeError, OSError) as error:
        raise ValueError(f"Expected a whole index in {path}, but it lacks something: {error!r}.") from error
    above = any(segment.ids[-1] >= snapshot.next_id for segment in segments)
    if above or (at_once and (snapshot.ids[1:] == snapshot.ids[:-1]).any()):
        raise ValueError(
            f"Expected unique ids below {snapshot.next_id} in {path}. The manifest does not fit its files."
        )

    def check_rest() -> None:
        for name, content in () if at_once else contents.items():
            check_bytes(content, files[name], f"{name} in {path}")

    return metric, snapshot, check_rest


def _make_segment(
    content: NDArray[np.uint8], entry: dict[str, Any], metric: TreeMetric, check: str, version: int
) -> Segment:
    name = entry["file"]
    arrays: dict[str, Any] = arrays_in(content, name)
    expected = [array for array in ARRAYS if version > _WHOLE_DIRECTORY or array not in ("tiles", "starts")]
    for group in ([*BEYOND], [*LIST_ARRAYS]):  # all of it or nothing
        expected += group if set(group) & set(arrays) else []
    if set(arrays) != set(expected):
        raise ValueError(f"Expected the arrays {', '.join(expected)} in {name}, got {', '.join(arrays)}.")
    if arrays["dense"].ndim == 4:  # versions 2 to 4 cut tiles into pieces; where it was one, nothing is copied
        n_tiles, n_pieces, n_rows, piece = arrays["dense"].shape
        arrays["dense"] = arrays["dense"].transpose(0, 2, 1, 3).reshape(n_tiles, n_rows, n_pieces * piece)
    if version <= _WHOLE_DIRECTORY:
        arrays.update(_present_only(arrays["directory"], arrays["dense"].shape[:1], metric.n_features, name))
    lists = WordLists(*(arrays.pop(name) for name in LIST_ARRAYS)) if "lengths" in arrays else None
    segment = Segment(**arrays, shift=entry["shift"], n_words=metric.n_words, lists=ListsOnce(lists))
    check_shapes(segment, metric, name)
    if lists is not None:
        check_lists(lists, segment, name)
    if check != "later":
        check_contents(segment, name)
        if lists is not None and not are_sound(lists, metric, segment):
            raise ValueError(f"Expected lists of words in {name} that fit its documents. The file is damaged.")
    if check == "documents":
        check_documents(segment, metric, name)
    return segment


def _present_only(directory: Any, n_tiles: tuple[int, ...], n_features: int, name: str) -> dict[str, Any]:
    """Bring the directory of an older file into the form of today; that of a single tile is the same."""
    if n_tiles == (1,):
        return {"tiles": np.empty(0, np.uint16), "starts": np.zeros(1, np.uint32)}
    if directory.dtype != np.int64 or directory.shape != (n_features * math.prod(n_tiles),) or not directory.size:
        raise ValueError(
            f"Expected directory of kind int64 and shape ({n_features * math.prod(n_tiles)},), got {directory.dtype} "
            f"{directory.shape}: {name} is damaged or belongs to another index."
        )
    made = compact_directory(directory.reshape(n_features, -1))
    return dict(zip(("directory", "tiles", "starts"), made, strict=True))


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
    """Make the metric again, which checks every invariant of trees and masses."""
    n_trees = (len(arrays) - 1) // len(_TREE_ARRAYS)
    trees = [Tree(*(arrays[f"{name}.{number}"] for name in _TREE_ARRAYS)) for number in range(n_trees)]
    return TreeMetric(trees, arrays["masses"], fraction_bits)


def _check_entries(manifest: dict[str, Any], folder: Path) -> None:
    """Demand entries of the right kinds, and names of files in this folder that fit together."""
    names = ("files", "segments", "next_id", "fraction_bits", "metric")
    listed, segments, next_id, bits, metric = (manifest.get(name) for name in names)
    _demand(are_described(listed), folder, f"files with bytes and sha256, got {listed!r}")
    _demand(_are_segments(segments), folder, f"a list of segments, got {segments!r}")
    _demand(type(next_id) is int and 0 <= next_id <= 2**63, folder, f"next_id from 0 to 2**63, got {next_id!r}")
    _demand(type(bits) is int, folder, f"fraction_bits as a whole number, got {bits!r}")
    _demand(isinstance(metric, str), folder, f"metric as the name of a file, got {metric!r}")
    listed_names, used = set(listed or ()), {str(metric), *(entry["file"] for entry in segments or ())}
    foreign = sorted(name for name in used | listed_names if not _FILE_NAME.fullmatch(name))
    _demand(not foreign, folder, f"names of 32 hexadecimal digits and .safetensors, got {foreign[:5]}")
    differing = sorted(used ^ listed_names)
    _demand(not differing, folder, f"the same files listed and used, but these are not: {differing[:5]}")


def _are_segments(entries: Any) -> bool:
    """Tell whether a list names the file and the shift of each segment."""
    return isinstance(entries, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("file"), str) and type(entry.get("shift")) is int
        for entry in entries
    )


def _demand(holds: bool, folder: Path, expected: str) -> None:
    if not holds:
        raise ValueError(
            f"Expected {expected} in the {_KIND.file} of {folder}: it is damaged or not written by `save`."
        )
