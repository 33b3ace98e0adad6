"""Writing text sets and their word vectors into the folder that the benchmarks read."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treewass.documents import Corpus, WordVectors, read_word_vectors
from treewass.documents.word_vectors import first_words
from treewass.storage.folders import alone, replacing
from treewass_bench.datasets import SetNotes, load_set, new_gzip, random_splits, set_names, write_notes
from treewass_bench.statistics import PUBLISHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "add_vectors",
    "check_new",
    "check_set",
    "make_folder",
    "make_vectors",
    "published_splits",
    "write_set",
]

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_TRAIN_SHARE = 0.7
_VECTORS = "word_vectors.npz"
_TOLERANCE = 1e-3  # more than float16, less than two models


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


def make_vectors(
    folder: Path, source: str | os.PathLike[str], *, format: str | None = None, force: bool = False
) -> WordVectors:
    """Write the vectors, in float32, that a public file has for the words of a folder's sets.

    Parameters
    ----------
    folder : Path
        The folder of text sets.
    source : path-like
        A file of word vectors, such as ``GoogleNews-vectors-negative300.bin.gz`` or ``glove.6B.300d.txt``.
    format : {"word2vec", "binary", "glove", "npz"}, optional
        As in `read_word_vectors`.
    force : bool, default=False
        Whether to replace the folder's vectors.

    Returns
    -------
    WordVectors
        What was written.
    """
    path = folder / _VECTORS
    check_new(path, force=force)
    names = set_names(folder)
    if not names:
        raise ValueError(f"Expected text sets in {folder}, whose words get vectors, found none. Make the sets first.")
    words: dict[str, None] = {}
    for name in names:
        text_set = load_set(name, folder)
        words |= dict.fromkeys(text_set.vectorizer().fit(text_set.corpus.texts).get_feature_names_out())
    vectors = read_word_vectors(source, vocabulary=words, format=format)
    _write(path, vectors)
    return vectors


def add_vectors(folder: Path, vectors: WordVectors) -> WordVectors:
    """Add the vectors that came with a set to those of the folder, which must be of the same model.

    Parameters
    ----------
    folder : Path
        The folder of text sets.
    vectors : WordVectors
        The set's.

    Returns
    -------
    WordVectors
        All of them, as they were written in float32; a word of both keeps the folder's vector.

    Raises
    ------
    ValueError
        If the folder's vectors have another length, or most words of both have another vector there.

    Warns
    -----
    UserWarning
        If some words of both have another vector there.
    """
    path = folder / _VECTORS
    with alone(folder):
        if path.exists():
            vectors = _merged(path, read_word_vectors(path), vectors)
        _write(path, vectors)
    return vectors


def _merged(path: Path, old: WordVectors, new: WordVectors) -> WordVectors:
    elsewhere = "Put the set into another --data folder, or remove the file."
    if old.n_dimensions != new.n_dimensions:
        raise ValueError(
            f"{path} has vectors of {old.n_dimensions} dimensions, the set's have {new.n_dimensions}: they do not mix. "
            f"{elsewhere}"
        )
    row_of = {word: row for row, word in enumerate(old.words)}
    both = [(row_of[word], row) for row, word in enumerate(new.words) if word in row_of]
    if both:
        old_rows, new_rows = np.array(both).T
        near = np.isclose(old.vectors[old_rows], new.vectors[new_rows], rtol=_TOLERANCE, atol=_TOLERANCE).all(axis=1)
        others = [new.words[row] for row in new_rows[~near]]
        what = f"{len(others)} of {len(both)} words of the set have another vector in {path} ({first_words(others)})"
        if len(others) > len(both) / 2:
            raise ValueError(f"{what}: it is of another model. {elsewhere}")
        if others:
            warnings.warn(f"{what}, which they keep.", stacklevel=4)
    added = [row for row, word in enumerate(new.words) if word not in row_of]
    words = old.words + tuple(new.words[row] for row in added)
    return WordVectors(words, np.concatenate([old.vectors, new.vectors[added]]))


def _write(path: Path, vectors: WordVectors) -> None:
    with replacing(path) as written, written.open("wb") as file:
        np.savez_compressed(file, words=np.array(vectors.words, dtype=str), vectors=vectors.vectors)
