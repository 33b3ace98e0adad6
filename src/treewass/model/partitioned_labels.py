"""Labels for files of documents: each partition is read, scored and written by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treewass.compute.arguments import argument
from treewass.compute.extras import require
from treewass.documents.corpus_files import Remarks, remark_sentences
from treewass.documents.partitions import Partition
from treewass.model.contents import Contents
from treewass.model.inference import class_probabilities, count_texts, demand_labels
from treewass.model.model_folder import data_name
from treewass.model.partitioned import Engine, load_once, one_after_another
from treewass.storage.folders import LEFT_OVER, replacing

if TYPE_CHECKING:
    from treewass.documents.row_checks import Document

__all__ = ["Scored", "predict_partitions"]

_BLOCK = 1000
_COLUMNS = ("label", "probability")  # of the files written


class Scored(NamedTuple):
    """How many texts were scored, how many of them hold no known word, and how many labels were wrong, if known."""

    n_documents: int
    n_unknown: int
    n_wrong: int | None

    def __add__(self, other: tuple[Any, ...]) -> Scored:
        documents, unknown, wrong = other
        known = None if self.n_wrong is None or wrong is None else self.n_wrong + wrong
        return Scored(self.n_documents + documents, self.n_unknown + unknown, known)


def predict_partitions(
    model: Path,
    partitions: Sequence[Partition],
    out: str,
    *,
    engine: Engine = one_after_another,
    report: Callable[[str], None] | None = None,
) -> Scored:
    """Label the documents of each partition, and write a Parquet file for each: ``part-00000.parquet`` and so on.

    A file has the columns ``label`` and ``probability``, and before them the keys under their column's name, where
    the partitions have some. Its rows are those of the partition, in their order.

    Parameters
    ----------
    model : Path
        The folder of a model, which the engine must see.
    partitions : sequence of Partition
        With labels, wrong predictions are counted.
    out : str
        The folder to write to, or an address that fsspec can write to. Files of the same names are replaced; a folder
        that holds further parts, of a longer run, is a ValueError, since they would be taken for labels of this one.
    engine : callable, optional
        Does the work on each partition.
    report : callable, optional
        Takes each sentence on what was found out about the files, such as an encoding, once they are read.

    Returns
    -------
    Scored
    """
    require("pyarrow.parquet", purpose="Writing Parquet files", extra="dask")
    key, name = partitions[0].request.key, data_name(model)
    if key in _COLUMNS:
        raise ValueError(
            f"Expected {argument('key')} to be another column than {' and '.join(_COLUMNS)}, which the files of labels "
            f"have themselves, got {key!r}. Rename the column in the data."
        )
    demand_labels(load_once(model, name))
    _refuse_other_parts(out, len(partitions))
    if "://" not in out:
        Path(out).mkdir(parents=True, exist_ok=True)
    shared = {"model": model, "name": name, "out": out}
    tasks = list(enumerate(partitions))
    total, found = Scored(0, 0, 0), Remarks()
    for scored, remarks in engine(_predict_partition, tasks, "predicting labels", **shared):
        total += scored
        for remark, files in remarks.items():
            found.setdefault(remark, []).extend(files)
    if report is not None:
        for sentence in remark_sentences(found):
            report(sentence)
    if "://" not in out:
        _remove_left_over(Path(out))
    return total if partitions[0].request.label is not None else total._replace(n_wrong=None)


def _part_name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _refuse_other_parts(out: str, n_parts: int) -> None:
    """Refuse a folder with parts that will not be replaced."""
    if "://" in out:
        core: Any = require("fsspec.core", purpose=f"Writing to {out}", extra="dask")
        system, folder = core.url_to_fs(out)
        found = {path.rsplit("/", 1)[-1] for path in system.glob(f"{folder.rstrip('/')}/part-*.parquet")}
    else:
        found = {path.name for path in Path(out).glob("part-*.parquet")}
    other = sorted(found - {_part_name(number) for number in range(n_parts)})
    if other:
        raise ValueError(
            f"Expected a folder for {n_parts} file(s) of labels, but {out} holds {len(other)} more of another run, "
            f"such as {other[0]}. Remove them, or name another folder."
        )


def _remove_left_over(folder: Path) -> None:
    """Remove what workers that were killed have left unfinished."""
    for path in folder.iterdir():
        if LEFT_OVER.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _predict_partition(task: tuple[int, Partition], *, model: Path, name: str, out: str) -> tuple[Scored, Remarks]:
    """Label the documents of one partition and write them to a file, in one step; return remarks on the file, too."""
    arrow: Any = require("pyarrow", purpose="Writing Parquet files", extra="dask")
    parquet: Any = require("pyarrow.parquet", purpose="Writing Parquet files", extra="dask")
    number, partition = task
    remarks = Remarks()
    held, documents, key = load_once(model, name), partition.documents(remarks), partition.request.key
    labels = arrow.string() if isinstance(held.classes[0], str) else arrow.int64()
    fields = [*([(key, arrow.string())] if key else []), ("label", labels), ("probability", arrow.float64())]
    schema, total = arrow.schema(fields), Scored(0, 0, 0)
    with _writing(out, _part_name(number)) as path, parquet.ParquetWriter(path, schema) as writer:
        while block := list(islice(documents, _BLOCK)):
            columns, scored = _predicted(held, block)
            writer.write_table(arrow.table(([document.key for document in block], *columns)[0 if key else 1 :], schema))
            total += scored
    return total, remarks


def _predicted(held: Contents, documents: list[Document]) -> tuple[tuple[list[Any], list[float]], Scored]:
    """Return labels and their probabilities, and how many there are, unknown and wrong."""
    counted = count_texts(held, [document.text for document in documents])
    probabilities = class_probabilities(counted)
    codes = probabilities.argmax(axis=1)
    labels = [held.classes[code] for code in codes.tolist()]
    wrong = sum(str(label) != document.label for label, document in zip(labels, documents, strict=True))
    return (labels, probabilities.max(axis=1).tolist()), Scored(len(documents), counted.unknown.size, wrong)


@contextmanager
def _writing(out: str, name: str) -> Iterator[Path]:
    """Give a path to write a file to; it appears in the folder, or at the address, when it is whole."""
    if "://" not in out:
        with replacing(Path(out, name)) as path:
            yield path
        return
    core: Any = require("fsspec.core", purpose=f"Writing to {out}", extra="dask")
    system, folder = core.url_to_fs(out)
    with tempfile.TemporaryDirectory(prefix="treewass-") as here:
        yield Path(here, name)
        system.makedirs(folder, exist_ok=True)
        system.put_file(str(Path(here, name)), f"{folder.rstrip('/')}/{name}")
