"""Long work in parts: several at once, with a progress bar, stored and resumed."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import first_few
from treewass.saving import replacing
from treewass.search.tensor_files import read_tensors, write_tensors
from treewass.search.threads import count_threads, run_in_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Arrays", "PartStore", "compute_in_parts", "fingerprint", "show_progress"]

Arrays = dict[str, "NDArray[Any]"]
_FORMAT, _VERSION, _MANIFEST = "treewass parts", 1, "parts.json"
_logger = logging.getLogger("treewass")


def fingerprint(settings: Mapping[str, Any], *arrays: NDArray[Any]) -> str:
    """Hash settings and arrays: equal work has an equal fingerprint.

    Parameters
    ----------
    settings : mapping
        Names and plain values.
    *arrays : ndarray
        Everything else that the result depends on.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> one = fingerprint({"cost": "squared"}, np.arange(3))
    >>> one == fingerprint({"cost": "squared"}, np.arange(3)), one == fingerprint({"cost": "squared"}, np.arange(4))
    (True, False)
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class PartStore:
    """A folder of finished parts, each one file of arrays; a manifest says what they are parts of.

    Parameters
    ----------
    folder : path-like
        Made if it is not there. One with parts of the same work is resumed.
    identity : str
        The fingerprint of the work.
    block : int
        Rows of a part.

    Raises
    ------
    ValueError
        If the folder holds parts of other work, or something else.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str, block: int) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        manifest = {"format": _FORMAT, "version": _VERSION, "fingerprint": identity, "block": block}
        path = self._folder / _MANIFEST
        if path.exists():
            self._refuse_other(path, manifest)
            return
        if any(not file.name.startswith(".treewass-") for file in self._folder.iterdir()):
            raise ValueError(
                f"Expected an empty folder or one with parts of this work, but {folder} holds other files. "
                "Choose another folder."
            )
        with replacing(path) as written:
            written.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")

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

    def _refuse_other(self, path: Path, manifest: dict[str, Any]) -> None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"Expected JSON in {path}: {error}. Remove the folder to start anew.") from error
        if found != manifest:
            raise ValueError(
                f"Expected {path.parent} to be empty or to hold parts of the same work, but it holds those of other "
                "documents, vectors or settings. Choose another folder, or remove this one."
            )


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

    Parameters
    ----------
    work : callable
        Returns named arrays whose first axis are the rows. With `processes` it must be picklable.
    n_rows : int
        Rows in all.
    block : int
        Rows of a part.
    n_jobs : int or None
        Parts at once, as in scikit-learn.
    processes : bool
        Use processes, for work that holds the interpreter's lock, instead of threads.
    progress : callable
        Told the number of rows whenever a part is there.
    store : PartStore or None
        Finished parts are taken from there, and new ones put there.

    Returns
    -------
    dict of str to ndarray

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
            f"Expected the same arrays in all parts, but those from rows {first_few(np.array(unlike))} on differ from "
            "the first. A file in the folder is damaged; remove the folder to start anew."
        )


@contextmanager
def show_progress(description: str, total: int, verbose: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, if wanted.

    Parameters
    ----------
    description : str
        What is counted.
    total : int
        How many there are.
    verbose : bool
        Whether to show it.

    Yields
    ------
    callable
        Takes how many more are done.

    Examples
    --------
    >>> with show_progress("documents", 3, verbose=False) as advance:
    ...     advance(2)
    """
    if not verbose:
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.update(task, advance=done)


def _ignore(done: int) -> None:
    """Show nothing."""
