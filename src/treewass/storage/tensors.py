"""Arrays in safetensors files, read or mapped into memory, with every bound of the header checked.

The package safetensors reads these files, too, but does not write them: killed, it leaves files under names of its own,
and it tells of a full disk by an error that is no OSError.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.storage.folders import file_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["arrays_in", "file_bytes", "read_tensors", "write_tensors"]

_KINDS = {
    "BOOL": "?", "U8": "u1", "U16": "<u2", "I32": "<i4", "U32": "<u4", "F32": "<f4", "I64": "<i8", "U64": "<u8",
    "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _KINDS.items()}
_LONGEST_HEADER = 2**20


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays to a file."""
    header, contents, end = {}, [], 0
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].itemsize):  # so that each array is aligned
        if array.dtype not in _NAMES:
            raise TypeError(f"Expected arrays of numbers, got {name!r} of kind {array.dtype}.")
        contents.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        start, end = end, end + contents[-1].size
        header[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": (start, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for content in contents:
            file.write(content.data)


def read_tensors(path: Path, *, mmap: bool) -> dict[str, NDArray[Any]]:
    """Read the named arrays of a file, or map them into memory, read-only. Damage of any kind is a ValueError."""
    return arrays_in(file_bytes(path, mmap=mmap), path.name)


def file_bytes(path: Path, *, mmap: bool) -> NDArray[np.uint8]:
    """Read the bytes of a file, or map them into memory, read-only."""
    return np.memmap(path, np.uint8, "r") if file_size(path) and mmap else np.fromfile(path, np.uint8)


def arrays_in(whole: NDArray[np.uint8], file: str) -> dict[str, NDArray[Any]]:
    """Return the named arrays in the bytes of a file, as views of them. Damage of any kind is a ValueError."""
    length = int.from_bytes(whole[:8].tobytes(), "little")
    if whole.size < 8 or length > min(whole.size - 8, _LONGEST_HEADER):
        raise ValueError(f"Expected a safetensors file, but the header of {file} is longer than the file.")
    header, content = _parse(file, whole[8 : 8 + length].tobytes()), np.asarray(whole[8 + length :])
    spans = {name: _span(file, name, entry, content.size) for name, entry in header.items()}
    _refuse_gaps(file, [(first, last) for _, _, first, last in spans.values()], content.size)
    for name, (kind, _, first, last) in spans.items():
        if kind == "?" and content[first:last].max(initial=0) > 1:
            raise ValueError(f"Expected {name!r} of zeros and ones in {file}. The file is damaged.")
    return {name: content[first:last].view(kind).reshape(shape) for name, (kind, shape, first, last) in spans.items()}


def _parse(file: str, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"Expected a header of JSON in {file}: {error}.") from error
    if not isinstance(header, dict):
        raise ValueError(f"Expected a header that names arrays in {file}, got {type(header).__name__}.")
    header.pop("__metadata__", None)
    return header


def _span(file: str, name: str, entry: Any, n_bytes: int) -> tuple[str, tuple[int, ...], int, int]:
    """Check one entry of a header: kind, shape and offsets that agree and lie inside the file."""
    try:
        kind, shape = _KINDS[entry["dtype"]], tuple(int(length) for length in entry["shape"])
        first, last = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"Expected kind, shape and offsets of {name!r} in {file}, got {entry!r}.") from error
    fits = 0 <= first <= last <= n_bytes and all(length >= 0 for length in shape)
    if not fits or last - first != math.prod(shape) * np.dtype(kind).itemsize:
        raise ValueError(
            f"Expected {name!r} to lie within the {n_bytes} bytes of {file}, got {entry!r}. The file is damaged."
        )
    return kind, shape, first, last


def _refuse_gaps(file: str, spans: list[tuple[int, int]], n_bytes: int) -> None:
    """Demand that the arrays cover the file, one after the other."""
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise ValueError(f"Expected arrays side by side in {file}, but they overlap or leave a gap at {end}.")
        end = last
    if end != n_bytes:
        raise ValueError(f"Expected {end} bytes of arrays in {file}, got {n_bytes}. The file is damaged.")
