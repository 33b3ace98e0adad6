"""Word vectors: reading them from files and aligning them with a vocabulary."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.argument_names import argument
from treewass.documents.formats import BROKEN_GZIP
from treewass.documents.vector_formats import (
    FORMATS,
    VectorSelection,
    check_shape,
    first_words,
    format_of_name,
    none_covered,
    read_vectors,
)
from treewass.exceptions import UncoveredWordsWarning

__all__ = ["AlignedVectors", "WordVectors", "read_word_vectors"]


@dataclass(frozen=True, slots=True, eq=False)
class AlignedVectors:
    """One vector for each word of a vocabulary, as `WordVectors.align` returns them.

    Parameters
    ----------
    vectors : ndarray of shape (n_words, n_dimensions), float32, read-only
        The vectors in the order of the vocabulary; zero for a word without one.
    covered : ndarray of shape (n_words,), bool, read-only
        True for a word that has a vector.
    missing : tuple of str
        The words without a vector, in the order of the vocabulary.
    """

    vectors: NDArray[np.float32]
    covered: NDArray[np.bool_]
    missing: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", _frozen(self.vectors, np.float32))
        object.__setattr__(self, "covered", _frozen(self.covered, np.bool_))

    def __reduce__(self) -> tuple[Any, ...]:
        return AlignedVectors, (self.vectors, self.covered, self.missing)


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words and their vectors, immutable.

    Parameters
    ----------
    words : sequence of str
        The words, each once.
    vectors : array-like of shape (n_words, n_dimensions)
        Finite numbers, held as a read-only float32 array; an array that is one already is not copied.

    Examples
    --------
    >>> vectors = WordVectors(("cat", "dog", "car"), [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> len(vectors), vectors.n_dimensions
    (3, 2)
    >>> vectors.align(["car", "cat"]).vectors.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        words, vectors = _as_words(self.words), _frozen(self.vectors, np.float32)
        check_shape(len(words), vectors.shape)
        first_row = {word: row for row, word in reversed(list(enumerate(words)))}
        _refuse(words, (first_row[word] < row for row, word in enumerate(words)), "Expected each word once")
        with np.errstate(invalid="ignore"):
            sums = vectors.sum(axis=1, dtype=np.float64)  # finite if and only if every number is
        _refuse(words, ~np.isfinite(sums), "Expected vectors that are finite in float32 (no NaN, no infinity)")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", vectors)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordVectors, (self.words, self.vectors)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def n_dimensions(self) -> int:
        """The length of each vector."""
        return int(self.vectors.shape[1])

    def align(self, vocabulary: Iterable[str]) -> AlignedVectors:
        """Put the vectors in the order of a vocabulary.

        Parameters
        ----------
        vocabulary : sequence of str or ndarray of str
            The words in the wanted order, such as a vectoriser's ``get_feature_names_out()``.

        Returns
        -------
        AlignedVectors
            The vectors, a mask of the words covered, and the words that are not: if there are any of these,
            an ``UncoveredWordsWarning`` says how many.

        Raises
        ------
        ValueError
            If no word of the vocabulary has a vector.

        Examples
        --------
        >>> import warnings
        >>> vectors = WordVectors(("cat", "dog"), [[1.0, 0.0], [0.5, 0.5]])
        >>> with warnings.catch_warnings(action="ignore"):
        ...     aligned = vectors.align(["cat", "yeti"])
        >>> aligned.covered.tolist(), aligned.missing
        ([True, False], ('yeti',))
        """
        if isinstance(vocabulary, Set | Mapping):
            raise TypeError(
                f"Expected the words in the order of their columns, got a {type(vocabulary).__name__}. "
                "Pass a list, or the vectoriser's get_feature_names_out()."
            )
        wanted = _as_words(vocabulary)
        row_of = {word: row for row, word in enumerate(self.words)}
        rows = np.array([row_of.get(word, -1) for word in wanted], dtype=np.intp)
        covered = rows >= 0
        if not covered.any():
            raise ValueError(none_covered(wanted, self.words))
        missing = tuple(compress(wanted, ~covered))
        if missing:
            warnings.warn(
                f"{len(missing)} of {len(wanted)} words ({len(missing) / len(wanted):.1%}) have no word "
                f"vector and get a row of zeros: {first_words(missing)}.",
                UncoveredWordsWarning,
                stacklevel=2,
            )
        vectors = np.zeros((len(wanted), self.n_dimensions), dtype=np.float32)
        vectors[covered] = self.vectors[rows[covered]]
        vectors.setflags(write=False)
        return AlignedVectors(vectors, covered, missing)


def read_word_vectors(
    path: str | os.PathLike[str],
    *,
    vocabulary: Iterable[str] | None = None,
    format: str | None = None,
) -> WordVectors:
    r"""Read word vectors from a file.

    Text and binary files, gzipped ones too, are read in a stream: only the vectors kept take up memory. A
    word that comes again keeps its first vector. Bytes of a word that are not UTF-8 are replaced.

    Parameters
    ----------
    path : str or path-like
        The file.
    vocabulary : iterable of str or None, default=None
        The words to keep; None keeps all. The numbers of other words are not looked at.
    format : {"word2vec", "binary", "glove", "npz"} or None, default=None
        ``"word2vec"``: a line with the number of words and of dimensions, then a line with each word and its
        numbers. ``"glove"``: the same without the header. ``"binary"``: the header, then each word, a space
        and its numbers as little-endian float32. ``"npz"``: the arrays ``words`` (strings) and ``vectors``
        (floats). None is ``"npz"`` for the ending ``.npz``, ``"binary"`` for ``.bin`` and ``.bin.gz``, and
        text for any other, where a first line of two integers is a header.

    Returns
    -------
    WordVectors
        The words kept, in the order of the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file does not follow the format (the message names the line), or no word is kept.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "vectors.txt")
    ...     size = path.write_text("cat 1.0 0.0\ndog 0.5 0.5\ncar 0.0 1.0\n")
    ...     vectors = read_word_vectors(path, vocabulary=["dog", "car", "yeti"])
    >>> vectors.words
    ('dog', 'car')
    """
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise ValueError(f"Expected {argument('format')} to be one of {', '.join(FORMATS)}, got {format!r}.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; pass the path of a file with word vectors.")
    selection = VectorSelection(None if vocabulary is None else _as_words(vocabulary))
    try:
        read_vectors(path, format or format_of_name(path.name.lower()), selection)
        return WordVectors(tuple(selection.words), selection.to_array())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    except BROKEN_GZIP as error:
        raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error


def _refuse(words: Sequence[str], is_bad: Iterable[bool], expected: str) -> None:
    bad = tuple(compress(words, is_bad))
    if bad:
        raise ValueError(f"{expected}; {len(bad)} of {len(words)} are not: {first_words(bad)}.")


def _frozen(values: Any, dtype: type[Any]) -> NDArray[Any]:
    """Copy what could change later; take a read-only array of the right type as it is."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and _is_frozen(values):
        return values
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _is_frozen(values: NDArray[Any]) -> bool:
    """Tell whether nobody can write to an array, be it through the one that it is a view of."""
    return not values.flags.writeable and (not isinstance(values.base, np.ndarray) or _is_frozen(values.base))


def _as_words(words: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in listed):
        raise TypeError("Expected the words as a sequence of strings, got a single string or other values.")
    return tuple(str(word) for word in listed)
