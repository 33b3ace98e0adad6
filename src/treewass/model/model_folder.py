"""A model in a folder: a manifest, a card for people, and a sub-folder of data that is never changed.

Saving writes a new sub-folder and then replaces the manifest, which names it. A crash at any moment leaves the old
model or the new one. The manifest holds the hash of every file; loading checks them, and every invariant.
"""

from __future__ import annotations

import os
import re
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import treewass
from treewass.model.contents import Contents
from treewass.model.stored_form import (
    COLUMN,
    channel_files,
    contents_from,
    document_files,
    dump_json,
    model_card,
    settings_of,
    vocabulary_of,
)
from treewass.search.sharded_folder import are_parts, load_parts, part_manifest, refuse_missing, save_parts
from treewass.search.sharded_index import ShardedIndex
from treewass.storage.data_folders import DATA_NAME, new_data
from treewass.storage.folders import flush, temporary
from treewass.storage.manifests import ManifestKind, are_described, check_file, describe_file, parse_json
from treewass.storage.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.search.held_documents import AnyIndex

    Files = dict[str, dict[str, NDArray[Any]]]

__all__ = [
    "check_target",
    "data_name",
    "holds_model",
    "in_parts",
    "load_contents",
    "part_folders",
    "read_settings",
    "save_contents",
]

_KIND = ManifestKind(
    "a model", "treewass model", (1, 2), "Fit the model again, or read it with the release that wrote it."
)
_CARD, _SETTINGS, _VOCABULARY = "README.md", "settings.json", "vocabulary.json"
_DOCUMENT_FILES = {"rows": "documents.safetensors", **{n: f"{n}.safetensors" for n in ("texts", "titles", "keys")}}
_COLUMN_FILE = re.compile(r"column-[0-9]{1,9}\.safetensors")


def save_contents(folder: str | os.PathLike[str], held: Contents, *, replaces: str | None = None) -> str:
    """Write a model, all of it or nothing; return the `data_name` of what was written.

    A folder that holds something else is refused. With `replaces`, the `data_name` of the model that this one was made
    from, any other model is left alone, too.
    """
    path = Path(folder)
    with new_data(path, _KIND) as data:
        if replaces is not None and replaces != data_name(path):
            raise ValueError(
                f"Expected the model in {path} as it was loaded, but it has been replaced meanwhile, perhaps by a "
                "service that folded its writes. Nothing was changed: load it and make the change again."
            )
        with temporary(path, "md") as card:
            card.write_text(model_card(held), encoding="utf-8")
            entries = _write_data(data, held)
            flush(path)  # the data folder's name, before a manifest names it
            _KIND.write(path, {"treewass": treewass.__version__, "data": data.name, **entries})
            card.replace(path / _CARD)
    return data.name


def in_parts(held: Contents, n_parts: int) -> Contents:
    """Return a model whose index is in as many parts, of as many documents each, with the same answers."""
    split = ShardedIndex.from_index(held.index, n_parts, n_jobs=held.index.n_jobs)
    return held.changed(index=split if n_parts > 1 else split._now.indexes[0])


def _write_data(data: Path, held: Contents) -> dict[str, Any]:
    """Write the files of a model; return what the manifest says about them."""
    data.mkdir()
    index = copy(held.index)
    index.compact()  # a file holds nothing of removed documents
    parts = save_parts(data, index.shards if isinstance(index, ShardedIndex) else [index])
    (data / _SETTINGS).write_text(dump_json(settings_of(held)), encoding="utf-8")
    (data / _VOCABULARY).write_text(dump_json(vocabulary_of(held)), encoding="utf-8")
    documents: dict[str, Any] = {"rows": None, "keys": None, "texts": None, "titles": None, "columns": {}}
    for name, arrays in document_files(held.documents).items():
        if name.startswith(COLUMN):
            file = f"column-{len(documents['columns'])}.safetensors"
            documents["columns"][name.removeprefix(COLUMN)] = file
        else:
            file = documents[name] = _DOCUMENT_FILES[name]
        write_tensors(data / file, arrays)
    channels: dict[str, str] = {}
    for name, arrays in channel_files(held).items():
        channels[name] = _channel_file(name)
        write_tensors(data / channels[name], arrays)
    names = sorted(_files_of(parts, documents, channels))
    for name in names:
        flush(data / name)
    flush(data)
    files = {name: describe_file(data / name) for name in names}
    return {"parts": parts, "documents": documents, "channels": channels, "files": files}


def _channel_file(name: str) -> str:
    return f"channel-{name}.safetensors"


def _files_of(parts: list[str], documents: dict[str, Any], channels: dict[str, str]) -> set[str]:
    """Name the files of a model; the manifest of a part holds the hashes of the part's own files."""
    return {*map(part_manifest, parts), _SETTINGS, _VOCABULARY, *_named_files(documents).values(), *channels.values()}


def _named_files(documents: dict[str, Any]) -> dict[str, str]:
    """Return the file of each column of the documents, with `COLUMN` before those that the user named."""
    own = {name: file for name, file in documents.items() if isinstance(file, str)}
    return own | {COLUMN + name: file for name, file in documents.get("columns", {}).items()}


def holds_model(folder: Path) -> bool:
    """Tell whether a folder seems to hold a model, which a save would replace."""
    return _KIND.exists(folder)


