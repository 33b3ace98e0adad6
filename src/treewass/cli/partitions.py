"""Data larger than memory on the command line: file by file, here, in processes of this machine or on a cluster."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.cli.columns import noted_columns
from treewass.cli.shared import say_note
from treewass.compute.arguments import counted_noun
from treewass.compute.extras import require

if TYPE_CHECKING:
    from treewass.model.document_model import DocumentModel
    from treewass.model.partitioned import Engine

__all__ = ["InParts", "Scheduler", "Workers", "fit_in_parts", "predict_in_parts", "wants_parts"]

Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Read the files in so many processes of this machine (extra dask)."),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Read the files on the Dask cluster at this address."),
]
InParts = Annotated[
    bool | None,
    typer.Option(
        "--in-parts/--in-memory",
        help="Read file by file, so that the texts are never all in memory; by default if they take more than 1 GB.",
    ),
]
_LARGE = 10**9  # bytes of files


def wants_parts(data: list[str], in_parts: bool | None, workers: int | None, scheduler: str | None) -> bool:
    """Decide whether data is read file by file: if it is asked for, or larger than 1 GB, or in an object store."""
    if in_parts is False and (workers or scheduler):
        raise typer.BadParameter("expected --in-memory without --workers and --scheduler.")
    if in_parts is not None or workers or scheduler:
        return in_parts is not False
    if any("://" in source for source in data):
        return True
    return data != ["-"] and _n_bytes(data) > _LARGE


def _n_bytes(data: list[str]) -> int:
    from treewass.documents.corpus_files import open_source

    paths = [path for path, _ in open_source(data).parts]
    return sum(path.stat().st_size for path in paths if path.is_file())


@contextmanager
def _engine(workers: int | None, scheduler: str | None) -> Iterator[Engine]:
    """Give what does the work: this process, processes of this machine, or a cluster."""
    from treewass.model.partitioned import one_after_another

    if workers is not None and scheduler is not None:
        raise typer.BadParameter("expected --workers or --scheduler, got both.")
    if workers is None and scheduler is None:
        yield one_after_another
        return
    distributed: Any = require("distributed", purpose="--workers and --scheduler", extra="dask")
    from treewass.distributed.files import LOCAL_SETTINGS, dask_engine

    if scheduler is not None:
        with distributed.Client(scheduler) as client:
            yield dask_engine(client)
        return
    dask: Any = require("dask", purpose="--workers", extra="dask")
    with (
        dask.config.set(LOCAL_SETTINGS),
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield dask_engine(client)


def fit_in_parts(
    model: DocumentModel,
    data: list[str],
    target: Path,
    *,
    workers: int | None,
    scheduler: str | None,
    unused: dict[str, Any],
    **reading: Any,
) -> float:
    """Fit a model on files, one after the other or on workers, and save it; return the seconds that it took.

    Options in `unused` that were given are refused: nothing is done that was not asked for.
    """
    from treewass.documents.partitions import find_partitions
    from treewass.model.partitioned import fit_partitions

    _refuse_given(unused)
    start = time.perf_counter()
    partitions = find_partitions(data, **reading)
    typer.echo(
        f"Reading {counted_noun(len(partitions), 'file')} one by one: the texts are never all in memory. Documents "
        "marked as test are left out, and no error is measured; treewass predict --label measures it on other files.",
        err=True,
    )
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".treewass-", dir=target.absolute().parent) as folder,
        _engine(workers, scheduler) as engine,
    ):
        held = fit_partitions(model, partitions, Path(folder), engine=engine, report=say_note)
        name = Path(partitions[0].address).name + (f" and {len(partitions) - 1} more" if len(partitions) > 1 else "")
        about = {"name": target.name, "data": f"{name}, {len(held.index)} documents", **noted_columns(reading)}
        model.contents_ = held.changed(about={**held.about, **about})
        model.save(target)
    return time.perf_counter() - start


def predict_in_parts(
    model: str,
    data: list[str],
    output: str | None,
    *,
    workers: int | None,
    scheduler: str | None,
    unused: dict[str, Any],
    **reading: Any,
) -> None:
    """Label files, one after the other or on workers, a Parquet file of labels for each."""
    from treewass.documents.partitions import find_partitions
    from treewass.model.partitioned_labels import predict_partitions

    if output is None or Path(output).suffix.lower() in (".csv", ".jsonl"):
        raise typer.BadParameter("expected a folder for files of labels, such as out/.", param_hint="-o")
    _refuse_given(unused)
    partitions = find_partitions(data, unique_keys=False, **reading)
    out = output if "://" in output else str(Path(output).expanduser().absolute())
    if _folder(f"{out}/part") in {_folder(partition.address) for partition in partitions}:
        raise typer.BadParameter(f"expected another folder than that of the data, got {output!r}.", param_hint="-o")
    with _engine(workers, scheduler) as engine:
        scored = predict_partitions(
            Path(model).expanduser().absolute(), partitions, out, engine=engine, report=say_note
        )
    files = counted_noun(len(partitions), "file")
    typer.echo(f"{counted_noun(scored.n_documents, 'label')} of {files} written to {output}.", err=True)
    if scored.n_unknown:
        typer.echo(
            f"treewass: warning: {scored.n_unknown} of them hold no known word: they get the class shares.", err=True
        )
    if scored.n_wrong is not None:
        share = 100 * scored.n_wrong / max(scored.n_documents, 1)
        typer.echo(f"{scored.n_wrong} of {scored.n_documents} wrong: error {share:.1f} %", err=True)


def _folder(address: str) -> str:
    """Return the folder of a file, the same for all names that a path has."""
    return address.rpartition("/")[0].rstrip("/") if "://" in address else str(Path(address).resolve().parent)


def _refuse_given(unused: dict[str, Any]) -> None:
    given = [option for option, value in unused.items() if value]
    if given:
        raise typer.BadParameter(
            f"{', '.join(given)} cannot be used when files are read one by one. Leave it out, or add --in-memory."
        )
