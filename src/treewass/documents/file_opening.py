"""Opening files that may be compressed, in any encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from treewass.compute.arguments import argument
from treewass.compute.extras import require

__all__ = ["BROKEN_GZIP", "COMPRESSED", "find_encoding", "open_binary", "open_text"]

BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
COMPRESSED = (".gz", ".zst")
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHUNK = 1 << 16


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes. Unpack gzip and Zstandard, recognised by their first bytes or by ``.gz`` and ``.zst``."""
    ending = path.suffix.lower()
    with path.open("rb") as raw:
        first = raw.peek(4)[:4]
        if ending == ".gz" and first and first[:2] != _GZIP_MAGIC:
            raise ValueError(
                f"{path}: expected a gzip file, by its name, but it does not begin as one. If it is text that you can "
                "read in an editor, rename it without .gz; otherwise fetch or make it again."
            )
        if first[:2] == _GZIP_MAGIC or ending == ".gz":
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        elif first == _ZSTD_MAGIC or ending == ".zst":
            arrow: Any = require("pyarrow", purpose=f"Unpacking {path.name}", extra="files")
            yield cast(BinaryIO, io.BufferedReader(arrow.input_stream(raw, compression="zstd")))
        else:
            yield raw


@contextmanager
def open_text(path: Path, encoding: str, *, newline: str | None = None, errors: str = "strict") -> Iterator[TextIO]:
    """Open a file for text, unpacking it and dropping the byte order mark of UTF-8; `errors` as in `open`."""
    try:
        name = codecs.lookup(encoding).name
        io.TextIOWrapper(io.BytesIO(), encoding=name)
    except LookupError:
        raise ValueError(
            f"Expected {argument('encoding')} to name a text encoding such as 'utf-8' or 'latin-1', got {encoding!r}."
        ) from None
    name = "utf-8-sig" if name == "utf-8" else name
    with (
        _refusing_broken(path),
        open_binary(path) as binary,
        io.TextIOWrapper(binary, encoding=name, newline=newline, errors=errors) as stream,
    ):
        try:
            yield stream
        except UnicodeError as error:  # a mark that is missing is no UnicodeDecodeError
            try:
                place = _undecodable_place(binary, name)
            except BROKEN_GZIP:
                place = "the text of the broken gzip file"
            reason = getattr(error, "reason", error)
            others = ", ".join(argument("encoding", other) for other in ("cp1252", "latin-1") if other != encoding)
            raise ValueError(
                f"{path}: {place} is not valid {encoding} ({reason}). Pass {others} or whatever the encoding of the "
                "file is."
            ) from error


def find_encoding(path: Path) -> str:
    """Find the encoding of a file: by its byte order mark, then UTF-8 if it is valid, then cp1252.

    Every second byte zero at the beginning tells UTF-16 without a mark. A file that holds more valid characters of
    UTF-8 than wrong bytes is damaged UTF-8, not cp1252. One with zero bytes and wrong ones is no text: it is a
    ValueError. What is no ordinary file, and can be read only once, is taken for UTF-8.
    """
    if not path.is_file():
        return "utf-8"
    with _refusing_broken(path), open_binary(path) as stream:
        chunk = stream.read(_CHUNK)
        for mark, name in _MARKS:
            if chunk.startswith(mark):
                return name
        for name, first in (("utf-16-le", 1), ("utf-16-be", 0)):
            if chunk[first:512:2].count(0) > 0.5 * len(chunk[first:512:2]) and chunk[1 - first : 512 : 2].count(0) == 0:
                return name
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = stream.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            decoded = chunk.decode("utf-8", "surrogateescape")
            n_wrong = sum("\udc80" <= character <= "\udcff" for character in decoded)
            n_right = sum(character > "\x7f" for character in decoded) - n_wrong
            if "\0" in decoded:
                raise ValueError(
                    f"{path}: expected text, but this is no text file: it holds zero bytes and is not valid UTF-8. If "
                    f"it is one, name its encoding with {argument('encoding')}."
                ) from None
            return "utf-8" if n_right > n_wrong or not chunk else "cp1252"
    return "utf-8"


@contextmanager
def _refusing_broken(path: Path) -> Iterator[None]:
    """Turn the errors of a file that cannot be unpacked into one that names it."""
    try:
        yield
    except BROKEN_GZIP as error:
        raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error
    except OSError as error:
        if error.errno is not None or path.suffix.lower() != ".zst":
            raise
        raise ValueError(f"{path}: the Zstandard file is broken ({error}). Fetch or make it again.") from error


def _undecodable_place(binary: BinaryIO, encoding: str) -> str:
    """Read a file once more to find the line and the byte at which it stops being valid."""
    if not binary.seekable():
        return "the text"
    binary.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, consumed, last = 1, 0, ""
    while chunk := binary.read(_CHUNK):
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk)
        except UnicodeError:
            decoder.setstate(state)
            valid = _valid_prefix(decoder, chunk)
            return f"line {lines + _count_newlines(last, ''.join(valid))} (near byte {consumed + len(valid)})"
        lines, consumed, last = lines + _count_newlines(last, text), consumed + len(chunk), text[-1:] or last
    return f"line {lines} (the end of the file)"


def _valid_prefix(decoder: codecs.IncrementalDecoder, chunk: bytes) -> list[str]:
    """Decode a chunk byte by byte up to the error that it holds: one text for each byte."""
    texts: list[str] = []
    try:
        for position in range(len(chunk)):
            texts.append(decoder.decode(chunk[position : position + 1]))
    except UnicodeError:
        pass
    return texts


def _count_newlines(last: str, text: str) -> int:
    """Count the line ends in a text that follows the character `last`; a return and a newline are one."""
    both = (last + text).count("\r\n")
    return text.count("\n") + text.count("\r") - both