def check_target(path: Path) -> None:
    """Refuse a folder that holds something else than a model, or what a crash left of one, or cannot be written to."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"Expected a folder to write a model to, but {path} is a file.")
    if path.exists():
        _KIND.refuse_others(path, DATA_NAME)
    above = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not above.is_dir():
        raise ValueError(f"Expected a folder to write a model to, but {above} is a file: there is none at {path}.")
    with temporary(above, "trial") as trial:
        try:
            trial.touch()
        except OSError as error:
            raise ValueError(
                f"Expected a folder to write a model to, but nothing can be written to {above}: {error.strerror}."
            ) from error


def data_name(folder: str | os.PathLike[str]) -> str:
    """Return the name of the sub-folder that holds a model's data: another one whenever a model is saved."""
    path = Path(folder)
    return str(_checked(_KIND.read(path), path)["data"])


def part_folders(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the folders that hold the parts of a model's index, each an index by itself."""
    path = Path(folder)
    entries = _checked(_KIND.read(path), path)
    return [path / entries["data"] / part for part in entries["parts"]]


def read_settings(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of a model, as `settings_of` collects them, without loading it or checking what they say."""
    path = Path(folder)

    def read(manifest: dict[str, Any]) -> dict[str, Any]:
        entries = _checked(manifest, path)
        file = path / entries["data"] / _SETTINGS
        check_file(file, entries["files"][_SETTINGS])
        settings = parse_json(file.read_text(encoding="utf-8"), _SETTINGS)
        return settings if isinstance(settings, dict) else {}

    return _KIND.read_listed(path, read)


def load_contents(folder: str | os.PathLike[str], *, n_jobs: int | None = None) -> Contents:
    """Read a model, checking every byte and every invariant; documents and texts are mapped into memory.

    No model, one of another version, and a damaged one are a ValueError that says which.
    """
    path = Path(folder)

    def load(manifest: dict[str, Any]) -> Contents:
        entries = _checked(manifest, path)
        try:
            return _load(path / entries["data"], entries, n_jobs)
        except ValueError as error:
            raise ValueError(f"The model in {path} cannot be used. {error}") from error

    return _KIND.read_listed(path, load)


def _load(data: Path, entries: dict[str, Any], n_jobs: int | None) -> Contents:
    refuse_missing(data, entries["parts"])
    for name, described in entries["files"].items():
        check_file(data / name, described)
    shards = load_parts(data, entries["parts"], mmap=True, check="numbers")
    index: AnyIndex = ShardedIndex(shards, n_jobs=n_jobs) if len(shards) > 1 else shards[0]
    index.n_jobs = n_jobs
    settings = parse_json((data / _SETTINGS).read_text(encoding="utf-8"), _SETTINGS)
    words = parse_json((data / _VOCABULARY).read_text(encoding="utf-8"), _VOCABULARY)
    files = {
        name: read_tensors(data / file, mmap=name in ("texts", "titles", "keys"))
        for name, file in _named_files(entries["documents"]).items()
    }
    if entries["version"] == 1:
        settings, files = _of_version_1(settings, files)
    channels = {name: read_tensors(data / file, mmap=True) for name, file in entries["channels"].items()}
    return contents_from(index, settings, words, files, channels)


def _of_version_1(settings: Any, files: Files) -> tuple[Any, Files]:
    """Bring settings that speak of a learner, and one file of texts and titles, into the form of version 2."""
    if isinstance(settings, dict):
        settings = {**settings, "metric": settings.get("learner")}
    columns: Files = {"rows": files["rows"]}
    for name, array in files.get("texts", {}).items():
        column, _, kind = name.partition("_")
        columns.setdefault(f"{column}s", {})[kind] = array
    return settings, columns


def _checked(manifest: dict[str, Any], path: Path) -> dict[str, Any]:
    """Check that a manifest lists the files of a model that can be read here; return it in the form of version 2."""
    data, files = manifest.get("data"), manifest.get("files")
    if manifest["version"] == 1:
        texts = _DOCUMENT_FILES["texts"] if isinstance(files, dict) and _DOCUMENT_FILES["texts"] in files else None
        documents: Any = {"rows": _DOCUMENT_FILES["rows"], "texts": texts}
        manifest = {**manifest, "parts": ["index"], "documents": documents, "channels": {}}
    parts, documents, channels = (manifest.get(name) for name in ("parts", "documents", "channels"))
    if not (
        isinstance(data, str)
        and DATA_NAME.fullmatch(data)
        and are_described(files)
        and are_parts(parts)
        and isinstance(documents, dict)
        and documents.get("rows") == _DOCUMENT_FILES["rows"]
        and _are_columns(documents.get("columns", {}))
        and isinstance(channels, dict)
    ):
        raise ValueError(f"Expected the {_KIND.file} of {path} to list the files of a model: it is damaged.")
    _refuse_newer(manifest, path)
    return manifest


def _are_columns(columns: Any) -> bool:
    return isinstance(columns, dict) and all(
        isinstance(file, str) and _COLUMN_FILE.fullmatch(file) for file in columns.values()
    )


def _refuse_newer(manifest: dict[str, Any], path: Path) -> None:
    """Refuse what the format has room for, but this release cannot read."""
    documents = manifest["documents"]
    known = {
        name: file for name, file in documents.items() if name == "columns" or file in (None, _DOCUMENT_FILES.get(name))
    }
    beyond = [f"documents with {name}" for name, file in documents.items() if file and name not in known]
    heard = {
        name: file for name, file in manifest["channels"].items() if name.isidentifier() and file == _channel_file(name)
    }
    beyond += [f"the channel {name}" for name in manifest["channels"] if name not in heard]
    beyond += sorted(set(manifest["files"]) ^ _files_of(manifest["parts"], known, heard))
    if beyond:
        raise ValueError(
            f"Expected a model that this release can read, but the one in {path} holds more: {', '.join(beyond[:5])}. "
            f"Read it with treewass {manifest.get('treewass')}, which wrote it."
        )
