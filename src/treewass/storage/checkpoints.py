"""Long work that is stored while it runs and resumed by the same work only: as checkpoints, or in finished parts."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import count_threads, run_in_blocks
from treewass.storage.folders import LEFT_OVER, replacing
from treewass.storage.manifests import ManifestKind, are_described, check_file, describe_file
from treewass.storage.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Arrays", "CheckpointFolder", "PartStore", "checkpoint_kind", "compute_in_parts", "fingerprint"]

Arrays = dict[str, "NDArray[Any]"]
_REMEDY = "Remove the folder to start again."
_PARTS = ManifestKind("parts of long work", "treewass parts", (2,), _REMEDY, "parts.json")
_logger = logging.getLogger("treewass")


def checkpoint_kind(format: str, version: int, file: str) -> ManifestKind:
    """Name the manifests of one kind of work: format, version, and the name of the file."""
    return ManifestKind("a checkpoint", format, (version,), _REMEDY, file)


class CheckpointFolder:
    """The folder of one checkpoint, which is replaced all at once. `save` makes the folder.

    `description` holds everything that the work depends on, as JSON values: a checkpoint of other work is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], kind: ManifestKind, description: Mapping[str, Any]) -> None:
        self._folder = Path(folder)
        self._kind = kind
        self._description = json.loads(json.dumps(description))
        self._files: dict[str, dict[str, Any]] = {}

    def save(self, state: Mapping[str, Any], arrays: Mapping[str, Callable[[], Arrays]]) -> None:
        """Write a checkpoint, all of it or nothing: JSON values, and files of arrays, each made by a function.

        A file whose name was in the checkpoint before is kept as it is; its arrays are not made.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        before, self._files = self._files, {}
        for name, make in arrays.items():
            file = f"{name}.safetensors"
            self._files[file] = before.get(file) or self._write(file, make())
        self._kind.write(self._folder, {"description": self._description, **state, "files": self._files})
        for file in before.keys() - self._files.keys():  # nothing else in the folder is ours to remove
            (self._folder / file).unlink(missing_ok=True)

    def _write(self, file: str, arrays: Arrays) -> dict[str, Any]:
        with replacing(self._folder / file) as written:
            write_tensors(written, arrays)
            return describe_file(written)

    def load(self, restore: Callable[[dict[str, Any], Callable[[str], Arrays]], Any]) -> Any:
        """Return what `restore` makes of the checkpoint; None if there is none.

        `restore` takes the state, and a function that maps the arrays of a file by its name into memory. Any KeyError,
        TypeError or ValueError that it raises means a damaged checkpoint, which is a ValueError.
        """
        if not self._kind.exists(self._folder):
            return None
        state = self._kind.read(self._folder)
        self._refuse_other_work(state.get("description"))
        files: dict[str, dict[str, Any]] = state.get("files", {})

        def arrays(name: str) -> Arrays:
            file = Path(f"{name}.safetensors").name  # in this folder, whatever the state says
            check_file(self._folder / file, files[file])
            return read_tensors(self._folder / file, mmap=True)

        try:
            if not are_described(files):
                raise ValueError("its files are not listed")
            restored = restore(state, arrays)
        except (KeyError, TypeError, ValueError, FileNotFoundError) as error:
            raise ValueError(
                f"Expected a whole checkpoint in {self._folder}, but it is damaged: {error!r}. {self._kind.remedy}"
            ) from error
        self._files = files
        return restored

    def _refuse_other_work(self, found: Any) -> None:
        found = found if isinstance(found, dict) else {}
        names = sorted({*self._description, *found})
        other = [name for name in names if self._description.get(name) != found.get(name)]
        if other:
            raise ValueError(
                f"Expected a checkpoint of the same documents and settings in {self._folder}, but these differ: "
                f"{', '.join(other)}. Choose another folder, or remove this one to start again."
            )


def fingerprint(settings: Mapping[str, Any], *arrays: NDArray[Any]) -> str:
    """Hash plain settings and arrays, to 64 hexadecimal digits: equal work has an equal fingerprint."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class PartStore:
    """A folder of finished parts, each one file of arrays with `block` rows; the last one may have fewer.

    The folder is made if it is not there, and resumed if its parts have the same fingerprint. It is refused, as a
    ValueError, if it holds parts of other work, or something else.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str, block: int) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        work = {"fingerprint": identity, "block": block}
        if _PARTS.refuse_others(self._folder, LEFT_OVER) is None:
            _PARTS.write(self._folder, work)
            return
        found = _PARTS.read(self._folder)
        if any(found.get(name) != value for name, value in work.items()):
            raise ValueError(
                f"Expected {folder} to be empty or to hold parts of the same work, but it holds those of other "
                "documents, vectors or settings. Choose another folder, or remove this one."
            )

    def load(self, start: int, stop: int) -> Arrays | None:
        """Read the part with some rows; None if it is not finished."""
        path = self._path(start)
        if not path.exists():
            return None
        arrays = read_tensors(path, mmap=False)
        if any(len(array) != stop - start for array in arrays.values()):
            raise ValueError(f"Expected {stop - start} rows in {path}. The file is damaged; remove it.")
        return arrays

    def save(self, start: int, arrays: Arrays) -> None:
        """Write the part that starts at a row, whole or not at all."""
        with replacing(self._path(start)) as written:
            write_tensors(written, arrays)

    def _path(self, start: int) -> Path:
        return self._folder / f"rows-{start:010d}.safetensors"


def compute_in_parts(
    work: Callable[[int, int], Arrays],
    n_rows: int,
    *,
    block: int,
    n_jobs: int | None,
    processes: bool,
    progress: Callable[[int], None],
    store: PartStore | None,
) -> Arrays:
    """Call ``work(start, stop)`` on blocks of rows, and put the arrays that it returns on top of each other.

    Parts are computed by threads, or by processes for work that holds the interpreter's lock; then it must be
    picklable. `progress` is told the number of rows of every part that is there. Finished parts are taken from the
    store, and new ones put there.

    Examples
    --------
    >>> def work(start, stop):
    ...     return {"squares": np.arange(start, stop) ** 2}
    >>> options = {"n_jobs": 2, "processes": False, "progress": lambda rows: None, "store": None}
    >>> compute_in_parts(work, 5, block=2, **options)
    {'squares': array([ 0,  1,  4,  9, 16])}
    """
    parts: dict[int, Arrays] = {}
    spans = [(start, min(start + block, n_rows)) for start in range(0, n_rows, block)]
    for start, stop in spans:
        if store is not None and (loaded := store.load(start, stop)) is not None:
            parts[start] = loaded
            progress(stop - start)
    missing = [span for span in spans if span[0] not in parts]
    _logger.info("%d of %d parts to compute", len(missing), len(spans))

    def keep(span: tuple[int, int], arrays: Arrays) -> None:
        if store is not None:
            store.save(span[0], arrays)
        parts[span[0]] = arrays
        progress(span[1] - span[0])

    def compute(first: int, last: int) -> None:
        for span in missing[first:last]:
            keep(span, work(*span))

    if processes and min(count_threads(n_jobs), len(missing)) > 1:
        from joblib import Parallel, delayed

        results = Parallel(count_threads(n_jobs), return_as="generator")(delayed(work)(*span) for span in missing)
        for span, arrays in zip(missing, results, strict=True):
            keep(span, arrays)
    else:
        run_in_blocks(compute, len(missing), n_jobs, block=1)
    names = parts[0] if spans else {}
    _refuse_unlike(parts)
    return {name: np.concatenate([parts[start][name] for start, _ in spans]) for name in names}


def _refuse_unlike(parts: Mapping[int, Arrays]) -> None:
    """Demand arrays of the same names, kinds and widths in all parts; a stored file may have been exchanged."""
    shapes = {
        start: {name: (array.dtype, array.shape[1:]) for name, array in arrays.items()}
        for start, arrays in parts.items()
    }
    unlike = [start for start in sorted(shapes) if shapes[start] != shapes[0]]
    if unlike:
        raise ValueError(
            f"Expected the same arrays in all parts, but those from rows {str(unlike[:5])[1:-1]} on differ from the "
            "first. A file in the folder is damaged; remove the folder to start again."
        )
