"""Word vectors: reading them from files and aligning them with a vocabulary."""

from __future__ import annotations

import codecs
import os
import re
import reprlib
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from treewass.documents.formats import BROKEN_GZIP, open_binary
from treewass.exceptions import UncoveredWordsWarning

__all__ = ["AlignedVectors", "WordVectors", "read_word_vectors"]

_FORMATS = ("word2vec", "binary", "glove", "npz")
_FILE_FLOAT = np.dtype("<f4")
_CHUNK_BYTES = 1 << 20
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_LONGEST_HEADER = 100
_LONGEST_WORD = 10_000
_MOST_EXAMPLES = 5


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
        _check_shape(len(words), vectors.shape)
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
            raise ValueError(_none_covered(wanted, self.words))
        missing = tuple(compress(wanted, ~covered))
        if missing:
            warnings.warn(
                f"{len(missing)} of {len(wanted)} words ({len(missing) / len(wanted):.1%}) have no word "
                f"vector and get a row of zeros: {_first(missing)}.",
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
    if format is not None and format not in _FORMATS:
        raise ValueError(f"Expected format to be None or one of {', '.join(_FORMATS)}, got {format!r}.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; pass the path of a file with word vectors.")
    selection = _Selection(None if vocabulary is None else _as_words(vocabulary))
    try:
        _read(path, format or _format_of_name(path.name.lower()), selection)
        return WordVectors(tuple(selection.words), selection.to_array())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    except BROKEN_GZIP as error:
        raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error


class _Selection:
    """The words kept so far and the bytes of their vectors, float32."""

    def __init__(self, vocabulary: Sequence[str] | None) -> None:
        self.vocabulary = vocabulary
        self.wanted = None if vocabulary is None else frozenset(vocabulary)
        self.first_words: list[str] = []
        self.words: dict[str, None] = {}
        self.numbers = bytearray()

    def wants(self, word: str) -> bool:
        """Tell whether a word of the file is to be added."""
        if len(self.first_words) < _MOST_EXAMPLES:
            self.first_words.append(word)
        return word not in self.words and (self.wanted is None or word in self.wanted)

    def add(self, word: str, numbers: bytes | bytearray) -> None:
        """Keep a word and its vector."""
        self.words[word] = None
        self.numbers += numbers

    def to_array(self) -> NDArray[np.float32]:
        """Make one read-only array of the vectors."""
        if not self.first_words:
            raise ValueError("expected word vectors, found none: the file is empty.")
        if not self.words:
            raise ValueError(_none_covered(self.vocabulary or (), self.first_words))
        vectors = np.frombuffer(self.numbers, dtype=_FILE_FLOAT).reshape(len(self.words), -1)
        vectors = vectors.astype(np.float32, copy=False)
        vectors.setflags(write=False)
        return vectors


def _format_of_name(name: str) -> str | None:
    if name.endswith(".npz"):
        return "npz"
    return "binary" if name.endswith((".bin", ".bin.gz")) else None


def _read(path: Path, format: str | None, selection: _Selection) -> None:
    if format == "npz":
        _read_npz(path, selection)
        return
    with open_binary(path) as stream:
        if format == "binary":
            _read_binary(stream, selection)
        else:
            _read_text(stream, selection, format)


def _read_text(stream: BinaryIO, selection: _Selection, format: str | None) -> None:
    """Read lines of a word and its numbers, with or without a header."""
    lines: Iterator[tuple[int, bytes]] = (row for row in enumerate(stream, start=1) if row[1].strip())
    number, first = next(lines, (1, b""))
    first = first.removeprefix(codecs.BOM_UTF8)
    n_words = None
    if format == "word2vec" or (format is None and _HEADER.fullmatch(first)):
        n_words, n_dimensions = _parse_header(first)
    elif first:
        n_dimensions = max(len(first.split()) - 1, 1)
        _to_bytes(number, first.split()[1:])
        lines = chain([(number, first)], lines)
    n_rows = 0
    for number, line in lines:
        n_rows += 1
        word, fields = _split_row(number, line, n_dimensions)
        if selection.wants(word):
            selection.add(word, _to_bytes(number, fields))
    if n_words is not None and n_words != n_rows:
        raise ValueError(f"the header promises {n_words} words, but {n_rows} follow it.")


def _split_row(number: int, line: bytes, n_dimensions: int) -> tuple[str, list[bytes]]:
    """Split a line into its word, which may hold spaces, and the fields of its numbers."""
    word, *fields = line.rsplit(None, n_dimensions)
    pieces = word.split()
    if len(fields) != n_dimensions or (len(pieces) > 1 and _is_number(pieces[-1])):
        raise ValueError(
            f"line {number}: expected a word and {n_dimensions} numbers, found {len(line.split())} fields. "
            "Correct the line; a binary file needs format='binary'."
        )
    return word.strip().decode("utf-8", errors="replace"), fields


def _to_bytes(number: int, fields: list[bytes]) -> bytes:
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        bad = next(field for field in fields if not _is_number(field))
        raise ValueError(f"line {number}: expected a number, found {_shown(bad)}.") from None
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=_FILE_FLOAT).tobytes()


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _read_binary(stream: BinaryIO, selection: _Selection) -> None:
    """Read a header, then each word, a space and its float32 numbers; a newline may follow the numbers."""
    n_words, n_dimensions = _parse_header(stream.readline(_LONGEST_HEADER))
    width = n_dimensions * _FILE_FLOAT.itemsize
    buffer, start = bytearray(), 0
    for number in range(1, n_words + 1):
        while (space := buffer.find(b" ", start)) < 0 or space + 1 + width > len(buffer):
            chunk = stream.read(_CHUNK_BYTES)
            if not chunk or (space < 0 and len(buffer) - start > _LONGEST_WORD):
                raise ValueError(
                    f"the header promises {n_words} words of {n_dimensions} dimensions, but word {number} "
                    "has no end: the file is truncated, or the header is wrong."
                )
            del buffer[:start]
            buffer += chunk
            start = 0
        word = buffer[start:space].lstrip(b"\n").decode("utf-8", errors="replace")
        start = space + 1 + width
        if selection.wants(word):
            selection.add(word, buffer[space + 1 : start])
    if (buffer[start:] + stream.read(_CHUNK_BYTES)).strip(b"\n"):
        raise ValueError(f"the header promises {n_words} words, but more bytes follow word {n_words}.")


