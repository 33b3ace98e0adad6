"""Transport with an entropic penalty (Sinkhorn), many documents at a time, in numpy or torch."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.distances.matrices import compute_rows, query_costs
from treewass.distances.pairs import DocumentPairs, check_cost, pair_documents
from treewass.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["sinkhorn"]

_CHECK_EVERY = 10
_LEAST_SHARE = 1e-300  # of the largest cost
_CELLS = 2_000_000  # of the costs that are worked on at once


def sinkhorn(
    X: Any,
    Y: Any = None,
    *,
    word_vectors: Any,
    cost: str = "euclidean",
    regularisation: float = 0.1,
    tolerance: float = 0.01,
    max_iterations: int = 1000,
    device: str | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    r"""Compute the word mover's distance approximately, by Sinkhorn's iterations in the log domain [1]_.

    The plan minimises :math:`\sum_{ij} T_{ij} c_{ij} + \varepsilon \sum_{ij} T_{ij} \log T_{ij}`; what is returned
    is its cost, the first sum, after the plan has been brought to the exact marginals [2]_. So it is never below
    `wmd`, and comes down to it as :math:`\varepsilon` falls.

    Parameters
    ----------
    X, Y, word_vectors, cost, verbose, store
        As in `wmd`.
    regularisation : float, default=0.1
        :math:`\varepsilon`, in the units of the cost. The smaller, the more iterations.
    tolerance : float, default=0.01
        Mass that may be in the wrong place when the iterations of a pair end, before it is put right. On text, less
        makes three times the work and moves the result by a tenth of what the penalty does.
    max_iterations : int, default=1000
        After so many they end in any case, with a ``ConvergenceWarning``.
    device : str, optional
        A device of torch, such as ``"cpu"`` or ``"cuda"``, which needs the extra ``train``; by default numpy.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_documents_X, n_documents_Y)
        Symmetric where `Y` is `X`. A document's distance to itself is above zero: the penalty spreads the plan.

    References
    ----------
    .. [1] Cuturi, Sinkhorn distances: lightspeed computation of optimal transport, NeurIPS 2013.
    .. [2] Altschuler, Weed and Rigollet, Near-linear time approximation algorithms for optimal transport via
       Sinkhorn iteration, NeurIPS 2017, algorithm 2.

    Examples
    --------
    >>> vectors = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> sinkhorn([[1, 1, 0]], [[0, 0, 2], [1, 2, 0]], word_vectors=vectors).round(3)
    array([[4.5, 0.5]])
    """
    squared = check_cost(cost, caller="sinkhorn")
    _check_settings(regularisation, tolerance, max_iterations)
    if device is not None:
        require("torch", purpose="sinkhorn on a device", extra="train")
    pairs = pair_documents(X, Y, word_vectors, caller="sinkhorn")
    if not all(pairs.shape):
        return np.zeros(pairs.shape)
    settings = {
        "squared": squared,
        "regularisation": float(regularisation),
        "tolerance": float(tolerance),
        "max_iterations": int(max_iterations),
        "device": device,
    }
    options: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose, "store": store}
    found = compute_rows(pairs, _rows, settings, name="sinkhorn", processes=False, **options)
    _warn_unless_converged(int(found["unfinished"].sum()), max_iterations)
    distances: NDArray[np.float64] = found["distances"]
    return distances + np.triu(distances, 1).T if pairs.same else distances


def _rows(
    pairs: DocumentPairs,
    start: int,
    stop: int,
    *,
    squared: bool,
    regularisation: float,
    tolerance: float,
    max_iterations: int,
    device: str | None,
) -> dict[str, NDArray[Any]]:
    """Compute some rows; of two equal sets only the diagonal and what lies right of it."""
    distances, unfinished = np.zeros((stop - start, pairs.shape[1])), np.zeros(stop - start, dtype=np.int64)
    for row in range(start, stop):
        table = query_costs(pairs, row, squared)
        if regularisation < _LEAST_SHARE * float(table.max()):
            raise ValueError(
                f"sinkhorn expects a regularisation of at least {_LEAST_SHARE:g} times the largest cost, which is "
                f"{table.max():.3g}, got {regularisation!r}. Raise it, or scale the vectors down."
            )
        masses = pairs.of_left(row)[1]
        columns = np.arange(row if pairs.same else 0, pairs.shape[1])
        for batch in _batches(pairs, columns, masses.size):
            points, others = _padded(pairs, batch)
            problem = _on_device((table[points], masses, others), device)
            found, left = _transport(problem, regularisation, tolerance, max_iterations)
            distances[row - start, batch] = found
            unfinished[row - start] += left
    return {"distances": distances, "unfinished": unfinished}


def _batches(pairs: DocumentPairs, columns: NDArray[np.intp], n_query: int) -> list[NDArray[np.intp]]:
    """Put documents of similar length together, as many as memory allows."""
    lengths = np.diff(pairs.right.indptr)[columns]
    order = np.argsort(lengths, kind="stable")
    columns, lengths = columns[order], lengths[order]
    batches, start = [], 0
    while start < columns.size:
        sizes = np.arange(1, columns.size - start + 1) * lengths[start:] * n_query
        stop = start + max(1, int(np.searchsorted(sizes, _CELLS, side="right")))
        batches.append(columns[start:stop])
        start = stop
    return batches


def _padded(pairs: DocumentPairs, columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return points and masses of documents as rectangles; the masses of what was added are zero."""
    part = pairs.right[columns]
    lengths = np.diff(part.indptr)
    held = np.arange(lengths.max()) < lengths[:, None]
    points, masses = np.zeros(held.shape, dtype=np.intp), np.zeros(held.shape)
    points[held], masses[held] = part.indices, part.data
    return points, masses


