"""The text sets of the benchmarks, read from the folder that TREEWASS_DATA names."""

from __future__ import annotations

import gzip
import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.corpus import Corpus
from treewass.documents.readers import read_corpus
from treewass.documents.word_vectors import AlignedVectors, WordVectors, read_word_vectors
from treewass.exceptions import UncoveredWordsWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["PAPER_SETS", "Split", "TextSet", "data_folder", "load_set", "load_split", "load_vectors"]

PAPER_SETS = ("twitter", "amazon", "classic", "bbcsport", "ohsumed", "reuters")


@dataclass(frozen=True, slots=True)
class Split:
    """A train/test split, vectorised with the words of its training documents.

    Parameters
    ----------
    words : ndarray of str, shape (n_words,)
        The vocabulary, sorted.
    X_train, X_test : csr_array of shape (n_documents, n_words)
        Counts.
    y_train, y_test : ndarray of str, shape (n_documents,)
        Labels.
    train_texts, test_texts : list of str
        The texts as they were read.
    """

    words: NDArray[np.object_]
    X_train: csr_array
    y_train: NDArray[np.str_]
    X_test: csr_array
    y_test: NDArray[np.str_]
    train_texts: list[str]
    test_texts: list[str]


@dataclass(frozen=True)
class TextSet:
    """A labelled set of texts with the splits it is measured on.

    Parameters
    ----------
    corpus : Corpus
        Texts and labels.
    train_rows : tuple of ndarray of int
        Row numbers of the training documents, one array per split; all other rows are test documents.
    stop_words : tuple of str
        Words that the paper's cleaning leaves out, none for TWITTER.
    """

    corpus: Corpus
    train_rows: tuple[NDArray[np.intp], ...]
    stop_words: tuple[str, ...]

    @cached_property
    def labels(self) -> NDArray[np.str_]:
        """The labels as an array, shape (n_documents,)."""
        return np.array(self.corpus.labels)

    def split(self, number: int) -> Split:
        """Vectorise a split as the paper does: lower case, words of letters, digits and apostrophes.

        Parameters
        ----------
        number : int
            Which of the set's splits.

        Returns
        -------
        Split
        """
        from sklearn.feature_extraction.text import CountVectorizer

        train = self.train_rows[number]
        test = np.setdiff1d(np.arange(len(self.corpus)), train)
        train_texts = [self.corpus.texts[row] for row in train]
        test_texts = [self.corpus.texts[row] for row in test]
        vectorizer = CountVectorizer(token_pattern=r"[a-z0-9']+", stop_words=list(self.stop_words) or None)
        X_train = vectorizer.fit_transform(train_texts)
        X_test = vectorizer.transform(test_texts)
        words = vectorizer.get_feature_names_out()
        return Split(words, X_train, self.labels[train], X_test, self.labels[test], train_texts, test_texts)


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the text sets: the one given, or that of the variable TREEWASS_DATA.

    Raises
    ------
    ValueError
        If there is none; the message says what to do.
    """
    named = folder or os.environ.get("TREEWASS_DATA")
    if not named:
        raise ValueError("Expected a folder of text sets: pass --data DIR or set the variable TREEWASS_DATA.")
    path = Path(named)
    if not path.is_dir():
        raise ValueError(f"Expected a folder of text sets, but {path} is not a folder. Check --data or TREEWASS_DATA.")
    return path


def load_set(name: str, folder: str | os.PathLike[str] | None = None) -> TextSet:
    """Load a text set with its splits.

    Parameters
    ----------
    name : str
        The file's name without ``.jsonl.gz``, such as ``"reuters"``.
    folder : path-like, optional
        Where the sets are; that of the variable TREEWASS_DATA by default.

    Returns
    -------
    TextSet
    """
    path = data_folder(folder) / f"{name}.jsonl.gz"
    if not path.exists():
        known = sorted(file.name.removesuffix(".jsonl.gz") for file in path.parent.glob("*.jsonl.gz"))
        raise ValueError(f"Expected one of the sets {', '.join(known)}, got {name!r}.")
    corpus = read_corpus(path)
    stop_words = () if name == "twitter" else tuple((path.parent / "stop_words.txt").read_text("utf-8").split())
    return TextSet(corpus, _train_rows(path.parent, name, corpus), stop_words)


def load_split(name: str, number: int = 0, folder: str | os.PathLike[str] | None = None) -> Split:
    """Load a set and vectorise a split, or return it again: neighbouring cells of a benchmark share it.

    Parameters
    ----------
    name : str
        The file's name without ``.jsonl.gz``.
    number : int, default=0
        Which of the set's splits.
    folder : path-like, optional
        Where the sets are; that of the variable TREEWASS_DATA by default.

    Returns
    -------
    Split
        To be read, not changed.
    """
    return _split(name, number, data_folder(folder))


def load_vectors(words: Iterable[str], folder: str | os.PathLike[str] | None = None) -> AlignedVectors:
    """Load the vectors of words; words without one carry no mass, as in the paper's sets, which lack them.

    Parameters
    ----------
    words : iterable of str
        The vocabulary of a split.
    folder : path-like, optional
        Where ``word_vectors.npz`` is; that of the variable TREEWASS_DATA by default.

    Returns
    -------
    AlignedVectors
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncoveredWordsWarning)
        return _all_vectors(data_folder(folder) / "word_vectors.npz").align(words)


@lru_cache(maxsize=2)
def _split(name: str, number: int, folder: Path) -> Split:
    return load_set(name, folder).split(number)


@cache
def _all_vectors(path: Path) -> WordVectors:
    """Read a file of vectors once."""
    return read_word_vectors(path)


def _train_rows(folder: Path, name: str, corpus: Corpus) -> tuple[NDArray[np.intp], ...]:
    """Take the split that the set comes with, or the stored random ones."""
    if corpus.parts is not None:
        return (np.flatnonzero(np.array(corpus.parts) == "train"),)
    with gzip.open(folder / "splits.json.gz", "rt", encoding="utf-8") as file:
        splits = json.load(file)
    return tuple(np.array(rows) for rows in splits[name]["train"])
