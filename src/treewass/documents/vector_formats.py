"""The file formats of word vectors: each reader adds the words that are wanted to a selection."""

from __future__ import annotations

import codecs
import re
import reprlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from treewass.argument_names import argument
from treewass.documents.formats import open_binary

__all__ = ["FORMATS", "VectorSelection", "check_shape", "first_words", "format_of_name", "none_covered", "read_vectors"]

FORMATS = ("word2vec", "binary", "glove", "npz")
_FILE_FLOAT = np.dtype("<f4")
_CHUNK_BYTES = 1 << 20
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_LONGEST_HEADER = 100
_LONGEST_WORD = 10_000
_MOST_EXAMPLES = 5


class VectorSelection:
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
            raise ValueError(none_covered(self.vocabulary or (), self.first_words))
        vectors = np.frombuffer(self.numbers, dtype=_FILE_FLOAT).reshape(len(self.words), -1)
        vectors = vectors.astype(np.float32, copy=False)
        vectors.setflags(write=False)
        return vectors


def format_of_name(name: str) -> str | None:
    """Tell the format by a file's name; None for text, whose first line tells."""
    if name.endswith(".npz"):
        return "npz"
    return "binary" if name.endswith((".bin", ".bin.gz")) else None


def read_vectors(path: Path, format: str | None, selection: VectorSelection) -> None:
    """Read a file of the given format, None for either kind of text, into a selection."""
    if format == "npz":
        _read_npz(path, selection)
        return
    with open_binary(path) as stream:
        if format == "binary":
            _read_binary(stream, selection)
        else:
            _read_text(stream, selection, format)


def _read_text(stream: BinaryIO, selection: VectorSelection, format: str | None) -> None:
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


def _read_binary(stream: BinaryIO, selection: VectorSelection) -> None:
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


def _read_npz(path: Path, selection: VectorSelection) -> None:
    """Read the arrays `words` and `vectors`, never unpickling."""
    if not zipfile.is_zipfile(path):
        raise ValueError("expected an npz file, as numpy.savez writes it; it is truncated, or another format.")
    with np.load(path, allow_pickle=False) as arrays:
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
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"the array {name!r} cannot be read ({error}). Save words with dtype=str and vectors as floats."
        ) from error
    if array.dtype.kind not in kinds:
        expected = "floats" if kinds == "f" else "strings"
        raise ValueError(f"expected {name!r} to hold {expected}, found the dtype {array.dtype}.")
    return array


def check_shape(n_words: int, shape: tuple[int, ...]) -> None:
    """Demand one vector a word, neither number zero."""
    if len(shape) != 2 or shape[0] != n_words or 0 in shape:
        raise ValueError(
            f"Expected vectors of shape (n_words, n_dimensions), neither of them zero, for {n_words} words; "
            f"got the shape {shape}."
        )


def none_covered(vocabulary: Sequence[str], words: Sequence[str]) -> str:
    """Say that no word of a vocabulary has a vector."""
    return (
        f"None of the {len(vocabulary)} words of the vocabulary ({first_words(vocabulary)}) has a vector; "
        f"those with one start with {first_words(words)}. Check the language and the case."
    )


def first_words(words: Sequence[Any]) -> str:
    """List the first few words for a message."""
    listed = ", ".join(repr(word) for word in islice(words, _MOST_EXAMPLES)) or "none"
    return f"{listed}, …" if len(words) > _MOST_EXAMPLES else listed


def _shown(found: bytes) -> str:
    return reprlib.repr(found.decode("utf-8", errors="replace"))
