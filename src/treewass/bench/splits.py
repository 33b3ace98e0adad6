"""What a folder of text sets says about each set beside its texts: the random splits, and whether words are clean."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from treewass.documents.formats import BROKEN_GZIP
from treewass.saving import alone, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SetNotes", "new_gzip", "random_splits", "read_notes", "write_notes"]

_FILE = "splits.json.gz"
_EXPECTED = 'expected {"NAME": {"train": [[row numbers], …]}, …}, as the command treewass bench data writes it'


@dataclass(frozen=True, slots=True)
class SetNotes:
    """What ``splits.json.gz`` holds about a set.

    Parameters
    ----------
    train_rows : tuple of ndarray of int
        Row numbers of the training documents, one array per random split; empty for a set with a split of its own.
    cleaned : bool
        Whether the texts are the words that count, with spaces between them: nothing is left to clean.
    """

    train_rows: tuple[NDArray[np.intp], ...] = ()
    cleaned: bool = False


def read_notes(folder: Path) -> dict[str, SetNotes]:
    """Read what a folder says about its sets.

    Parameters
    ----------
    folder : Path
        The folder of text sets.

    Returns
    -------
    dict of str to SetNotes
        By the name of the set; empty if the folder has no ``splits.json.gz``.

    Raises
    ------
    ValueError
        If the file is broken or holds something else.
    """
    path = folder / _FILE
    if not path.exists():
        return {}
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            entries = json.load(file)
        return {str(name): _to_notes(entry) for name, entry in entries.items()}
    except BROKEN_GZIP as error:
        raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path}: {_EXPECTED}; found something else ({error}).") from error


def write_notes(folder: Path, name: str, notes: SetNotes) -> None:
    """Write what a folder says about one set, and keep the rest.

    Parameters
    ----------
    folder : Path
        The folder of text sets.
    name : str
        The set.
    notes : SetNotes
        Its splits, and whether its words are clean.
    """
    with alone(folder):
        entries = {set_name: _to_entry(known) for set_name, known in read_notes(folder).items()}
        entries[name] = _to_entry(notes)
        with new_gzip(folder / _FILE) as file:
            json.dump(entries, file)


@contextmanager
def new_gzip(path: Path) -> Iterator[TextIO]:
    """Open a gzipped text for writing; it takes its place when all is written, and depends on the text alone.

    Parameters
    ----------
    path : Path
        The file to write or replace.

    Yields
    ------
    TextIO
    """
    with (
        replacing(path) as written,
        written.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as zipped,
        io.TextIOWrapper(zipped, encoding="utf-8", newline="\n") as text,
    ):
        yield text


def random_splits(n_documents: int, n_train: int, *, n_splits: int = 5, seed: int = 0) -> tuple[NDArray[np.intp], ...]:
    """Draw training documents at random.

    Parameters
    ----------
    n_documents, n_train : int
        How many documents there are, and how many of them train.
    n_splits : int, default=5
        How many splits.
    seed : int, default=0
        The same seed draws the same splits.

    Returns
    -------
    tuple of ndarray of int, shape (n_train,)
        Sorted row numbers.

    Examples
    --------
    >>> [rows.tolist() for rows in random_splits(5, 3, n_splits=2)]
    [[2, 3, 4], [1, 2, 4]]
    """
    generator = np.random.default_rng(seed)
    return tuple(np.sort(generator.permutation(n_documents)[:n_train]) for _ in range(n_splits))


def _to_notes(entry: dict[str, Any]) -> SetNotes:
    return SetNotes(tuple(_to_rows(rows) for rows in entry.get("train", ())), bool(entry.get("cleaned", False)))


def _to_rows(rows: Sequence[int]) -> NDArray[np.intp]:
    array = np.array(rows)
    if array.ndim != 1 or array.dtype.kind != "i" or (array < 0).any():
        raise ValueError("a list of training rows is not a list of row numbers")
    return array.astype(np.intp)


def _to_entry(notes: SetNotes) -> dict[str, object]:
    entry: dict[str, object] = {}
    if notes.train_rows:
        entry["train"] = [rows.tolist() for rows in notes.train_rows]
    if notes.cleaned:
        entry["cleaned"] = True
    return entry
