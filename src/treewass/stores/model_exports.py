"""The documents of a model in a store, with their keys, labels, titles, texts and columns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_choice
from treewass.compute.extras import require
from treewass.search.held_documents import documents_of
from treewass.storage.folders import check_folder, replacing
from treewass.stores.postgres_index import PostgresIndex
from treewass.stores.postings import write_postings
from treewass.stores.square_roots import sqrt_vectors

if TYPE_CHECKING:
    from treewass.model.document_model import DocumentModel

__all__ = ["export_model"]

_MOST_DENSE_BYTES = 4 * 2**30


def export_model(model: DocumentModel, to: str, target: str | os.PathLike[str], *, table: str = "documents") -> int:
    """Write the documents of a model to a store.

    Parameters
    ----------
    model : DocumentModel
        A fitted model.
    to : {"postgres", "parquet", "sqrt", "faiss"}
        A table for `PostgresIndex`; the files of `write_postings`; `sqrt_vectors` with their ids, as an ``.npz`` file
        that `scipy.sparse.load_npz` reads; or the same vectors as an index of FAISS, which holds them densely.
    target : str or path-like
        How to reach the database, the new folder, or the file.
    table : str, default="documents"
        Name of the table in the database.

    Returns
    -------
    int
        The number of documents.
    """
    check_choice("to", to, ("postgres", "parquet", "sqrt", "faiss"))
    index = model.index_
    if to == "parquet":
        write_postings(index, target, columns=_columns(model))
    elif to == "postgres":
        columns = _columns(model)
        kinds = {name: _kind(values) for name, values in columns.items()}
        with PostgresIndex(os.fspath(target), index.metric.for_float32(), table=table, columns=kinds) as opened:
            opened.add(documents_of(index), index.ids, columns=columns)
    else:
        _write_vectors(model, Path(target), to)
    return len(index)


def _columns(model: DocumentModel) -> dict[str, list[Any]]:
    """Collect what the model keeps of its documents, in the order of their ids; None where there is nothing."""
    held = model.contents_
    labels = [held.classes[code] if code >= 0 else None for code in held.documents.codes.tolist()]
    columns: dict[str, list[Any]] = {"label": labels}
    for name in ("key", "title", "text"):
        kept = getattr(held.documents, f"{name}s")
        if kept is not None:
            columns[name] = [value or None for value in kept]
    return {**columns, **{name: list(column) for name, column in held.documents.columns.items()}}


def _kind(values: list[Any]) -> type:
    """Find the type of a column, all of whose values are text or all numbers."""
    kinds = {type(value) for value in values if value is not None}
    return float if float in kinds else int if int in kinds else str


def _write_vectors(model: DocumentModel, path: Path, to: str) -> None:
    index = model.index_
    check_folder(path)
    vectors = sqrt_vectors(index.metric.for_float32(), documents_of(index))
    if to == "sqrt":
        arrays = {"data": vectors.data, "indices": vectors.indices, "indptr": vectors.indptr}
        with replacing(path) as new, new.open("wb") as file:
            np.savez_compressed(file, ids=index.ids, shape=vectors.shape, format=b"csr", **arrays)
        return
    needed = vectors.shape[0] * vectors.shape[1] * 4
    if needed > _MOST_DENSE_BYTES:
        raise ValueError(
            f"Expected at most {_MOST_DENSE_BYTES / 2**30:.0f} GiB of dense vectors, but these {vectors.shape[0]} "
            f"documents of {vectors.shape[1]} features need {needed / 2**30:.1f}. Export sparse ones: "
            '"sqrt" or "postgres".'
        )
    faiss = require("faiss", purpose="Export to FAISS", package="faiss-cpu")
    made = faiss.IndexIDMap2(faiss.IndexFlatIP(vectors.shape[1]))
    made.add_with_ids(vectors.toarray(), index.ids)
    with replacing(path) as new:
        faiss.write_index(made, str(new))
