"""A model in a folder: a manifest, a card for people, and a sub-folder of data that is never changed.

Saving writes a new sub-folder and then replaces the manifest, one rename, which names it. A crash at any moment leaves
the old model or the new one. The manifest holds the hash of every file; loading checks them, and every invariant.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import treewass
from treewass.model.card import model_card
from treewass.model.contents import Contents
from treewass.model.plain_forms import (
    contents_from,
    documents_arrays,
    dump_json,
    parse_json,
    settings_of,
    text_arrays,
)
from treewass.saving import alone, check_file, describe_file, flush, manifest_hash, replace_manifest, temporary
from treewass.search.index import TreeIndex
from treewass.search.tensor_files import read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMAT_VERSION", "check_target", "data_name", "load_contents", "save_contents"]

_FORMAT = "treewass model"
FORMAT_VERSION = 1
_MANIFEST, _CARD = "manifest.json", "README.md"
_INDEX = "index/manifest.json"  # holds the hashes of the index's own files
_SETTINGS, _VOCABULARY, _DOCUMENTS, _TEXTS = (
    "settings.json",
    "vocabulary.json",
    "documents.safetensors",
    "texts.safetensors",
)
_REQUIRED = {_INDEX, _SETTINGS, _VOCABULARY, _DOCUMENTS}
_DATA_NAME = re.compile(r"data-[0-9a-f]{32}")
_LEFT_OVER = re.compile(r"\.treewass-[0-9a-f]{32}\.\w+")
_ATTEMPTS = 20  # to load a model that is replaced meanwhile


def save_contents(folder: str | os.PathLike[str], held: Contents, *, replaces: str | None = None) -> str:
    """Write a model, all of it or nothing.

    Parameters
    ----------
    folder : path-like
        Made, or replaced if it holds a model.
    held : Contents
        The model.
    replaces : str, optional
        The `data_name` of the model to replace, for one that was made from it; another one is left alone.

    Returns
    -------
    str
        The `data_name` of what was written.

    Raises
    ------
    ValueError
        If the folder holds something else.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    with alone(path):
        check_target(path)
        if replaces is not None and replaces != data_name(path):
            raise ValueError(f"Expected the model in {path} as it was loaded, but it has been replaced meanwhile.")
        name = f"data-{uuid.uuid4().hex}"
        try:
            files = _write_data(path / name, held)
            flush(path)  # the data folder's name, before a manifest names it
            _write_manifest(path, name, files)
        except BaseException:
            if not _is_named(path, name):
                shutil.rmtree(path / name, ignore_errors=True)
            raise
        with temporary(path, "md") as card:
            card.write_text(model_card(held), encoding="utf-8")
            card.replace(path / _CARD)
        _remove_left_overs(path, name)
    return name


def _is_named(path: Path, name: str) -> bool:
    """Tell whether the manifest on the disk names a data folder: then the folder is the model."""
    try:
        return _own_manifest(path).get("data") == name
    except ValueError:
        return False


def _remove_left_overs(path: Path, name: str) -> None:
    """Remove what earlier and killed saves left, all but the data folder of a name."""
    for entry in path.iterdir():
        if _DATA_NAME.fullmatch(entry.name) and entry.name != name:
            shutil.rmtree(entry, ignore_errors=True)
        elif _LEFT_OVER.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def _write_manifest(path: Path, name: str, files: dict[str, Any]) -> None:
    manifest: dict[str, Any] = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "treewass": treewass.__version__,
        "data": name,
        "files": files,
    }
    manifest["sha256"] = manifest_hash(manifest)
    replace_manifest(path / _MANIFEST, manifest)


def _write_data(data: Path, held: Contents) -> dict[str, Any]:
    """Write the files of a model and describe them."""
    data.mkdir()
    held.index.save(data / "index")
    (data / _SETTINGS).write_text(dump_json(settings_of(held)), encoding="utf-8")
    (data / _VOCABULARY).write_text(dump_json(list(held.counter.words)), encoding="utf-8")
    write_tensors(data / _DOCUMENTS, documents_arrays(held.documents))
    texts = text_arrays(held.documents)
    if texts:
        write_tensors(data / _TEXTS, texts)
    names = _REQUIRED | ({_TEXTS} if texts else set())
    for name in names:
        flush(data / name)
    flush(data)
    return {name: describe_file(data / name) for name in sorted(names)}


