"""Distance matrices row by row: what the distances on word vectors share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.cost_kernels import fill_costs
from treewass.distances.pairs import DocumentPairs
from treewass.distances.parts import PartStore, compute_in_parts, fingerprint, show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_direction", "compute_rows", "pairwise_rows", "query_costs"]

DIRECTIONS = ("max", "forward", "backward")
_PAIRS_A_PART, _MOST_ROWS = 20_000, 64


def query_costs(pairs: DocumentPairs, row: int, squared: bool) -> NDArray[np.float64]:
    """Compute the costs from the points of one document on the left to all points.

    Parameters
    ----------
    pairs : DocumentPairs
        Documents and points.
    row : int
        The document.
    squared : bool
        Squared Euclidean distance instead of the distance.

    Returns
    -------
    ndarray of shape (n_points, n_query_points)
    """
    points, _ = pairs.of_left(row)
    costs = np.empty((len(pairs.points), points.size))
    fill_costs(pairs.points, np.ascontiguousarray(pairs.points[points].T), squared, costs)
    return costs


def compute_rows(
    pairs: DocumentPairs,
    work: Callable[..., dict[str, NDArray[Any]]],
    settings: Mapping[str, Any],
    *,
    name: str,
    processes: bool,
    n_jobs: int | None,
    verbose: bool,
    store: str | os.PathLike[str] | None,
) -> dict[str, NDArray[Any]]:
    """Call ``work(pairs, start, stop, **settings)`` on parts of the documents on the left.

    Parameters
    ----------
    pairs : DocumentPairs
        Documents and points.
    work : callable
        A function of a module; it returns named arrays with one row for each document.
    settings : mapping
        Plain values.
    name : str
        Of the distance; tells its stored parts from those of another.
    processes, n_jobs, verbose, store
        How: processes or threads, how many, with a bar, kept in a folder.

    Returns
    -------
    dict of str to ndarray
    """
    n_rows, n_columns = pairs.shape
    block = max(1, min(_MOST_ROWS, _PAIRS_A_PART // n_columns))
    stored = None
    if store is not None:
        sides = [pairs.left] if pairs.same else [pairs.left, pairs.right]
        arrays = [array for side in sides for array in (side.indptr, side.indices, side.data)]
        stored = PartStore(store, fingerprint({"name": name, **settings}, pairs.points, *arrays), block)
    with show_progress(f"{name}, documents", n_rows, verbose) as progress:
        return compute_in_parts(
            partial(work, pairs, **settings),
            n_rows,
            block=block,
            n_jobs=n_jobs,
            processes=processes,
            progress=progress,
            store=stored,
        )


def pairwise_rows(
    pairs: DocumentPairs, work: Callable[..., dict[str, NDArray[Any]]], settings: Mapping[str, Any], **options: Any
) -> NDArray[np.float64]:
    """Return the array ``"distances"`` of `compute_rows`, without a row for no documents."""
    if not all(pairs.shape):
        return np.zeros(pairs.shape)
    return np.asarray(compute_rows(pairs, work, settings, **options)["distances"])


def check_direction(direction: str, *, caller: str) -> None:
    """Refuse an unknown direction."""
    if direction not in DIRECTIONS:
        raise ValueError(f"{caller} expects direction to be one of {', '.join(DIRECTIONS)}, got {direction!r}.")