def _parse_header(line: bytes) -> tuple[int, int]:
    match = _HEADER.fullmatch(line)
    if match is None or int(match[2]) == 0:
        found = _shown(line) if line else "an empty file"
        raise ValueError(f"line 1: expected a header of two numbers, 'n_words n_dimensions', found {found}.")
    return int(match[1]), int(match[2])


def _read_npz(path: Path, selection: _Selection) -> None:
    """Read the arrays `words` and `vectors`, never unpickling."""
    if not zipfile.is_zipfile(path):
        raise ValueError("expected an npz file, as numpy.savez writes it; it is truncated, or another format.")
    with np.load(path, allow_pickle=False) as arrays:
        if not {"words", "vectors"} <= set(arrays.files):
            raise ValueError(f"expected the arrays 'words' and 'vectors', found {_first(arrays.files)}.")
        words = _load_array(arrays, "words", kinds="US")
        vectors = _load_array(arrays, "vectors", kinds="f")
    _check_shape(words.size, vectors.shape)
    for word, vector in zip(words.ravel().tolist(), vectors, strict=True):
        word = word if isinstance(word, str) else word.decode("utf-8", errors="replace")
        if selection.wants(word):
            with np.errstate(over="ignore"):
                selection.add(word, vector.astype(_FILE_FLOAT).tobytes())


def _load_array(arrays: Mapping[str, NDArray[Any]], name: str, *, kinds: str) -> NDArray[Any]:
    try:
        array = arrays[name]
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"the array {name!r} cannot be read ({error}). Save words with dtype=str and vectors as floats."
        ) from error
    if array.dtype.kind not in kinds:
        expected = "floats" if kinds == "f" else "strings"
        raise ValueError(f"expected {name!r} to hold {expected}, found the dtype {array.dtype}.")
    return array


def _check_shape(n_words: int, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != n_words or 0 in shape:
        raise ValueError(
            f"Expected vectors of shape (n_words, n_dimensions), neither of them zero, for {n_words} words; "
            f"got the shape {shape}."
        )


def _refuse(words: Sequence[str], is_bad: Iterable[bool], expected: str) -> None:
    bad = tuple(compress(words, is_bad))
    if bad:
        raise ValueError(f"{expected}; {len(bad)} of {len(words)} are not: {_first(bad)}.")


def _frozen(values: Any, dtype: type[Any]) -> NDArray[Any]:
    """Copy what could change later; take a read-only array of the right type as it is."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and not values.flags.writeable:
        return values
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _as_words(words: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in listed):
        raise TypeError("Expected the words as a sequence of strings, got a single string or other values.")
    return tuple(str(word) for word in listed)


def _none_covered(vocabulary: Sequence[str], words: Sequence[str]) -> str:
    return (
        f"None of the {len(vocabulary)} words of the vocabulary ({_first(vocabulary)}) has a vector; "
        f"those with one start with {_first(words)}. Check the language and the case."
    )


def _first(words: Sequence[Any]) -> str:
    listed = ", ".join(repr(word) for word in islice(words, _MOST_EXAMPLES)) or "none"
    return f"{listed}, …" if len(words) > _MOST_EXAMPLES else listed


def _shown(found: bytes) -> str:
    return reprlib.repr(found.decode("utf-8", errors="replace"))
