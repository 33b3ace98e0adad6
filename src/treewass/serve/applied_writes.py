"""What writes do to a model: documents that are added, removed, or get another label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from treewass.model.contents import Contents
from treewass.model.fitting import with_documents, without_documents
from treewass.model.kept_columns import Value
from treewass.model.labelled_texts import check_documents, class_numbers
from treewass.search.snapshot import as_ids
from treewass.serve.writes import DamagedWritesError, Record, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MOST_KEYS",
    "KeyUsedError",
    "NewDocument",
    "UnknownDocumentError",
    "relabeled",
    "with_added",
    "with_rows",
    "write_keys",
]

MOST_KEYS = 10_000  # of writes that can be repeated safely


class KeyUsedError(ValueError):
    """A key came again with another request."""


class UnknownDocumentError(ValueError):
    """A document to remove is not there."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to add.

    Parameters
    ----------
    text : str
        The document.
    label : str, int or None
        One that the model knows; None for a document that is found, but never votes.
    title : str
        A short name, or an empty one.
    key : str, optional
        The user's own name of it, which no other document has.
    columns : dict of str to str, int, float or None, optional
        What else to keep of it.
    """

    text: str
    label: str | int | None = None
    title: str = ""
    key: str | None = None
    columns: dict[str, Value] = field(default_factory=dict)


def write_keys(rows: Sequence[Row]) -> list[tuple[str, str, list[int]]]:
    """Return the keys of writes that have one, each with the digest of its request and the ids of the answer."""
    records = [row.record for row in rows]
    return [(record["key"], record["digest"], record["ids"]) for record in records if record["key"] is not None]


def with_rows(held: Contents, rows: Sequence[Row]) -> Contents:
    """Apply writes in their order, runs of one kind at once; nobody is warned again about what was acknowledged."""
    for operation, run in groupby((row.record for row in rows), key=lambda record: record["operation"]):
        records = list(run)
        expected = _joined(records, "ids")
        if operation == "remove":
            held = without_documents(held, as_ids(expected))
            continue
        if operation == "relabel":
            held = relabeled(held, expected, [record["label"] for record in records])
            continue
        held, ids, _ = with_added(held, records)
        if ids != expected:
            raise DamagedWritesError(f"Expected ids from {expected[0]} on for documents that were added, got {ids[0]}.")
    return held


def relabeled(held: Contents, ids: Sequence[int], labels: Sequence[str | int]) -> Contents:
    """Give documents other labels, in their order."""
    codes = held.documents.codes.copy()
    for place, code in zip(held.documents.places(as_ids(ids)), class_numbers(labels, held.classes), strict=True):
        codes[place] = code
    return held.changed(documents=replace(held.documents, codes=codes))


def with_added(held: Contents, records: Sequence[Record]) -> tuple[Contents, list[int], NDArray[np.intp]]:
    """Add the documents of some records, as `with_documents` does; return what it returns."""
    texts: list[str] = _joined(records, "texts")
    titles: list[str] = _joined(records, "titles")
    keys: list[str | None] = _joined(records, "document_keys")
    rows: list[dict[str, Value]] = _joined(records, "columns")
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    new = check_documents(
        texts, _joined(records, "labels"), titles if any(titles) else None, keys if any(keys) else None, columns
    )
    held, ids, unknown = with_documents(held, new)
    return held, ids.tolist(), unknown


def _joined(records: Sequence[Record], name: str) -> list[Any]:
    return [value for record in records for value in record[name]]