def _on_device(arrays: tuple[NDArray[np.float64], ...], device: str | None) -> tuple[Any, ...]:
    """Move arrays to a device of torch; numpy's stay as they are."""
    if device is None:
        return arrays
    import torch

    return tuple(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays)


def _transport(
    problem: tuple[Any, ...], regularisation: float, tolerance: float, max_iterations: int
) -> tuple[NDArray[np.float64], int]:
    """Solve the problems of one document with many, each until it has converged.

    Parameters
    ----------
    problem : tuple of array
        Of numpy or torch: costs of shape (n_documents, n_others, n_masses), the masses of the document, of shape
        (n_masses,), and those of the others, of shape (n_documents, n_others).
    regularisation, tolerance, max_iterations
        As in `sinkhorn`.

    Returns
    -------
    distances : ndarray of shape (n_documents,)
    unfinished : int
        How many did not converge.
    """
    costs, masses, others = problem
    library = np if isinstance(costs, np.ndarray) else require("torch", purpose="sinkhorn", extra="train")
    distances = np.empty(len(costs))
    kernel, waiting = costs / -regularisation, np.arange(len(costs))
    with np.errstate(divide="ignore"):
        log_masses, log_others = library.log(masses), library.log(others)
    scales = library.zeros_like(costs[:, 0])
    for iteration in range(1, max_iterations + 1):
        other_scales = log_others - _log_sum(library, kernel + scales[:, None], 2)
        scales = log_masses - _log_sum(library, kernel + other_scales[:, :, None], 1)
        if iteration % _CHECK_EVERY and iteration < max_iterations:
            continue
        plans = library.exp(kernel + scales[:, None] + other_scales[:, :, None])
        done = _as_numpy(library.abs(plans.sum(2) - others).sum(1)) <= tolerance
        ended = done if iteration < max_iterations else np.ones_like(done)
        distances[waiting[ended]] = _rounded_costs(library, plans[ended], costs[ended], masses, others[ended])
        if ended.all():
            return distances, int((~done).sum())
        waiting, open_ = waiting[~ended], ~ended
        kernel, costs, others, log_others = kernel[open_], costs[open_], others[open_], log_others[open_]
        scales = scales[open_]
    return distances, 0


def _rounded_costs(library: Any, plans: Any, costs: Any, masses: Any, others: Any) -> NDArray[np.float64]:
    """Bring plans to the exact marginals, and return what they cost."""
    tiny = np.finfo(np.float64).tiny
    plans = plans * library.clip(masses / (plans.sum(1) + tiny), None, 1.0)[:, None]
    plans = plans * library.clip(others / (plans.sum(2) + tiny), None, 1.0)[:, :, None]
    lacking, other_lacking = masses - plans.sum(1), others - plans.sum(2)
    added = other_lacking[:, :, None] * lacking[:, None] / (lacking.sum(1) + tiny)[:, None, None]
    return _as_numpy(((plans + added) * costs).sum((1, 2)))


def _log_sum(library: Any, values: Any, axis: int) -> Any:
    """Compute the logarithm of a sum of exponentials."""
    top = library.amax(values, axis, keepdims=True)
    return library.log(library.exp(values - top).sum(axis)) + top.squeeze(axis)


def _as_numpy(array: Any) -> NDArray[Any]:
    return np.asarray(array if isinstance(array, np.ndarray) else array.cpu().numpy())


def _check_settings(regularisation: float, tolerance: float, max_iterations: int) -> None:
    for name, value in (("regularisation", regularisation), ("tolerance", tolerance)):
        if not 0 < value < np.inf:
            raise ValueError(f"sinkhorn expects {name} as a finite number above zero, got {value!r}.")
    if not isinstance(max_iterations, int | np.integer) or max_iterations < 1:
        raise ValueError(f"sinkhorn expects max_iterations as an integer of at least 1, got {max_iterations!r}.")


def _warn_unless_converged(unfinished: int, max_iterations: int) -> None:
    if unfinished:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"sinkhorn did not converge for {unfinished} pair(s) within {max_iterations} iterations; their distances "
            "are upper bounds of wmd, but looser ones. Raise max_iterations, regularisation or tolerance.",
            ConvergenceWarning,
            stacklevel=3,
        )
