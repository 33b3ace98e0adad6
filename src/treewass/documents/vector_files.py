"""Files of word vectors: word2vec, GloVe and npz. Each reader keeps the words that are wanted."""

from __future__ import annotations

import codecs
import os
import re
import reprlib
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from treewass.compute.arguments import argument, check_choice
from treewass.documents.file_opening import BROKEN_GZIP, open_binary
from treewass.documents.word_vectors import WordVectors, as_words, check_shape, first_words, none_covered

__all__ = ["read_word_vectors"]

_FORMATS = ("word2vec", "binary", "glove", "npz")
_BROKEN_ZIP = (  # what NumPy and zipfile raise for a damaged file
    ValueError, EOFError, OSError, RuntimeError, SyntaxError, OverflowError, MemoryError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
_FILE_FLOAT = np.dtype("<f4")
_CHUNK_BYTES = 1 << 20
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_LONGEST_HEADER = 100
_LONGEST_WORD = 10_000
_MOST_EXAMPLES = 5


def read_word_vectors(
    path: str | os.PathLike[str],
    *,
    vocabulary: Iterable[str] | None = None,
    n_first: int = 0,
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
        The words to keep; None keeps all. The numbers of other words are not read.
    n_first : int, default=0
        How many words at the start of the file are kept besides those of the vocabulary. Most files begin with the
        most frequent words.
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
    if format is not None:
        check_choice("format", format, _FORMATS)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check the path.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; pass the path of a file with word vectors.")
    selection = _Selection(None if vocabulary is None else as_words(vocabulary), n_first)
    try:
        _read(path, format or _format_of_name(path.name.lower()), selection)
        return WordVectors(tuple(selection.words), selection.to_array())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    except BROKEN_GZIP as error:
        raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error


class _Selection:
    """The words kept so far and the bytes of their vectors, float32."""

    def __init__(self, vocabulary: Sequence[str] | None, n_first: int = 0) -> None:
        self.vocabulary = vocabulary
        self.n_first = n_first
        self.n_seen = 0
        self.wanted = None if vocabulary is None else frozenset(vocabulary)
        self.first_words: list[str] = []
        self.words: dict[str, None] = {}
        self.numbers = bytearray()

    def wants(self, word: str) -> bool:
        """Return whether to add a word of the file."""
        if len(self.first_words) < _MOST_EXAMPLES:
            self.first_words.append(word)
        self.n_seen += 1
        listed = self.wanted is None or self.n_seen <= self.n_first
        return word not in self.words and (listed or word in (self.wanted or ()))

    def add(self, word: str, numbers: bytes | bytearray) -> None:
        """Keep a word and its vector."""
        self.words[word] = None
        self.numbers += numbers

    def to_array(self) -> NDArray[np.float32]:
        """Make one read-only array of the vectors."""
        if not self.first_words:
            raise ValueError("expected word vectors, found none: the file is empty.")
        if not self.words:
            raise ValueError(none_covered(self.vocabulary or (), self.first_words))
        vectors = np.frombuffer(self.numbers, dtype=_FILE_FLOAT).reshape(len(self.words), -1)
        vectors = vectors.astype(np.float32, copy=False)
        vectors.setflags(write=False)
        return vectors


def _format_of_name(name: str) -> str | None:
    """Take the format from a file's name; None for text, whose first line decides."""
    if name.endswith(".npz"):
        return "npz"
    return "binary" if name.endswith((".bin", ".bin.gz")) else None


def _read(path: Path, format: str | None, selection: _Selection) -> None:
    """Read a file of the given format, None for either kind of text, into a selection."""
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
            f"Correct the line; a binary file needs {argument('format', 'binary')}."
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
    with path.open("rb") as file:
        try:
            arrays = np.load(file, allow_pickle=False) if zipfile.is_zipfile(path) else None
        except _BROKEN_ZIP:
            arrays = None
        if arrays is None:
            raise ValueError("expected an npz file, as numpy.savez writes it; it is damaged, or another format.")
        if not {"words", "vectors"} <= set(arrays.files):
            raise ValueError(f"expected the arrays 'words' and 'vectors', found {first_words(arrays.files)}.")
        words = _load_array(arrays, "words", kinds="US")
        vectors = _load_array(arrays, "vectors", kinds="f")
    check_shape(words.size, vectors.shape)
    for word, vector in zip(words.ravel().tolist(), vectors, strict=True):
        word = word if isinstance(word, str) else word.decode("utf-8", errors="replace")
        if selection.wants(word):
            with np.errstate(over="ignore"):
                selection.add(word, vector.astype(_FILE_FLOAT).tobytes())


def _load_array(arrays: Mapping[str, NDArray[Any]], name: str, *, kinds: str) -> NDArray[Any]:
    try:
        array = arrays[name]
    except _BROKEN_ZIP as error:
        raise ValueError(
            f"the array {name!r} cannot be read ({error}). Save words with dtype=str and vectors as floats."
        ) from error
    if array.dtype.kind not in kinds:
        expected = "floats" if kinds == "f" else "strings"
        raise ValueError(f"expected {name!r} to hold {expected}, found the dtype {array.dtype}.")
    return array


def _shown(found: bytes) -> str:
    return reprlib.repr(found.decode("utf-8", errors="replace"))
