"""``treewass bench batch``: how long it takes to compare one document with many, by method, batch size and depth."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial

from treewass.bench.cells import Cell
from treewass.bench.datasets import PAPER_SETS, load_set
from treewass.bench.depth import FULL_DEPTHS
from treewass.bench.rows import Value
from treewass.bench.speed_timing import time_for_seconds
from treewass.bench.time_methods import BLOCK, PAIRED, load_timed_set, ready, stacked
from treewass.bench.time_queries import query_cells

__all__ = ["BATCHES", "BATCH_MEASURE", "batch_cells", "measure_batch", "time_cells"]

BATCH_MEASURE = "one document against a batch"
BATCHES = (100, 500, 1000, 2500, 5000)
_PAPER_BATCH = 500
_PROTOCOL = (
    "all distances between one test document and a batch of training documents, seeded, of the first split; words "
    "with a vector only, as in the paper's sets; CPU time, one thread; mean over up to 100 test documents (queries) "
    "of the smallest of up to five times (rounds), as many as fit into the seconds a cell is given; ms_for_500 is "
    "query_ms over the batch, times 500; normalising and embedding the query are in it, and for SciPy and dense "
    "torch the products too, as in the paper; WMD, Sinkhorn, S-WMD and Flowtree answer ten queries a call, which "
    "share what the call does for the batch; trees and what is done once for the batch are prepare_seconds "
    "(learning is left out); STW's tree has learned for two epochs and S-WMD's map for one step; Sinkhorn: torch, "
    "regularisation 0.1 and at most 200 iterations, as the public S-WMD code; the compiled merge stands for the "
    "public C++ of Quadtree"
)


@dataclass(frozen=True, slots=True)
class _Timed:
    """A method in one form.

    Parameters
    ----------
    method, form : str
        As `treewass.bench.time_methods.ready` takes them.
    varied : bool
        Whether all batch sizes are measured, or only the paper's.
    depths : tuple of int
        Depths of the tree beside the method's own, measured at the paper's batch size.
    seconds : float
        What a cell is given.
    """

    method: str
    form: str
    varied: bool = True
    depths: tuple[int, ...] = ()
    seconds: float = 1.5


_QUICK = ("index", "compiled merge")  # end before their time is up
_SLICES, _LEVELS = (4, 5), (3, 4)
_SLICED = ("tsw-1", "tsw-5", "tsw-10")
_TIMED = (
    _Timed("wmd", "exact", varied=False, seconds=10.0),
    _Timed("wmd-sinkhorn", "Sinkhorn", varied=False, seconds=10.0),
    _Timed("swmd", "exact, learned", varied=False, seconds=10.0),
    _Timed("flowtree", "flows"),
    _Timed("quadtree", "compiled merge"),
    _Timed("quadtree", "index"),
    *(_Timed(method, "SciPy", varied=False, depths=_SLICES) for method in _SLICED),
    *(_Timed(method, "index", depths=_SLICES) for method in _SLICED),
    _Timed("stw", "dense torch"),
    _Timed("stw", "SciPy", depths=_LEVELS),
    _Timed("stw", "compiled merge", varied=False),
    _Timed("stw", "index", depths=_LEVELS),
    _Timed("profile", "index"),
)


def time_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] = PAPER_SETS) -> list[Cell]:
    """List all that is timed: batches and depths, then one query against the whole training set.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    sets : sequence of str
        Names of text sets.

    Returns
    -------
    list of Cell
        Set by set, so that neighbours share what is loaded and learned.
    """
    folder = None if data is None else os.fspath(data)
    return [cell for name in sets for cell in (*batch_cells(name, folder), *query_cells(name, folder))]


def batch_cells(name: str, data: str | None = None) -> Iterator[Cell]:
    """List the cells of one set: batch sizes, and depths at a batch of 500.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the text sets.

    Yields
    ------
    Cell
        The case ``batch`` is a number, or ``"all"`` training documents; larger numbers are left out, as in the paper.
    """
    n_documents = _training_documents(name, data)
    batches: list[int | str] = [batch for batch in BATCHES if batch < n_documents]
    for timed in _TIMED:
        sizes = [*batches, "all"] if timed.varied else [_PAPER_BATCH]
        cases = [(size, FULL_DEPTHS.get(timed.method)) for size in sizes]
        cases += [(_PAPER_BATCH, depth) for depth in timed.depths]
        for batch, depth in cases:
            case: dict[str, Value] = {"measure": BATCH_MEASURE, "set": name, "method": timed.method}
            case |= {"form": timed.form, "batch": batch}
            case |= {} if depth is None else {"depth": depth}
            measure = partial(measure_batch, name, data, timed.method, timed.form, batch, depth, timed.seconds)
            seconds = _expected(timed, n_documents if batch == "all" else int(batch))
            yield Cell("time", case, measure, _PROTOCOL, seconds=seconds, alone=True)


@lru_cache(maxsize=16)
def _training_documents(name: str, data: str | None) -> int:
    return int(load_set(name, data).train_rows[0].size)


def _expected(timed: _Timed, n_documents: int) -> float:
    """Guess how long a cell takes."""
    products = n_documents / 250 if timed.form == "dense torch" else 0.0
    return products + (0.6 if timed.form in _QUICK else 1.5 * timed.seconds)


def measure_batch(
    name: str, data: str | None, method: str, form: str, batch: int | str, depth: int | None, seconds: float
) -> dict[str, Value]:
    """Time a method in one form.

    Parameters
    ----------
    name : str
        The set.
    data : str, optional
        Folder of the text sets.
    method, form, depth
        As in `treewass.bench.time_methods.ready`.
    batch : int or "all"
        Training documents to compare with.
    seconds : float
        How long to go on.

    Returns
    -------
    dict
        ``ms_for_500``, ``query_ms``, ``documents``, ``queries``, ``rounds`` and ``prepare_seconds``.
    """
    from threadpoolctl import threadpool_limits

    timed = load_timed_set(name, data)
    documents = timed.documents if batch == "all" else timed.documents[: int(batch)]
    with threadpool_limits(limits=1), ExitStack() as stack:
        if form in ("dense torch", "Sinkhorn"):
            from treewass.bench.train_baselines import one_torch_thread

            stack.enter_context(one_torch_thread())
        few, _ = ready(name, data, method, form, depth, documents[:8])
        few(timed.queries[0])  # compiles and imports
        answer, prepared = ready(name, data, method, form, depth, documents)
        least = 1 if form == "dense torch" else 2  # which takes the same time for any document
        if form in PAIRED:
            spent = time_for_seconds(answer, stacked(timed.queries), seconds, least=1, block=BLOCK)
        else:
            spent = time_for_seconds(answer, timed.queries, seconds, least=least)
    return {
        "ms_for_500": float(f"{spent.milliseconds / documents.shape[0] * 500:.4g}"),
        "query_ms": float(f"{spent.milliseconds:.4g}"),
        "documents": documents.shape[0],
        "queries": spent.items,
        "rounds": spent.rounds,
        "prepare_seconds": float(f"{prepared:.3g}"),
    }
