"""Manifests: one JSON file per folder that says what the folder holds, with the size and hash of every file.

Whatever a manifest lists is written first, and never changed; then the manifest is replaced, which is one rename. A
crash at any moment leaves what was there before or what is new.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from treewass.storage.folders import LEFT_OVER, alone, file_size, replacing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ManifestKind", "are_described", "check_bytes", "check_file", "describe_file", "manifest_hash", "parse_json"]

_DEEPEST = 50  # levels of JSON; ours have fewer than ten
_CHUNK = 1 << 18
_Loaded = TypeVar("_Loaded")


@dataclass(frozen=True, slots=True)
class ManifestKind:
    """The manifests of one kind of folder: how they are written, recognised, checked and read.

    Parameters
    ----------
    noun : str
        What such a folder holds, with its article, for messages.
    format : str
        The name of the format, which every manifest holds.
    versions : tuple of int
        The versions that can be read, ascending. The last one is written.
    remedy : str
        A sentence: what to do about a damaged folder, or one of another version.
    file : str, default="manifest.json"
        The name of the manifest.
    """

    noun: str
    format: str
    versions: tuple[int, ...]
    remedy: str
    file: str = "manifest.json"

    def exists(self, folder: Path) -> bool:
        """Tell whether a folder has a manifest of this name."""
        return (folder / self.file).exists()

    def write(self, folder: Path, entries: Mapping[str, Any]) -> None:
        """Put a manifest, which holds its own hash, in the place of the one before, in one step."""
        manifest = {"format": self.format, "version": self.versions[-1], **entries}
        manifest["sha256"] = manifest_hash(manifest)
        with replacing(folder / self.file) as written:
            written.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")

    def recognize(self, folder: Path) -> dict[str, Any]:
        """Read a manifest of any version, checking nothing but that it is one of this format."""
        if not folder.is_dir():
            raise ValueError(f"Expected the folder of {self.noun}, but there is none at {folder}; check the path.")
        problem = f"Expected {self.noun} in {folder}, but "
        try:
            file_size(folder / self.file)
            manifest = parse_json((folder / self.file).read_text(encoding="utf-8"), self.file)
        except FileNotFoundError:
            raise ValueError(f"{problem}it has no {self.file}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{problem}its {self.file} cannot be read: {error}.") from error
        except ValueError as error:
            raise ValueError(f"{problem}it is damaged. {error}") from error
        if not isinstance(manifest, dict) or manifest.get("format") != self.format:
            raise ValueError(f"{problem}its {self.file} describes something else.")
        return manifest

    def read(self, folder: Path) -> dict[str, Any]:
        """Read a manifest. Another format, another version, and damage are a ValueError that says what to do."""
        manifest = self.recognize(folder)
        version = manifest.get("version")
        if version not in self.versions:
            author = f", written by treewass {manifest['treewass']}" if "treewass" in manifest else ""
            expected = " or ".join(map(str, self.versions))
            raise ValueError(
                f"Expected {self.noun} of version {expected}, got version {version!r} in {folder}{author}. "
                f"{self.remedy}"
            )
        if manifest.get("sha256") != manifest_hash(manifest):
            raise ValueError(
                f"Expected the {self.file} of {folder} as it was written, but its hash differs: it is damaged. "
                f"{self.remedy}"
            )
        return manifest

    def read_listed(self, folder: Path, load: Callable[[dict[str, Any]], _Loaded]) -> _Loaded:
        """Return what `load` makes of a manifest and its files; if that fails, once more while nobody can replace them.

        What fails then, too, is damaged.
        """
        try:
            return load(self.read(folder))
        except (FileNotFoundError, ValueError):
            if not folder.is_dir():
                raise
        with alone(folder):
            try:
                return load(self.read(folder))
            except FileNotFoundError as problem:
                name = Path(problem.filename).name
                raise ValueError(
                    f"Expected the whole of {self.noun} in {folder}, but {name} is missing. {self.remedy}"
                ) from problem

    def refuse_others(self, folder: Path, ours: re.Pattern[str]) -> dict[str, Any] | None:
        """Return the manifest, of any version, of a folder that is about to be written; None where there is none yet.

        A folder that holds something else is refused. A crash of the first save may leave files whose names match
        `ours`.
        """
        names = {file.name for file in folder.iterdir()}
        if self.file in names:
            try:
                return self.recognize(folder)
            except ValueError as error:
                raise ValueError(
                    f"Expected an empty folder or one with {self.noun}, nothing is written to {folder}: {error}"
                ) from error
        others = sorted(name for name in names if not (ours.fullmatch(name) or LEFT_OVER.fullmatch(name)))
        if others:
            raise ValueError(
                f"Expected an empty folder or one with {self.noun}, but {folder} holds other files: {others[:5]}."
            )
        return None


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    """Hash all of a manifest but its hash."""
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def parse_json(text: str, name: str) -> Any:
    """Read JSON, refusing infinities, and anything that is not JSON with a ValueError that names the file."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number")

    def finite(digits: str) -> float:
        return value if math.isfinite(value := float(digits)) else refuse(digits[:20])

    try:
        value = json.loads(text, parse_constant=refuse, parse_float=finite)
        level = [value]
        for _ in range(_DEEPEST):
            level = [
                inner
                for outer in level
                if isinstance(outer, dict | list)
                for inner in (outer.values() if isinstance(outer, dict) else outer)
            ]
        if level:
            raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"Expected JSON in {name}, which cannot be read: {error}.") from error
    return value


def describe_file(path: Path) -> dict[str, Any]:
    """Return the size of a file, as ``bytes``, its hash, as ``sha256``, and its checksum, as ``crc32``."""
    size, digest, checksum = file_size(path), hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            checksum = zlib.crc32(chunk, checksum)
    return {"bytes": size, "sha256": digest.hexdigest(), "crc32": checksum}


def are_described(listed: Any) -> bool:
    """Tell whether a value of JSON lists files as `describe_file` describes them, by name."""
    return isinstance(listed, dict) and all(
        isinstance(entry, dict) and type(entry.get("bytes")) is int and isinstance(entry.get("sha256"), str)
        for entry in listed.values()
    )


def check_file(path: Path, described: Mapping[str, Any], *, hashed: bool = True) -> None:
    """Demand a file as `describe_file` described it; without `hashed`, the size alone, which reads no byte."""
    found = file_size(path)
    if found != described["bytes"]:
        raise ValueError(f"Expected {described['bytes']} bytes in {path.name}, got {found}. The file is damaged.")
    if hashed and describe_file(path)["sha256"] != described["sha256"]:
        _refuse_changed(path.name)


def check_bytes(content: NDArray[np.uint8], described: Mapping[str, Any], name: str) -> None:
    """Demand the bytes of a file as `describe_file` described it: by the checksum, which is faster, if it has one."""
    if "crc32" in described:
        same = zlib.crc32(content.data) == described["crc32"]
    else:
        same = hashlib.sha256(content.data).hexdigest() == described["sha256"]
    if not same:
        _refuse_changed(name)


def _refuse_changed(name: str) -> NoReturn:
    raise ValueError(f"Expected {name} as it was written, but its hash differs: it is damaged.")
