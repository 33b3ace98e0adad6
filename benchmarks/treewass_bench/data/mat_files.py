"""The word mover papers' ``.mat`` files: words, counts, vectors, labels and splits of a set."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents import Corpus, WordVectors
from treewass.documents.word_vectors import first_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MatSet", "name_of_mat_file", "read_mat"]

_SPLIT_FIELDS = ("X", "BOW_X", "Y", "TR", "TE")
_FIXED_FIELDS = ("xtr", "BOW_xtr", "ytr", "words_tr", "xte", "BOW_xte", "yte", "words_te")
_WORDS = ("words", "the_words")
_NAMES = {"r8": "reuters", "20ng2_500": "20news", "20ng2": "20news", "recipe2": "recipe"}
_BROKEN = (OSError, ValueError, TypeError, IndexError, EOFError, NotImplementedError, zlib.error)


@dataclass(frozen=True, slots=True, eq=False)
class MatSet:
    """A set as a ``.mat`` file holds it.

    Parameters
    ----------
    corpus : Corpus
        Each text is its words, each as often as it is counted; with parts where the file has a fixed split.
    train_rows : tuple of ndarray of int
        Rows that train, counted from 0, an array per random split; empty with a fixed split.
    vectors : WordVectors
        The vector of every word.
    """

    corpus: Corpus
    train_rows: tuple[NDArray[np.intp], ...]
    vectors: WordVectors


def name_of_mat_file(path: str | os.PathLike[str]) -> str:
    """Tell the set by the name of its file.

    Examples
    --------
    >>> name_of_mat_file("twitter-emd_tr_te_split.mat"), name_of_mat_file("r8-emd_tr_te3.mat")
    ('twitter', 'reuters')
    """
    stem = Path(path).stem.lower().partition("-emd")[0].partition("_tr_te")[0]
    return _NAMES.get(stem, stem)


def read_mat(path: str | os.PathLike[str], name: str | None = None) -> MatSet:
    """Read a set from a ``.mat`` file of the word mover papers.

    A file with random splits has a cell for each document in ``X`` (a matrix with the vector of a word in each
    column), ``BOW_X`` (counts) and ``words`` or ``the_words`` (a cell of strings, padded with zeros), the labels ``Y``,
    and a row for each split in ``TR`` and ``TE`` (the documents that train and test, counted from 1). A file with a
    fixed split has ``xtr``, ``BOW_xtr``, ``words_tr`` and ``ytr``, and the same with ``te``.

    Parameters
    ----------
    path : path-like
        The file, such as ``twitter-emd_tr_te_split.mat``.
    name : str, optional
        What to call the set; the file's name tells by default.

    Raises
    ------
    ValueError
        If the file is broken, lacks a field, or its fields do not fit together.

    Warns
    -----
    UserWarning
        If a word has different vectors in different documents; the first one is kept.
    """
    path = Path(path)
    fields = _load(path)
    name = name or name_of_mat_file(path)
    try:
        if "X" in fields:
            documents = list(_documents(fields, "X", "BOW_X", _words_field(fields), "Y"))
            rows = _train_rows(fields, len(documents))
            return MatSet(_to_corpus(name, documents, None), rows, _to_vectors(documents))
        train = list(_documents(fields, "xtr", "BOW_xtr", "words_tr", "ytr"))
        test = list(_documents(fields, "xte", "BOW_xte", "words_te", "yte"))
        parts = ("train",) * len(train) + ("test",) * len(test)
        return MatSet(_to_corpus(name, train + test, parts), (), _to_vectors(train + test))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class _Document:
    words: list[str]
    counts: NDArray[np.intp]
    vectors: NDArray[Any]  # one row a word
    label: str


def _load(path: Path) -> dict[str, Any]:
    """Read the fields that a set has, and demand all of them."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    wanted = (*_SPLIT_FIELDS, *_FIXED_FIELDS, *_WORDS)
    try:
        fields: dict[str, Any] = loadmat(path, appendmat=False, variable_names=wanted)
    except (MatReadError, *_BROKEN) as error:
        raise ValueError(
            f"{path}: expected a MATLAB file up to version 7; it is broken or no such file ({error})."
        ) from error
    found = sorted(set(fields) & set(wanted))
    missing = [field for field in (_SPLIT_FIELDS if "X" in found else _FIXED_FIELDS) if field not in found]
    if missing or ("X" in found and not set(_WORDS) & set(found)):
        missing = missing or ["words"]
        raise ValueError(
            f"{path}: expected the fields {', '.join(_SPLIT_FIELDS)} and words, or {', '.join(_FIXED_FIELDS)}; "
            f"found {', '.join(found) or 'none of them'}, not {', '.join(missing)}."
        )
    return fields


def _words_field(fields: Mapping[str, Any]) -> str:
    return next(field for field in _WORDS if field in fields)