def check_target(path: Path) -> None:
    """Refuse to write to a folder that holds something else than a model, or what a crash left of one.

    Raises
    ------
    ValueError
        If it does; the message names some of the files.
    """
    if path.exists() and not path.is_dir():
        raise ValueError(f"Expected a folder to write a model to, but {path} is a file.")
    if not path.exists():
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise ValueError(f"Expected a folder to write a model to, but {above} is a file: there is none at {path}.")
        return
    names = {file.name for file in path.iterdir()}
    if _MANIFEST in names:
        try:
            _own_manifest(path)
        except ValueError as error:
            raise ValueError(f"Expected an empty folder or one with a model, nothing is written: {error}") from error
        return
    others = sorted(name for name in names if not (_DATA_NAME.fullmatch(name) or _LEFT_OVER.fullmatch(name)))
    if others:
        raise ValueError(f"Expected an empty folder or one with a model, but {path} holds other files: {others[:5]}.")


def data_name(folder: str | os.PathLike[str]) -> str:
    """Return the name of the sub-folder that holds a model's data: another one whenever a model is saved."""
    return str(_read_manifest(Path(folder))["data"])


def load_contents(folder: str | os.PathLike[str], *, n_jobs: int | None = None) -> Contents:
    """Read a model, checking every byte and every invariant; documents and texts are mapped into memory.

    Parameters
    ----------
    folder : path-like
        As given to `save_contents`.
    n_jobs : int, optional
        Threads for batches of queries.

    Returns
    -------
    Contents

    Raises
    ------
    ValueError
        If the folder holds no model, one of another version, or a damaged one.
    """
    path = Path(folder)
    manifest = _read_manifest(path)
    for _ in range(_ATTEMPTS):
        try:
            return _load(path / manifest["data"], manifest["files"], n_jobs)
        except (FileNotFoundError, ValueError) as error:
            problem, tried = error, manifest
        manifest = _read_manifest(path)
        if manifest == tried:
            break
    if isinstance(problem, FileNotFoundError):
        raise ValueError(
            f"Expected a whole model in {path}, but {Path(problem.filename).name} is missing."
        ) from problem
    raise ValueError(f"The model in {path} cannot be used. {problem}") from problem


def _load(data: Path, files: dict[str, Any], n_jobs: int | None) -> Contents:
    for name, described in files.items():
        check_file(data / name, described["bytes"], described["sha256"])
    index = TreeIndex.load(data / "index", verify=True, n_jobs=n_jobs)
    settings = parse_json((data / _SETTINGS).read_text(encoding="utf-8"), _SETTINGS)
    words = parse_json((data / _VOCABULARY).read_text(encoding="utf-8"), _VOCABULARY)
    arrays: dict[str, NDArray[np.generic]] = read_tensors(data / _DOCUMENTS, mmap=False)
    texts = read_tensors(data / _TEXTS, mmap=True) if _TEXTS in files else {}
    return contents_from(index, settings, words, arrays, texts)


def _own_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest, refusing another format."""
    if not path.is_dir():
        raise ValueError(f"Expected the folder of a model, but there is none at {path}; check the path.")
    try:
        manifest = parse_json((path / _MANIFEST).read_text(encoding="utf-8"), _MANIFEST)
    except FileNotFoundError:
        raise ValueError(f"Expected a model in {path}, but it has no {_MANIFEST}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected a model in {path}, but its {_MANIFEST} cannot be read: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ValueError(f"Expected a model in {path}, but its {_MANIFEST} describes something else.")
    return manifest


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest, refusing another format, another version, and damage."""
    manifest = _own_manifest(path)
    if manifest.get("version") != FORMAT_VERSION:
        raise ValueError(
            f"Expected a model of format version {FORMAT_VERSION}, got version {manifest.get('version')!r} in {path}, "
            f"written by treewass {manifest.get('treewass')!r}. Read it with that release, or fit anew."
        )
    if manifest.get("sha256") != manifest_hash(manifest):
        raise ValueError(f"Expected the {_MANIFEST} of {path} as it was written, but its hash differs: it is damaged.")
    data, files = manifest.get("data"), manifest.get("files")
    if not (isinstance(data, str) and _DATA_NAME.fullmatch(data) and isinstance(files, dict) and _are_ours(files)):
        raise ValueError(f"Expected the {_MANIFEST} of {path} to list the files of a model: it is damaged.")
    return manifest


def _are_ours(listed: dict[str, Any]) -> bool:
    return _REQUIRED <= listed.keys() <= _REQUIRED | {_TEXTS} and all(map(_is_entry, listed.values()))


def _is_entry(described: Any) -> bool:
    return (
        isinstance(described, dict) and type(described.get("bytes")) is int and isinstance(described.get("sha256"), str)
    )
