"""Transport by constrained transfers (ACT): between the relaxed word mover's distance and the exact one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.matrices import check_direction, pairwise_rows, query_costs
from treewass.distances.pairs import DocumentPairs, check_cost, pair_documents
from treewass.distances.relaxed import choose_direction
from treewass.distances.relaxed_kernels import constrained_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["act", "constrained_bounds"]


def act(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    iterations: int = 1,
    cost: str = "euclidean",
    direction: str = "max",
    n_jobs: int | None = None,
    verbose: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Compute the ACT distance, a lower bound of `wmd` that grows with the number of iterations [1]_.

    Each word sends its mass to the words of the other document from the nearest on. In each iteration it may send
    one of them no more than that word holds; what is left after the last iteration goes to the next nearest word.
    Without iterations this is `rwmd`.

    Parameters
    ----------
    X, Y, word_vectors, cost, verbose, store
        As in `wmd`.
    iterations : int, default=1
        Transfers with a limit, for each word.
    direction : {"max", "forward", "backward"}, default="max"
        From `X` to `Y`, from `Y` to `X`, or the larger of the two, which alone is symmetric.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Zero for documents whose histograms have the same bits, and up to rounding for others that are equal.

    References
    ----------
    .. [1] Atasu and Mittelholzer, Linear-complexity data-parallel earth mover's distance approximations, ICML 2019.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> [float(act([[1, 1, 0]], [[0, 1, 3]], word_vectors=vectors, iterations=k)[0, 0]) for k in range(3)]
    [3.0, 3.25, 3.25]
    """
    if not isinstance(iterations, int | np.integer) or iterations < 0:
        raise ValueError(f"act expects iterations as an integer of at least 0, got {iterations!r}.")
    check_direction(direction, caller="act")
    settings = {
        "squared": check_cost(cost, caller="act"),
        "direction": direction,
        "iterations": int(iterations),
    }
    pairs = pair_documents(X, Y, word_vectors, caller="act")
    return pairwise_rows(
        pairs, _rows, settings, name="act", processes=False, n_jobs=n_jobs, verbose=verbose, store=store
    )


def constrained_bounds(
    pairs: DocumentPairs, table: NDArray[np.float64], row: int, columns: NDArray[np.intp] | None, iterations: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute ACT distances of one document to some on the right, given its table of costs.

    Parameters
    ----------
    pairs : DocumentPairs
        Documents and points.
    table : ndarray of shape (n_points, n_query_points)
        From `query_costs`.
    row : int
        The document on the left.
    columns : ndarray of int or None
        The documents on the right; None for all.
    iterations : int
        Transfers with a limit.

    Returns
    -------
    forward, backward : ndarray of shape (n_columns,)
    """
    right = pairs.right if columns is None else pairs.right[columns]
    forward, backward = np.empty(right.shape[0]), np.empty(right.shape[0])
    masses = pairs.of_left(row)[1]
    most = min(iterations, pairs.points.shape[0] - 1)
    constrained_costs(table, masses, right.indptr, right.indices, right.data, most, forward, backward)
    return forward, backward


def _rows(
    pairs: DocumentPairs, start: int, stop: int, *, squared: bool, direction: str, iterations: int
) -> dict[str, NDArray[np.float64]]:
    distances = np.empty((stop - start, pairs.shape[1]))
    for row in range(start, stop):
        bounds = constrained_bounds(pairs, query_costs(pairs, row, squared), row, None, iterations)
        distances[row - start] = choose_direction(*bounds, direction)
    return {"distances": distances}
