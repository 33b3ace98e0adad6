"""Files of documents on the workers of a Dask cluster: learn from them, index them, label them."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewass.compute.progress import show_progress
from treewass.documents.partitions import find_partitions
from treewass.model.document_model import DocumentModel
from treewass.model.model_folder import data_name
from treewass.model.partitioned import Engine, PartitionSettings, fit_partitions, index_partitions
from treewass.model.partitioned_labels import Scored, predict_partitions

if TYPE_CHECKING:
    from distributed import Client

    from treewass.search.sharded_index import ShardedIndex

__all__ = ["LOCAL_SETTINGS", "build_shards", "dask_engine", "fit", "predict"]

LOCAL_SETTINGS = {  # of Dask, for a cluster on this machine
    # A worker that is lost again 15 s after a loss, just while it starts, would be given up by Dask for good.
    "distributed.deploy.lost-worker-timeout": "30 days",
    # What watches processes at rest took 5 % of a core for two workers, most of it by these two.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.profile.enabled": False,
}
Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def dask_engine(client: Client, *, verbose: bool | None = None) -> Engine:
    """Make an engine of a Dask cluster: each task goes to a worker, and again to another one if the worker is lost.

    Parameters
    ----------
    client : distributed.Client
        Its workers need treewass, and see the same files.
    verbose : bool, optional
        Whether to show a progress bar on standard error; by default at a terminal.

    Returns
    -------
    Engine
    """
    cluster: Any = client  # Dask has types for some of its methods only

    def run(function: Callable[..., Any], tasks: Sequence[Any], description: str, **shared: Any) -> Iterator[Any]:
        shown = sys.stderr.isatty() if verbose is None else verbose
        # In the function, since Dask calls large arguments by their name: those of two calls would be mixed up.
        task = partial(function, **shared)
        futures = client.map(task, tasks, key=f"treewass-{function.__name__.strip('_')}", pure=False)
        try:
            with show_progress(description, len(futures), shown) as advance:
                while futures:
                    yield futures[0].result()
                    del futures[0]  # the worker may forget it
                    advance()
        finally:
            cluster.cancel(futures)

    return run


def fit(
    source: Source,
    *,
    client: Client,
    text: str | Sequence[str] = "text",
    label: str = "label",
    key: str | None = None,
    model: DocumentModel | None = None,
    folder: str | os.PathLike[str] | None = None,
    sample_size: int = 50_000,
    max_words: int = 1_000_000,
    shard_size: int = 200_000,
    **reading: Any,
) -> DocumentModel:
    """Learn a model from labelled files on the workers of a cluster; its index is in shards.

    Each worker reads its own files; texts pass through this process only for the sample. Metric and words do not
    depend on how the documents are divided into files, on their order, nor on workers that are lost on the way.

    Parameters
    ----------
    source : str, path-like, or sequence of these
        Files that `treewass.documents.read_corpus` reads, or patterns such as ``data/*.parquet``: Parquet, CSV, JSON
        lines and others. Each file is one task. Addresses such as ``s3://bucket/*.parquet`` go through fsspec.
        Documents whose column ``split`` says ``test`` are left out.
    client : distributed.Client
    text, label : str
        The columns of texts and labels.
    key : str, optional
        The column of your own names of the documents.
    model : DocumentModel, optional
        The parameters to learn with; ``DocumentModel()`` by default. It is not changed.
    folder : path-like, optional
        Where workers write index and texts: every machine must see it under this name. Keep it as long as you use the
        model, or save the model. By default a temporary folder, which is enough for workers on this machine.
    sample_size : int, default=50000
        Documents, chosen by a hash of text and label, that the metric is refined on and the vote calibrated; at least
        2000. Where there are no more in all, the model is that of `DocumentModel.fit`, to the bit.
    max_words : int, default=1000000
        The most words to know. Where there are more, words in fewer than m documents are left out, with the smallest m
        that leaves no more.
    shard_size : int, default=200000
        Documents in one shard of the index.
    **reading
        `title`, `format`, `encoding`, `delimiter` and `part`, as in `read_corpus`.

    Returns
    -------
    DocumentModel
        Fitted; `save` writes it as a folder for `treewass serve`, `predict` and all others.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(n_workers=2, threads_per_worker=1) as client:  # doctest: +SKIP
    ...     fit("data/*.parquet", client=client).save("model")
    """
    from sklearn.base import clone

    partitions = find_partitions(source, text=text, label=label, key=key, **reading)
    settings = PartitionSettings(sample_size, max_words, shard_size)
    learned: DocumentModel = DocumentModel() if model is None else clone(model)
    temporary = None if folder is not None else tempfile.TemporaryDirectory(prefix="treewass-")
    place = Path(folder or temporary.name)  # type: ignore[union-attr]
    place.mkdir(parents=True, exist_ok=True)
    try:
        learned.contents_ = fit_partitions(
            learned, partitions, place.resolve(), settings=settings, engine=dask_engine(client), report=_warn
        )
    finally:
        if temporary is not None:
            temporary.cleanup()  # what is mapped stays readable
    return learned


def build_shards(
    model: str | os.PathLike[str],
    source: Source,
    folder: str | os.PathLike[str],
    *,
    client: Client,
    text: str | Sequence[str] = "text",
    shard_size: int = 200_000,
    **reading: Any,
) -> ShardedIndex:
    """Index files of documents under the metric of a model, on the workers of a cluster: a collection to search.

    Parameters
    ----------
    model : path-like
        The folder of a model, which every worker must see.
    source : str, path-like, or sequence of these
        As in `fit`; no labels are read. Documents get ids from 0 in the order of the files.
    folder : path-like
        Where the index is written to, for `ShardedIndex.load` and `open_shards`; every worker must see it.
    client : distributed.Client
    text : str, default="text"
        The column of the texts.
    shard_size : int, default=200000
        Documents in one shard.
    **reading
        As in `fit`.

    Returns
    -------
    ShardedIndex
        The index, mapped from the folder.
    """
    from treewass.search.sharded_index import ShardedIndex

    partitions = find_partitions(source, text=text, label=None, **{"part": None, **reading})
    target = Path(folder).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".treewass-", dir=target.parent) as place:
        index = index_partitions(
            Path(model).resolve(), partitions, Path(place), shard_size=shard_size, engine=dask_engine(client)
        )
        index.save(target)
    return ShardedIndex.load(target)


def predict(
    source: Source,
    out: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str],
    client: Client,
    text: str | Sequence[str] = "text",
    label: str | None = None,
    key: str | None = None,
    **reading: Any,
) -> Scored:
    """Label the documents of files on the workers of a cluster, a Parquet file of labels for each.

    Parameters
    ----------
    source : str, path-like, or sequence of these
        As in `fit`.
    out : str or path-like
        The folder, or address for fsspec, that gets ``part-00000.parquet`` and so on: columns ``label`` and
        ``probability``, with the keys before them if `key` is given, in the order of the file's rows.
    model : path-like
        The folder of a model, which every worker must see.
    client : distributed.Client
    text : str, default="text"
        The column of the texts.
    label : str, optional
        The column of the true labels, to count wrong ones.
    key : str, optional
        The column of your own names of the documents.
    **reading
        As in `fit`.

    Returns
    -------
    Scored
        How many documents there were, without a known word, and labelled wrongly.
    """
    columns = {"text": text, "label": label, "key": key, "part": None, **reading}
    partitions = find_partitions(source, unique_keys=False, **columns)
    place = os.fspath(out) if "://" in os.fspath(out) else str(Path(out).resolve())
    folder = Path(model).resolve()
    data_name(folder)  # a folder that holds no model is an error here, not on a worker
    return predict_partitions(folder, partitions, place, engine=dask_engine(client), report=_warn)


def _warn(remark: str) -> None:
    """Say what was found out about files, such as an encoding; who gives it is not told."""
    warnings.warn(remark, stacklevel=4)
