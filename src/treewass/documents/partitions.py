"""Files of documents, each a partition that can be read by itself, here or on another machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewass.compute.extras import require
from treewass.documents.corpus_files import Remarks, open_source
from treewass.documents.row_checks import BadRow, Document, Request, text_columns, without_repeats

__all__ = ["Partition", "find_partitions"]

_MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Partition:
    """One file of documents, and what to read from it. It can be sent to another machine that sees the file.

    Parameters
    ----------
    address : str
        A path, or the address of an object that fsspec can fetch.
    request : Request
        The columns to read.
    format, encoding, delimiter : str, optional
        As in `read_corpus`.
    """

    address: str
    request: Request
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None

    def documents(self, remarks: Remarks | None = None) -> Iterator[Document]:
        """Read the documents one at a time, but those that a column marks as test; bad rows are a ValueError.

        What was found out about the file, such as its encoding, is added to `remarks` once all are read.
        """
        with _local(self.address) as path:
            source = open_source(path, format=self.format, encoding=self.encoding, delimiter=self.delimiter)
            bad: list[BadRow] = []
            for row in without_repeats(source.rows(self.request), self.request):
                if isinstance(row, BadRow):
                    bad.append(row)
                    if len(bad) == _MOST_EXAMPLES:
                        break
                elif row.part != "test" and not bad:
                    yield row
            if remarks is not None:
                for remark in source.found:
                    remarks.setdefault(remark, []).append(self.address)
        if bad:
            listed = "".join(f"\n  {row.place}: {row.reason}" for row in bad)
            raise ValueError(
                f"{self.address}: expected documents in all rows, but the first of those that cannot be read are:"
                f"{listed}\nCorrect or remove them and start again."
            )


def find_partitions(
    source: Any,
    *,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    part: str | None = "split",
    key: str | None = None,
    title: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    unique_keys: bool = True,
) -> list[Partition]:
    """Find the files of a source; each is a partition.

    Parameters
    ----------
    source : str, path-like, or sequence of these
        Files, or patterns such as ``data/*.parquet``. An address such as ``s3://bucket/data/*.parquet`` is asked of
        fsspec, which needs the package of that store, such as s3fs.
    text, label, part, key, title, format, encoding, delimiter, unique_keys
        As in `read_corpus`; keys are compared within a file. Documents whose part is ``"test"`` are left out.

    Returns
    -------
    list of Partition
        In the order given, those of a pattern sorted by name. A file that is given again counts once.

    Examples
    --------
    >>> find_partitions("no-such-folder/*.csv")
    Traceback (most recent call last):
        ...
    FileNotFoundError: There is no file that no-such-folder/*.csv matches; check the pattern.
    """
    request = Request(text_columns(text), label, part, key, title, unique_keys=unique_keys)
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: dict[Any, str] = {}  # addresses, by what is the same for two names of one file
    for one in given:
        if "://" in str(one):
            found |= {address: address for address in _addresses(str(one))}
        else:
            opened = open_source(one, format=format, encoding=encoding, delimiter=delimiter)
            opened.check(request)
            for path, _ in opened.parts:
                found.setdefault(path.resolve(), str(path))
    if not found:
        raise ValueError("Expected paths of files to read documents from, got none.")
    return [Partition(address, request, format, encoding, delimiter) for address in found.values()]


def _addresses(pattern: str) -> list[str]:
    """List the objects that an address with wildcards matches, sorted."""
    core: Any = require("fsspec.core", purpose=f"Reading {pattern}", extra="dask")
    system, path = core.url_to_fs(pattern)
    names = sorted(system.glob(path)) if any(sign in path for sign in "*?[") else [path]
    if not names:
        raise FileNotFoundError(f"There is no object that {pattern} matches; check the pattern.")
    return [system.unstrip_protocol(name) for name in names]


@contextmanager
def _local(address: str) -> Iterator[Path]:
    """Give the path of a file; an object elsewhere is fetched into a temporary folder for as long."""
    if "://" not in address:
        yield Path(address)
        return
    core: Any = require("fsspec.core", purpose=f"Reading {address}", extra="dask")
    system, path = core.url_to_fs(address)
    with tempfile.TemporaryDirectory(prefix="treewass-") as folder:
        copy = Path(folder, path.rsplit("/", 1)[-1])
        system.get_file(path, str(copy))
        yield copy
