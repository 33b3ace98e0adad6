"""Arrays in safetensors files, read or mapped into memory, with every bound of the header checked."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["read_tensors", "write_tensors"]

_KINDS = {
    "BOOL": "?", "U8": "u1", "U16": "<u2", "I32": "<i4", "U32": "<u4", "F32": "<f4", "I64": "<i8", "U64": "<u8",
    "F64": "<f8",
}  # fmt: skip
_LONGEST_HEADER = 2**20


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays to a file.

    Parameters
    ----------
    path : Path
        The file to write.
    arrays : mapping of str to ndarray
        Contiguous arrays.
    """
    from safetensors.numpy import save_file

    path.touch()
    mode = path.stat().st_mode  # as of every new file; safetensors would keep others from reading it
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    path.chmod(mode)


def read_tensors(path: Path, *, mmap: bool) -> dict[str, NDArray[Any]]:
    """Read the named arrays of a file.

    Parameters
    ----------
    path : Path
        A safetensors file.
    mmap : bool
        Map the file into memory, read-only, instead of reading it.

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ValueError
        If the file is not what its header says.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise ValueError(f"Expected a safetensors file, but the header of {path.name} is longer than the file.")
        header = _parse(path, file.read(length))
    start = 8 + length
    spans = [_span(path, name, entry, size - start) for name, entry in header.items()]
    _refuse_gaps(path, [(first, last) for _, _, first, last in spans], size - start)
    whole = (
        np.memmap(path, np.uint8, "r", start) if mmap and size > start else np.fromfile(path, np.uint8, offset=start)
    )
    for name, (kind, _, first, last) in zip(header, spans, strict=True):
        if kind == "?" and whole[first:last].max(initial=0) > 1:
            raise ValueError(f"Expected {name!r} of zeros and ones in {path.name}. The file is damaged.")
    return {
        name: np.asarray(whole[first:last]).view(kind).reshape(shape)
        for name, (kind, shape, first, last) in zip(header, spans, strict=True)
    }


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"Expected a header of JSON in {path.name}: {error}.") from error
    if not isinstance(header, dict):
        raise ValueError(f"Expected a header that names arrays in {path.name}, got {type(header).__name__}.")
    header.pop("__metadata__", None)
    return header


def _span(path: Path, name: str, entry: Any, n_bytes: int) -> tuple[str, tuple[int, ...], int, int]:
    """Check one entry of a header: kind, shape and offsets that agree and lie inside the file."""
    try:
        kind, shape = _KINDS[entry["dtype"]], tuple(int(length) for length in entry["shape"])
        first, last = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"Expected kind, shape and offsets of {name!r} in {path.name}, got {entry!r}.") from error
    fits = 0 <= first <= last <= n_bytes and all(length >= 0 for length in shape)
    if not fits or last - first != math.prod(shape) * np.dtype(kind).itemsize:
        raise ValueError(
            f"Expected {name!r} to lie within the {n_bytes} bytes of {path.name}, got {entry!r}. The file is damaged."
        )
    return kind, shape, first, last


def _refuse_gaps(path: Path, spans: list[tuple[int, int]], n_bytes: int) -> None:
    """Demand that the arrays cover the file, one after the other."""
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise ValueError(f"Expected arrays side by side in {path.name}, but they overlap or leave a gap at {end}.")
        end = last
    if end != n_bytes:
        raise ValueError(f"Expected {end} bytes of arrays in {path.name}, got {n_bytes}. The file is damaged.")
