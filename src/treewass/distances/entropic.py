"""Transport with an entropic penalty (Sinkhorn), many documents at a time, in numpy or torch."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.compute.arguments import check_integer, check_positive, shown
from treewass.compute.extras import require
from treewass.distances.document_pairs import DocumentPairs, check_cost, compute_rows, pair_documents

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
    regularization: float = 0.1,
    tolerance: float = 0.01,
    max_iter: int = 1000,
    device: str | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    r"""Compute the word mover's distance approximately, by Sinkhorn's iterations in the log domain [1]_.

    The plan minimises :math:`\sum_{ij} T_{ij} c_{ij} + \varepsilon \sum_{ij} T_{ij} \log T_{ij}`. It is then brought to
    the exact marginals [2]_, and its cost, the first sum, is returned. So the result is never below `wmd`, and comes
    down to it as :math:`\varepsilon` falls.

    Parameters
    ----------
    X, Y, word_vectors, cost, verbose, checkpoint
        As in `wmd`.
    regularization : float, default=0.1
        :math:`\varepsilon`, in the units of the cost. Smaller values take more iterations.
    tolerance : float, default=0.01
        Iterations of a pair end when at most this mass is in the wrong place; then it is put right. On text, a smaller
        value makes three times the work and moves the result by a tenth of what the penalty does.
    max_iter : int, default=1000
        Most iterations; a pair that needs more ends with a ``ConvergenceWarning``.
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
    settings = {
        "squared": check_cost(cost),
        "regularization": check_positive("regularization", regularization),
        "tolerance": check_positive("tolerance", tolerance),
        "max_iter": check_integer("max_iter", max_iter),
        "device": device,
    }
    if device is not None:
        require("torch", purpose="sinkhorn on a device", extra="train")
    pairs = pair_documents(X, Y, word_vectors, caller="sinkhorn")
    if not all(pairs.shape):
        return np.zeros(pairs.shape)
    options: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose, "checkpoint": checkpoint}
    found = compute_rows(pairs, _rows, settings, name="sinkhorn", **options)
    _warn_unless_converged(int(found["unfinished"].sum()), max_iter)
    distances: NDArray[np.float64] = found["distances"]
    return distances + np.triu(distances, 1).T if pairs.same else distances


def _rows(
    pairs: DocumentPairs,
    start: int,
    stop: int,
    *,
    squared: bool,
    regularization: float,
    tolerance: float,
    max_iter: int,
    device: str | None,
) -> dict[str, NDArray[Any]]:
    """Compute some rows; of two equal sets only the diagonal and what lies right of it."""
    distances, unfinished = np.zeros((stop - start, pairs.shape[1])), np.zeros(stop - start, dtype=np.int64)
    for row in range(start, stop):
        query = pairs.query(row, squared)
        largest = float(query.costs.max())
        if regularization < _LEAST_SHARE * largest:
            raise ValueError(
                f"sinkhorn expects a regularization of at least {_LEAST_SHARE:g} times the largest cost, which is "
                f"{largest:.3g}, got {shown(regularization)}. Raise it, or scale the vectors down."
            )
        columns = np.arange(row if pairs.same else 0, pairs.shape[1])
        for batch in _batches(pairs, columns, query.masses.size):
            points, others = _padded(pairs, batch)
            problem = _on_device((query.costs[points], query.masses, others), device)
            found, left = _transport(problem, regularization, tolerance, max_iter)
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
    problem: tuple[Any, ...], regularization: float, tolerance: float, max_iter: int
) -> tuple[NDArray[np.float64], int]:
    """Solve the problems of one document with many, each until it has converged.

    The problem is, in numpy or torch: costs of shape (n_documents, n_others, n_masses), the masses of the document, of
    shape (n_masses,), and those of the others, of shape (n_documents, n_others). Returned are the distances and how
    many problems did not converge.
    """
    costs, masses, others = problem
    library = np if isinstance(costs, np.ndarray) else require("torch", purpose="sinkhorn", extra="train")
    distances = np.empty(len(costs))
    kernel, waiting = costs / -regularization, np.arange(len(costs))
    with np.errstate(divide="ignore"):
        log_masses, log_others = library.log(masses), library.log(others)
    scales = library.zeros_like(costs[:, 0])
    for iteration in range(1, max_iter + 1):
        other_scales = log_others - _log_sum(library, kernel + scales[:, None], 2)
        scales = log_masses - _log_sum(library, kernel + other_scales[:, :, None], 1)
        if iteration % _CHECK_EVERY and iteration < max_iter:
            continue
        plans = library.exp(kernel + scales[:, None] + other_scales[:, :, None])
        done = _as_numpy(library.abs(plans.sum(2) - others).sum(1)) <= tolerance
        ended = done if iteration < max_iter else np.ones_like(done)
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


def _warn_unless_converged(unfinished: int, max_iter: int) -> None:
    if unfinished:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"sinkhorn did not converge for {unfinished} pair(s) within {max_iter} iterations; their distances "
            "are upper bounds of wmd, but looser ones. Raise max_iter, regularization or tolerance.",
            ConvergenceWarning,
            stacklevel=3,
        )
