"""Writing a text set into the folder that the benchmarks read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treewass.bench.splits import SetNotes, new_gzip, random_splits, write_notes
from treewass.bench.statistics import PUBLISHED
from treewass.documents.corpus import Corpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["check_new", "check_set", "make_folder", "published_splits", "write_set"]

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_TRAIN_SHARE = 0.7


def make_folder(folder: str | os.PathLike[str] | None) -> Path:
    """Return the folder to write to, the one given or that of TREEWASS_DATA, made if it is not there.

    Raises
    ------
    ValueError
        If none is named, or a file has its name.
    """
    named = folder or os.environ.get("TREEWASS_DATA")
    if not named:
        raise ValueError("Expected a folder to write to: pass --data DIR or set the variable TREEWASS_DATA.")
    path = Path(named).expanduser()
    if path.exists() and not path.is_dir():
        raise ValueError(f"Expected a folder to write to, but {path} is a file. Check --data or TREEWASS_DATA.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def check_new(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unless that is wanted.

    Raises
    ------
    ValueError
        If the file is there and `force` is False.
    """
    if path.exists() and not force:
        raise ValueError(f"There is already a file {path}. Pass --force to replace it, or another --data folder.")


def check_set(folder: Path, name: str, *, force: bool) -> Path:
    """Return the file of a set to be written, if it may be.

    Raises
    ------
    ValueError
        If the name is no file name in lower case, or the file is there and `force` is False.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"Expected a name of small letters, digits, - and _ for the set, such as 'reuters', got {name!r}."
        )
    path = folder / f"{name}.jsonl.gz"
    check_new(path, force=force)
    return path


def published_splits(name: str, n_documents: int) -> tuple[NDArray[np.intp], ...]:
    """Draw five random splits with as many training documents as published, or seven in ten for other sets.

    Parameters
    ----------
    name : str
        The set.
    n_documents : int
        How many documents it has.

    Returns
    -------
    tuple of ndarray of int
        Training rows; the same ones each time.
    """
    published = PUBLISHED.get(name)
    n_train = round(_TRAIN_SHARE * n_documents) if published is None else published.train
    if not 0 < n_train < n_documents:
        raise ValueError(
            f"Expected more than {n_train} documents for the set {name}, of which so many train; got {n_documents}."
        )
    return random_splits(n_documents, n_train)


def write_set(
    folder: Path,
    name: str,
    corpus: Corpus,
    *,
    train_rows: Sequence[NDArray[np.intp]] = (),
    cleaned: bool = False,
    force: bool = False,
) -> Path:
    """Write a set: ``NAME.jsonl.gz`` with its texts, and its splits to ``splits.json.gz``.

    A set that is replaced goes first, so that an interruption leaves no set rather than texts with others' splits.

    Parameters
    ----------
    folder : Path
        The folder of text sets.
    name : str
        The set's name, in lower case.
    corpus : Corpus
        Texts and labels, and parts where the set has a split of its own.
    train_rows : sequence of ndarray of int, default=()
        Rows that train, an array per split; for a corpus without parts.
    cleaned : bool, default=False
        Whether the texts are words with spaces between them, to be taken as they are.
    force : bool, default=False
        Whether to replace a set of that name.

    Returns
    -------
    Path
        The file of the texts.
    """
    path = check_set(folder, name, force=force)
    path.unlink(missing_ok=True)
    write_notes(folder, name, SetNotes(tuple(train_rows), cleaned))
    parts = corpus.parts or (None,) * len(corpus)
    with new_gzip(path) as file:
        for text, label, part in zip(corpus.texts, corpus.labels or (), parts, strict=True):
            row = {"text": text, "label": label} | ({} if part is None else {"split": part})
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path
