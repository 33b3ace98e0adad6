"""The text sets of the benchmarks, with their splits, in the folder that TREEWASS_DATA names."""

from __future__ import annotations

import gzip
import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from treewass.documents import (
    AlignedVectors,
    Corpus,
    UncoveredWordsWarning,
    WordVectors,
    make_documents,
    read_corpus,
    read_word_vectors,
)
from treewass.documents.file_opening import BROKEN_GZIP
from treewass.storage.folders import alone, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = [
    "PAPER_SETS",
    "SetNotes",
    "Split",
    "TextSet",
    "data_folder",
    "generated_texts",
    "load_set",
    "load_split",
    "load_vectors",
    "new_gzip",
    "random_splits",
    "read_notes",
    "set_names",
    "write_notes",
]

PAPER_SETS = ("twitter", "amazon", "classic", "bbcsport", "ohsumed", "reuters")
_ENDING = ".jsonl.gz"
_FILE = "splits.json.gz"
_EXPECTED = (
    'expected {"NAME": {"train": [[row numbers], …]}, …}, as the command python -m treewass_bench data writes it'
)


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
    cleaned : bool, default=False
        Whether the texts are words with spaces between them that need no cleaning, each of them a word of the
        vocabulary as it is, as in the sets that the word mover papers' files hold.
    """

    corpus: Corpus
    train_rows: tuple[NDArray[np.intp], ...]
    stop_words: tuple[str, ...]
    cleaned: bool = False

    @cached_property
    def labels(self) -> NDArray[np.str_]:
        """The labels as an array, shape (n_documents,)."""
        return np.array(self.corpus.labels)

    def vectorizer(self) -> CountVectorizer:
        """Make the vectoriser of the paper's cleaning: lower case, words of letters, digits and apostrophes.

        Returns
        -------
        CountVectorizer
            Not fitted; for texts that are clean already, one that takes every word as it is.
        """
        from sklearn.feature_extraction.text import CountVectorizer

        if self.cleaned:
            return CountVectorizer(token_pattern=r"\S+", lowercase=False)
        return CountVectorizer(token_pattern=r"[a-z0-9']+", stop_words=list(self.stop_words) or None)

    def split(self, number: int) -> Split:
        """Vectorise a split with the words of its training documents.

        Parameters
        ----------
        number : int
            Which of the set's splits.
        """
        train = self.train_rows[number]
        test = np.setdiff1d(np.arange(len(self.corpus)), train)
        train_texts = [self.corpus.texts[row] for row in train]
        test_texts = [self.corpus.texts[row] for row in test]
        vectorizer = self.vectorizer()
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


def set_names(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """List the sets of a folder: the paper's in its order, then the others."""
    found = sorted(path.name.removesuffix(_ENDING) for path in data_folder(folder).glob(f"*{_ENDING}"))
    return [name for name in PAPER_SETS if name in found] + [name for name in found if name not in PAPER_SETS]


def load_set(name: str, folder: str | os.PathLike[str] | None = None) -> TextSet:
    """Load a text set with its splits.

    Parameters
    ----------
    name : str
        The file's name without ``.jsonl.gz``, such as ``"reuters"``.
    folder : path-like, optional
        Where the sets are; that of the variable TREEWASS_DATA by default.

    Raises
    ------
    ValueError
        If there is no such set, one of its files is broken, or its splits or the stop words are missing.
    """
    path = data_folder(folder) / f"{name}{_ENDING}"
    if not path.exists():
        known = ", ".join(sorted(set_names(path.parent)))
        if not known:
            raise ValueError(
                f"Expected text sets in {path.parent}, found none. Make them with python -m treewass_bench data."
            )
        raise ValueError(f"Expected one of the sets {known}, got {name!r}.")
    corpus = read_corpus(path)
    notes = read_notes(path.parent).get(name, SetNotes())
    stop_words = () if name == "twitter" or notes.cleaned else _read_stop_words(path.parent)
    return TextSet(corpus, _train_rows(path, corpus, notes), stop_words, notes.cleaned)


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
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncoveredWordsWarning)
        return _all_vectors(data_folder(folder) / "word_vectors.npz").align(words)


def generated_texts(
    n_documents: int, *, words: float = 40.0, n_classes: int = 8
) -> tuple[list[str], NDArray[np.int64]]:
    """Draw topical documents of made-up words, 20 000 of them, with seed 0; return texts and labels.

    Examples
    --------
    >>> texts, labels = generated_texts(3, words=5)
    >>> len(texts), labels.shape, texts[0][0]
    (3, (3,), 'w')
    """
    counts, labels = make_documents(n_documents, words_per_document=words, n_classes=n_classes, random_state=0)
    bounds = zip(counts.indptr[:-1].tolist(), counts.indptr[1:].tolist(), strict=True)
    repeated = (np.repeat(counts.indices[start:stop], counts.data[start:stop].astype(int)) for start, stop in bounds)
    return [" ".join(f"w{word}" for word in own.tolist()) for own in repeated], labels


@lru_cache(maxsize=2)
def _split(name: str, number: int, folder: Path) -> Split:
    return load_set(name, folder).split(number)


@cache
def _all_vectors(path: Path) -> WordVectors:
    """Read a file of vectors once."""
    return read_word_vectors(path)


def _train_rows(path: Path, corpus: Corpus, notes: SetNotes) -> tuple[NDArray[np.intp], ...]:
    """Take the split that the set comes with, or the stored random ones."""
    if corpus.parts is not None:
        return (np.flatnonzero(np.array(corpus.parts) == "train"),)
    if not notes.train_rows:
        raise ValueError(
            f"{path}: the set has no field 'split', and splits.json.gz beside it has no splits for it. "
            "Make the set again with python -m treewass_bench data, which draws splits."
        )
    for rows in notes.train_rows:
        if rows.size == 0 or rows.max() >= len(corpus):
            raise ValueError(
                f"{path}: expected splits that train on some of the {len(corpus)} documents, but splits.json.gz beside "
                f"it names {rows.size} rows up to {rows.max(initial=-1)}. "
                "Make the set again with python -m treewass_bench data."
            )
    return notes.train_rows


def _read_stop_words(folder: Path) -> tuple[str, ...]:
    path = folder / "stop_words.txt"
    if not path.exists():
        raise ValueError(
            f"Expected the stop words in {path}, but there is no such file. Copy the list of that name from the public "
            "repository mkusner/wmd; an empty file leaves every word in."
        )
    return tuple(path.read_text("utf-8").split())


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
