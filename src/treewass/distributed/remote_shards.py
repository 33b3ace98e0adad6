"""Shards on the workers of a Dask cluster, searched as one exact index."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.model.model_folder import load_contents
from treewass.model.model_folder import part_folders as model_parts
from treewass.search.index import TreeIndex
from treewass.search.shard_answers import check_shards, unchecked_snapshot
from treewass.search.sharded_folder import holds_shards
from treewass.search.sharded_folder import part_folders as index_parts
from treewass.search.sharded_index import ShardedIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Client
    from numpy.typing import ArrayLike, NDArray

    from treewass.search.word_lists import Statistics

__all__ = ["RemoteShard", "open_shards", "search", "shards_on_workers"]

_MOST_TRIES = 4  # workers that may be lost during one question to a shard
_PATIENCE = 2.0  # seconds until somebody looks whether the worker is still there


class _Held:
    """Shards in a worker, searched as one: an actor of Dask."""

    def __init__(self, folders: Sequence[str], n_jobs: int) -> None:
        self.index = ShardedIndex([TreeIndex.load(folder) for folder in folders], n_jobs=n_jobs)
        self.known: tuple[str, Statistics] | None = None

    def ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the index."""
        return getattr(self.index, method)(*arguments, **options)

    def learn(self, name: str, statistics: Statistics) -> None:
        """Keep the statistics of all shards, which are the same for many questions."""
        self.known = name, statistics

    def rank(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Rank by the statistics of this name; None if they are not here."""
        if self.known is None or self.known[0] != name:
            return None
        return self.index.rank(*arguments, statistics=self.known[1], **options)


@dataclass(slots=True)
class _Opened:
    """A shard that some worker opens, and the actor there, once it was asked for: that costs a question."""

    future: Any
    actor: Any = None


class RemoteShard:
    """Shards that a worker of a Dask cluster holds, mapped from their folders; asked as one. It is read-only.

    If the worker is lost, another one opens the folders and is asked again: an answer may be late, but is never short.

    Parameters
    ----------
    client : distributed.Client
    folders : sequence of path-like
        Indexes that `TreeIndex.save` wrote; worker and client must see them.
    n_jobs : int, default=1
        Threads that the worker searches with, a shard each.
    """

    def __init__(self, client: Client, folders: Sequence[str | os.PathLike[str]], n_jobs: int = 1) -> None:
        parts = [TreeIndex.load(folder) for folder in folders]
        check_shards(parts)
        found = [unchecked_snapshot(part) for part in parts]  # ids only: the worker reads, and checks, the rest
        self.metric, self.next_id = parts[0].metric, max(one.next_id for one in found)
        self.ids = np.sort(np.concatenate([one.ids for one in found]))
        self._client, self._folders, self._n_jobs = client, [os.fspath(folder) for folder in folders], n_jobs
        self._opening, self._ranking = Lock(), Lock()
        self._learnt: tuple[str, Statistics] | None = None
        self._opened = self._open()

    def _open(self) -> _Opened:
        return _Opened(self._client.submit(_Held, self._folders, self._n_jobs, actor=True, pure=False))

    def _ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Ask the worker; open the shard again elsewhere if the worker was lost."""
        cause: BaseException | None = None
        for _ in range(_MOST_TRIES):
            opened = self._opened
            try:
                return self._answer(opened, method, arguments, options)
            except _LostError as lost:
                cause = lost.__cause__
                with self._opening:
                    if self._opened is opened:  # nobody else has opened it meanwhile
                        self._opened = self._open()
        raise OSError(
            f"Expected a worker to hold the shards in {', '.join(self._folders[:3])}, but {_MOST_TRIES} of them were "
            f"lost or could not read them, the last one by {cause!r}. See the cluster's logs: they may be short of "
            "memory."
        ) from cause

    def _answer(self, opened: _Opened, method: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Wait for the worker's answer, as long as it is there."""
        client: Any = self._client
        future = opened.future
        try:
            actor = opened.actor = opened.actor or future.result()
            asked = getattr(actor, method)(*arguments, **options)
        except RuntimeError as error:  # Dask knows of the loss
            raise _LostError from error
        while True:
            try:
                return asked.result(timeout=_PATIENCE)
            except OSError as error:  # a timeout is one, too
                if not isinstance(error, TimeoutError) or actor._address not in client.who_has([future])[future.key]:
                    raise _LostError from error

    def search(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the k nearest documents of each query; as `TreeIndex.search`."""
        return tuple(self._ask("ask", "search", X, k, where=where))

    def statistics(self) -> Statistics:
        """Return what ranking needs to know of the documents held; as `TreeIndex.statistics`."""
        found: Statistics = self._ask("ask", "statistics")
        return found

    def rank(
        self, X: Any, k: int = 10, *, where: ArrayLike | None = None, statistics: Statistics | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find documents by the words of a query; as `TreeIndex.rank`. Statistics are sent once."""
        if statistics is None:
            return tuple(self._ask("ask", "rank", X, k, where=where))
        with self._ranking:  # lest threads with different statistics teach the worker in turns
            if self._learnt is None or self._learnt[1] is not statistics:
                self._learnt = uuid.uuid4().hex, statistics
            name, _ = self._learnt
            while (found := self._ask("rank", name, X, k, where=where)) is None:
                self._ask("learn", name, statistics)
        return tuple(found)

    def within(self, X: Any, radius: float) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Find all documents within a radius of each query; as `TreeIndex.within`."""
        return tuple(self._ask("ask", "within", X, radius))

    def distances(self, x: Any, ids: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Compute the distances of one document to all, or to chosen ones; as `TreeIndex.distances`."""
        return tuple(self._ask("ask", "distances", x, ids))

    def add(self, X: Any, ids: ArrayLike | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - as of a shard
        """Refuse: what a worker adds would be gone with it."""
        raise _read_only()

    def remove(self, ids: ArrayLike) -> None:  # noqa: ARG002 - as of a shard
        """Refuse: what a worker removes would be back after it."""
        raise _read_only()

    def compact(self) -> None:
        """Do nothing: a stored index holds nothing of removed documents."""

    def save(self, folder: str | os.PathLike[str]) -> None:  # noqa: ARG002 - as of a shard
        """Refuse: the shard is in a folder already."""
        raise _read_only()


class _LostError(Exception):
    """The worker that held a shard is gone."""


def _read_only() -> ValueError:
    return ValueError(
        "Expected only questions: shards on workers are read-only. Change the model in its folder, save it and open "
        "its shards again."
    )


def open_shards(folder: str | os.PathLike[str], *, client: Client) -> ShardedIndex:
    """Open the index of a saved model, or one that `build_shards` wrote, on the workers of a cluster.

    Parameters
    ----------
    folder : path-like
        Every worker and this process must see it.
    client : distributed.Client
        The shards are divided among the workers that it has now; each maps its own, and is sent one message a
        question. So wait for all of them first, with ``client.wait_for_workers(n)``, if the cluster is just starting.

    Returns
    -------
    ShardedIndex
        Exact, and read-only. What a worker held that is lost is opened again on another one.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client("tcp://scheduler:8786") as client:  # doctest: +SKIP
    ...     distances, ids = open_shards("model", client=client).search(X, k=10)
    """
    path = Path(folder).resolve()
    folders = index_parts(path) if holds_shards(path) else model_parts(path)
    return shards_on_workers(folders, client)


def shards_on_workers(folders: Sequence[Path], client: Client) -> ShardedIndex:
    """Let the workers of a cluster open indexes, each as many, that together are one."""
    cluster: Any = client  # Dask has types for some of its methods only
    cluster.wait_for_workers(1)
    threads = list(cluster.nthreads().values())
    groups = [own.tolist() for own in np.array_split(np.arange(len(folders)), min(len(threads), len(folders)))]
    shards = [RemoteShard(client, [folders[one] for one in own], min(threads)) for own in groups]
    return ShardedIndex(shards, n_jobs=len(shards))


def search(
    model: str | os.PathLike[str], texts: Sequence[str], k: int = 10, *, client: Client
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the documents of a saved model nearest to each of many texts, on the workers of a cluster.

    Parameters
    ----------
    model : path-like
        The folder of a model, which every worker must see.
    texts : sequence of str
        Each with a known word.
    k : int, default=10
        Documents for each text.
    client : distributed.Client

    Returns
    -------
    distances : ndarray of float64, shape (n_texts, min(k, n_documents))
        Ascending.
    ids : ndarray of int64, shape (n_texts, min(k, n_documents))
    """
    from treewass.model.labelled_texts import check_texts

    held = load_contents(model)
    return open_shards(model, client=client).search(held.count(check_texts(texts)), k)
