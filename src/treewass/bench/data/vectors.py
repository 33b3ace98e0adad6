"""The word vectors of a folder of text sets: ``word_vectors.npz`` with the vectors of the words that occur."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from treewass.bench.data.folder import check_new
from treewass.bench.datasets import load_set, set_names
from treewass.documents.vector_formats import first_words
from treewass.documents.word_vectors import WordVectors, read_word_vectors
from treewass.saving import alone, replacing

__all__ = ["add_vectors", "make_vectors"]

_FILE = "word_vectors.npz"
_TOLERANCE = 1e-3  # more than float16, less than two models


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
    path = folder / _FILE
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
    path = folder / _FILE
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
