"""Opening files that may be gzipped, in any encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from treewass.documents.arguments import argument

__all__ = ["BROKEN_GZIP", "open_binary", "open_text"]

BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes. Unpack gzip, recognised by its first bytes or the ending ``.gz``."""
    with path.open("rb") as raw:
        zipped = raw.peek(2)[:2] == _GZIP_MAGIC or path.suffix.lower() == ".gz"
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw


@contextmanager
def open_text(path: Path, encoding: str, *, newline: str | None = None) -> Iterator[TextIO]:
    """Open a file for text, unpacking gzip and dropping the byte order mark of UTF-8."""
    try:
        name = codecs.lookup(encoding).name
        io.TextIOWrapper(io.BytesIO(), encoding=name)
    except LookupError:
        raise ValueError(
            f"Expected {argument('encoding')} to name a text encoding such as 'utf-8' or 'latin-1', got {encoding!r}."
        ) from None
    name = "utf-8-sig" if name == "utf-8" else name
    with open_binary(path) as binary, io.TextIOWrapper(binary, encoding=name, newline=newline) as stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            try:
                place = _undecodable_place(binary, name)
            except BROKEN_GZIP:
                place = "the text of the broken gzip file"
            raise ValueError(
                f"{path}: {place} is not valid {encoding} ({error.reason}). Pass {argument('encoding', 'cp1252')}, "
                f"{argument('encoding', 'latin-1')} or whatever the encoding of the file is."
            ) from error
        except BROKEN_GZIP as error:
            raise ValueError(f"{path}: the gzip file is broken ({error}). Fetch or make it again.") from error


def _undecodable_place(binary: BinaryIO, encoding: str) -> str:
    """Read a file once more to find the line and the byte at which it stops being valid."""
    if not binary.seekable():
        return "the text"
    binary.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, consumed, last = 1, 0, ""
    while chunk := binary.read(1 << 16):
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError:
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
    except UnicodeDecodeError:
        pass
    return texts


def _count_newlines(last: str, text: str) -> int:
    """Count the line ends in a text that follows the character `last`; a return and a newline are one."""
    both = (last + text).count("\r\n")
    return text.count("\n") + text.count("\r") - both