def _documents(fields: Mapping[str, Any], vectors: str, counts: str, words: str, labels: str) -> Iterator[_Document]:
    """Put words, counts, vectors and label of each document together."""
    all_vectors, all_counts = _cells(fields, vectors), _cells(fields, counts)
    all_words = [_strings(cell) for cell in _cells(fields, words)]
    if len(all_words) > len(all_counts):  # some files have empty cells of words that no document belongs to
        all_words = [strings for strings, cell in zip(all_words, _cells(fields, words), strict=True) if len(cell)]
    all_labels = _integers(fields[labels], labels).tolist()
    sizes = {vectors: len(all_vectors), counts: len(all_counts), words: len(all_words), labels: len(all_labels)}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"expected as many documents in each field, found {sizes}.")
    columns = zip(all_words, all_counts, all_vectors, all_labels, strict=True)
    for row, (strings, frequencies, matrix, label) in enumerate(columns):
        yield _to_document(f"document {row + 1} of {words}", strings, frequencies, np.asarray(matrix), str(label))


def _to_document(place: str, words: list[str], frequencies: Any, matrix: NDArray[Any], label: str) -> _Document:
    counts = _integers(frequencies, f"the counts of {place}")
    columns = matrix.shape[1] if matrix.ndim == 2 and words else 0
    if not len(words) == len(counts) == columns:
        raise ValueError(
            f"expected a count and a vector, in a column, for each word; found {len(words)} words, {len(counts)} "
            f"counts and vectors of shape {matrix.shape} in {place}."
        )
    if (counts < 1).any():
        raise ValueError(f"expected counts of at least 1, found {counts.min()} in {place}.")
    odd = [word for word in words if word.split() != [word]]
    if odd:
        raise ValueError(f"expected words without spaces, found {odd[0]!r} in {place}.")
    return _Document(words, counts, matrix.T if words else np.empty((0, 0)), label)


def _cells(fields: Mapping[str, Any], field: str) -> list[Any]:
    array = fields[field]
    if array.dtype != object:
        raise ValueError(f"expected {field} to be a cell array, found an array of {array.dtype}.")
    return list(array.ravel())


def _strings(cell: Any) -> list[str]:
    """Take the words of a document's cell; the zeros that pad it are no words."""
    entries = np.asarray(cell).ravel()
    texts = [str(text) for entry in entries for text in np.asarray(entry).ravel() if isinstance(text, str)]
    return [text.strip() for text in texts if text.strip()]


def _integers(values: Any, what: str) -> NDArray[np.intp]:
    array = np.asarray(values).ravel()
    if array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or (array != np.round(array)).any():
        raise ValueError(f"expected whole numbers for {what}, found an array of {array.dtype} with others.")
    return array.astype(np.intp)


def _train_rows(fields: Mapping[str, Any], n_documents: int) -> tuple[NDArray[np.intp], ...]:
    """Take the splits, counted from 0; the test rows must be all others, as the folder's format has it."""
    train, test = (np.atleast_2d(fields[field]) for field in ("TR", "TE"))
    if len(train) != len(test):
        raise ValueError(f"expected as many splits in TR and TE, found {len(train)} and {len(test)}.")
    splits = []
    for number, (train_row, test_row) in enumerate(zip(train, test, strict=True)):
        rows = _integers(train_row, "TR") - 1
        both = np.sort(np.concatenate([rows, _integers(test_row, "TE") - 1]))
        if not np.array_equal(both, np.arange(n_documents)):
            raise ValueError(
                f"expected TR and TE to hold each number from 1 to {n_documents} once between them; split {number + 1} "
                f"has {len(rows)} and {len(both) - len(rows)} numbers, others among them."
            )
        splits.append(np.sort(rows))
    return tuple(splits)


def _to_corpus(name: str, documents: Sequence[_Document], parts: tuple[str, ...] | None) -> Corpus:
    texts = tuple(" ".join(np.repeat(document.words, document.counts)) for document in documents)
    return Corpus(name, texts, tuple(document.label for document in documents), parts=parts)


def _to_vectors(documents: Iterable[_Document]) -> WordVectors:
    """Take the first vector of each word."""
    vectors: dict[str, NDArray[np.float32]] = {}
    others: dict[str, None] = {}
    for document in documents:
        for word, vector in zip(document.words, document.vectors, strict=True):
            vector = np.array(vector, dtype=np.float32)  # a copy, so that the document's matrix can go
            if not np.array_equal(vectors.setdefault(word, vector), vector):
                others[word] = None
    if not vectors:
        raise ValueError("expected documents with words, found none.")
    lengths = {len(vector) for vector in vectors.values()}
    if len(lengths) > 1:
        raise ValueError(f"expected vectors of one length, found lengths {sorted(lengths)}.")
    if others:
        warnings.warn(
            f"{len(others)} of {len(vectors)} words have different vectors in different documents; the first one of "
            f"each is kept: {first_words(list(others))}.",
            stacklevel=3,
        )
    return WordVectors(tuple(vectors), np.array(list(vectors.values())))
