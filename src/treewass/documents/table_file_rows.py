"""Rows of columns: Parquet, Arrow and Excel files, frames of pandas and polars, and datasets of Hugging Face."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from treewass.compute.extras import require
from treewass.documents.row_checks import BadRow, Document, Request, check_names, plain_text, to_document

__all__ = [
    "arrow_rows",
    "dataset_folder_rows",
    "excel_rows",
    "is_dataset_folder",
    "is_table",
    "object_rows",
    "parquet_rows",
]

Rows = Iterator[Document | BadRow]

_BATCH = 4096  # rows at once


def parquet_rows(path: Path, request: Request) -> Rows:
    """Read a Parquet file, a batch of rows at a time, and only the columns asked for."""
    parquet: Any = require("pyarrow.parquet", purpose=f"Reading {path.name}", extra="files")
    with _refusing(path, "Parquet"), parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        check_names(path, names, request)
        batches = file.iter_batches(_BATCH, columns=_chosen(names, request))
        yield from _rows((batch.to_pydict() for batch in batches), request, first=1)


def arrow_rows(path: Path, request: Request, classes: Sequence[str] | None = None) -> Rows:
    """Read an Arrow file, which Feather's version 2 is, or an Arrow stream; integers as labels may have names."""
    arrow: Any = require("pyarrow", purpose=f"Reading {path.name}", extra="files")
    with _refusing(path, "Arrow"), arrow.memory_map(str(path)) as mapped:
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader = arrow.ipc.open_file(mapped) if is_file else arrow.ipc.open_stream(mapped)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches)) if is_file else reader
        names = reader.schema.names
        check_names(path, names, request)
        columns = _chosen(names, request)
        yield from _rows((batch.select(columns).to_pydict() for batch in batches), request, classes, first=1)


def excel_rows(path: Path, request: Request) -> Rows:
    """Read the first sheet of an Excel workbook below its header; numbers and empty cells are texts, too."""
    openpyxl: Any = require("openpyxl", purpose=f"Reading {path.name}", extra="files")
    with _refusing(path, "Excel"), path.open("rb") as raw:
        book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
        header: list[str] = []
        for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), start=1):
            if all(cell is None for cell in cells):
                continue
            if not header:
                header = ["" if cell is None else str(cell).strip() for cell in cells]
                check_names(path, header, request, _sheets_hint(book.sheetnames))
                continue
            fields = dict(zip(header, cells, strict=False))
            texts = {column: plain_text(fields.get(column)) for column in request.among(header).texts}
            yield to_document(f"row {number}", fields | texts, request)


def _sheets_hint(names: Sequence[str]) -> str:
    return f" Only the first sheet, {names[0]!r}, of {len(names)} is read." if len(names) > 1 else ""


@contextmanager
def _refusing(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors of a library into one that names the file."""
    try:
        yield
    except Exception as error:
        of_library = type(error).__module__.startswith(("pyarrow", "openpyxl")) or isinstance(
            error, zipfile.BadZipFile | KeyError | IndexError
        )
        if not of_library:
            raise
        raise ValueError(f"{path}: this is no {kind} file that can be read ({error}).") from error


def is_table(source: object) -> bool:
    """Tell whether an object is a frame of pandas or polars, a table of Arrow or a dataset of Hugging Face."""
    if isinstance(source, Mapping):  # a dataset for each split
        return bool(source) and all(is_table(table) for table in source.values())
    return hasattr(source, "__getitem__") and (hasattr(source, "columns") or hasattr(source, "column_names"))


def object_rows(source: Any, request: Request) -> Rows:
    """Read what `is_table` knows. Of several datasets by split, the split's name is the part, where one is wanted."""
    if isinstance(source, Mapping):
        yield from _split_rows({str(name): object_rows(table, request) for name, table in source.items()}, request)
        return
    is_dataset = callable(getattr(source, "iter", None)) and hasattr(source, "column_names")
    is_arrow = not is_dataset and hasattr(source, "column_names")
    names = [str(name) for name in (source.column_names if is_dataset or is_arrow else source.columns)]
    kind = type(source).__name__
    check_names(f"The {kind}", names, request)
    if is_dataset:
        feature = (getattr(source, "features", None) or {}).get(request.label)
        yield from _rows(source.iter(batch_size=_BATCH), request, getattr(feature, "names", None))
    elif is_arrow:
        batches = source.select(_chosen(names, request)).to_batches(max_chunksize=_BATCH)
        yield from _rows((batch.to_pydict() for batch in batches), request)
    else:
        yield from _rows([{name: list(source[name]) for name in _chosen(names, request)}], request)


def is_dataset_folder(folder: Path) -> bool:
    """Tell whether a folder is what `save_to_disk` of Hugging Face's datasets writes."""
    return (folder / "dataset_dict.json").is_file() or (
        (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()
    )


def dataset_folder_rows(folder: Path, request: Request) -> Rows:
    """Read a folder that `save_to_disk` wrote: one dataset, or one for each split."""
    try:
        if (folder / "dataset_dict.json").is_file():
            splits = [str(name) for name in _json(folder / "dataset_dict.json")["splits"]]
            yield from _split_rows({name: dataset_folder_rows(folder / name, request) for name in splits}, request)
            return
        files = [folder / str(entry["filename"]) for entry in _json(folder / "state.json")["_data_files"]]
        features = _json(folder / "dataset_info.json").get("features") or {}
        classes = (features.get(request.label) or {}).get("names")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{folder}: this is no dataset that can be read ({error!r}).") from error
    for file in files:
        for row in arrow_rows(file, request, classes):
            yield row._replace(place=f"{file.name}, {row.place}") if len(files) > 1 else row


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _split_rows(splits: Mapping[str, Rows], request: Request) -> Rows:
    """Join the rows of several splits; if all are train and test, and a part is wanted, they are the parts."""
    are_parts = request.part is not None and splits.keys() <= {"train", "test"}
    for name, rows in splits.items():
        for row in rows:
            placed = row._replace(place=f"{name}, {row.place}")
            yield placed._replace(part=name) if are_parts and isinstance(placed, Document) else placed


def _chosen(names: Sequence[str], request: Request) -> list[str]:
    """Return the columns to read, in the order of the table."""
    wanted = {column for _, column in request.among(names).wanted} | {request.part}
    return [name for name in names if name in wanted]


def _rows(
    batches: Iterable[Mapping[str, Sequence[Any]]],
    request: Request,
    classes: Sequence[str] | None = None,
    *,
    first: int = 0,
) -> Rows:
    """Make documents of batches of columns; rows are counted from `first`: 1 in files, 0 in objects, as programs do."""
    number = first
    for batch in batches:
        names = _chosen(list(batch), request)
        for values in zip(*(batch[name] for name in names), strict=True):
            fields = dict(zip(names, values, strict=True))
            label = fields.get(request.label or "")
            if classes is not None and isinstance(label, int) and 0 <= label < len(classes):
                fields[request.label or ""] = classes[label]
            yield to_document(f"row {number}", fields, request)
            number += 1
